#!/usr/bin/env bash
# build.sh OUT [FILE.cu...] - compiles the programs of this folder (all, without names)
# with the CPU back end, in normal mode: OUT/bugs/bounds, OUT/right/warp, ... For check
# mode give the translator, compiler and libraries of that build in TRANSLATE, CXX, FLAGS
# and LIBS.
set -eu
cd "$(dirname "$0")/../.."
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
[ $# != 0 ] || set -- tests/check/{bugs,right}/*.cu
export out CXX=${CXX:-g++} TRANSLATE=${TRANSLATE:-build/host/translate}
export LIBS=${LIBS:-build/cpu/libwbcpu.a}
export FLAGS=${FLAGS:--O2}
export INCLUDES="-Icommon/cpu/include -Icommon"

build_one() { # FILE.cu
    folder=$out/$(basename "$(dirname "$1")")
    name=$(basename "$1" .cu)
    mkdir -p "$folder/made"
    $TRANSLATE "$1" "$folder/made/" $INCLUDES -d "$folder/made/$name.o"
    $CXX -std=gnu++17 -g -fno-strict-aliasing -Wno-unknown-pragmas -Wno-attributes \
        $FLAGS $INCLUDES -iquote "$(dirname "$1")" -include cuda_runtime.h -x c++ \
        -S "$folder/made/$name.cu.cpp" -o "$folder/made/$name.s"
    "${PYTHON:-python3}" tools/red_zones.py "$folder/made/$name.s"
    $CXX -c "$folder/made/$name.s" -o "$folder/made/$name.o"
    $CXX "$folder/made/$name.o" $LIBS -lpthread -ldl -lm -o "$folder/$name"
}
export -f build_one
printf '%s\0' "$@" | xargs -0 -n1 -P"$(nproc)" bash -euc 'build_one "$1"' --
