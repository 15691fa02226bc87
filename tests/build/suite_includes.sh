#!/usr/bin/env bash
# Includes go one way: labs to common/cuda to wb.h, programs to what they share; a
# learner's file is included by its own lab only. The table is in includes.py.
. "$(dirname "$0")/../tap.sh"
check "every include is allowed, and none is a cycle" "$PYTHON" tests/build/includes.py

# The CPU back end is compiled in units that include its sources (common/cpu/units).
in_one_unit() { # FOLDER
    diff <(cd "$1" && ls ./*.cpp) <(cd "$1/units" && grep -hoE '\./[a-z0-9_]+\.cpp' ./*.cpp | sort)
}
check "each source of the CPU back end is in one unit" in_one_unit common/cpu
check "each source of check mode is in one unit" in_one_unit common/cpu/check

# The test can fail: a small tree, with one violation at a time.
tree=$TMP/tree
plant() { # FILE LINE...
    mkdir -p "$(dirname "$tree/$1")"
    planted=$1; shift
    printf '%s\n' "$@" >"$tree/$planted"
}
clean() {
    rm -rf "$tree"
    plant common/wb.h '#include "wb_error.h"' '#include <cuda_runtime_api.h>'
    plant common/wb_error.h ''
    plant common/file.h '#include "wb_error.h"'
    plant common/cpu/include/cuda_runtime_api.h '#ifdef __CUDACPU__' '#endif'
    plant common/cuda/vec.cuh '#include "wb.h"'
    plant common/ops/ops.h '#include "wb.h"'
    plant common/decoder/decoder.h '#include "ops.h"'
    plant labs/lab01_add/add.h '#include "wb.h"'
    plant labs/lab01_add/parts.cuh '#include "add.h"'
    plant solutions/lab01_add/add.cu '#include "parts.cuh"' '#include "cuda/vec.cuh"'
    plant labs/lab02_mul/mul.h '#include "wb.h"'
    plant tinylm/main.c '#include "decoder.h"' '#include "add.h"' '#include <stdio.h>'
    plant recurrentgemma/recurrentgemma.h '#include "wb_error.h"'
    plant recurrentgemma/engine/engine.h '#include "../recurrentgemma.h"' '#include "mul.h"'
    plant recurrentgemma/text/text.h '#include "file.h"'
    plant grader/grader.h '#include "file.h"'
}
walk() { "$PYTHON" tests/build/includes.py "$tree"; }
clean
check "a tree without a violation" walk
refused() { # "what" "words" FILE LINE...
    refused_what=$1 refused_words=$2; shift 2
    clean; plant "$@"
    check_fails "$refused_what" "$refused_words" walk
}
refused "a lab's file in another lab" "only files of lab01_add may include it" \
    solutions/lab02_mul/mul.cu '#include "parts.cuh"'
refused "a lab's file in a program" "only files of lab01_add may include it" \
    tinylm/model.c '#include "../labs/lab01_add/parts.cuh"'
refused "a lab's file in common/cuda" "only files of lab01_add may include it" \
    common/cuda/mma.cuh '#include <parts.cuh>'
refused "common/ops in a lab" "lab may include:" solutions/lab02_mul/mul.cu '#include "ops.h"'
refused "a contract in common/cuda" "cuda may include:" common/cuda/mma.cuh '#include "add.h"'
refused "the decoder in common" "common may include:" common/draw.c '#include "decoder.h"'
refused "the decoder in common/ops" "ops may include:" common/ops/rows.cu '#include "decoder.h"'
refused "the engine in the program" "program may include:" \
    recurrentgemma/program/main.c '#include "engine/engine.h"'
refused "the engine in text" "text may include:" recurrentgemma/text/chat.c '#include "engine/engine.h"'
refused "ops in random" "random may include:" recurrentgemma/random/random.c '#include "ops.h"'
refused "ops in the grader" "grader may include:" grader/judge.c '#include "ops.h"'
refused "the grader in a lab" "lab may include:" labs/lab02_mul/mul.cu '#include "../../grader/grader.h"'
refused "__CUDACPU__ in a solution" "__CUDACPU__ belongs in common/" \
    solutions/lab02_mul/mul.cu '#ifdef __CUDACPU__'
clean
plant grader/a.h '#include "b.h"'
plant grader/b.h '#include "a.h"'
check_fails "a cycle" "include cycle: grader/a.h -> grader/b.h -> grader/a.h" walk
refused "a file in no module" "is in no module of the table" attic/old.c '#include "wb.h"'
tap_done
