#!/usr/bin/env bash
# Check mode counts requests, sectors and wavefronts as a GPU does, and finds data of
# cp.async that is used before the wait.
. "$(dirname "$0")/../tap.sh"
if [ "$BACKEND" != cpu ]; then
    skip "check mode" "it belongs to the CPU back end"
    tap_done
fi
programs=build/check/tests/check
check "the programs compile in check mode" flock build/lock.check \
    env -u BUILD make -s BACKEND=cpu CHECK=1 BUILD=build/check \
    build/check/labs/settings $programs/counts $programs/async

# A compiler that checks the sizes of copies by default, as Ubuntu's does.
cat >"$TMP/copy.cpp" <<'END'
#include <string.h>
float first(const float *x, size_t n) {
    float copy[8];
    memcpy(copy, x, n * sizeof *x);
    return copy[0];
}
END
copies() { # [OPTION...]: names of the copies in the object of copy.cpp
    "$PYTHON" - "$TMP/copy" "$@" <<'END' && nm -u "$TMP/copy.o" | grep -o '\w*memcpy\w*'
import subprocess, sys
sys.path.insert(0, "tools")
from compiling import Settings
copy, compile_check = sys.argv[1], Settings("build/check").compile
subprocess.run([compile_check[0], "-D_FORTIFY_SOURCE=2", *compile_check[1:], *sys.argv[2:],
                "-c", f"{copy}.cpp", "-o", f"{copy}.o"], check=True)
END
}
check_says "such a compiler checks a copy" __memcpy_chk copies -D_FORTIFY_SOURCE=2
check "in check mode it does not" test "$(copies)" = memcpy

report() { # PROGRAM REPORT [VARIABLE=VALUE...]: ends well, or with findings
    env "${@:3}" WB_CHECK_QUIET=1 WB_CHECK_JSON="$2" "$programs/$1" 2>"$TMP/said"
    local code=$?
    [ $code = 0 ] || [ $code = 86 ]
}
check "a program is counted" report counts "$TMP/counts.json" WB_CHECK_GPU=t4
check "the counts are those known by hand" \
    "$PYTHON" tests/check/counts.py "$TMP/counts.json"
check_fails "an unknown GPU is named, and so are the known ones" \
    "WB_CHECK_GPU=gtx: no such GPU; known are h100, h200" \
    env WB_CHECK_GPU=gtx $programs/counts

# The table of check mode and Nsight Compute, for one made-up launch.
"$PYTHON" - "$TMP" <<'END'
import json, sys
folder = sys.argv[1]
report = json.load(open(f"{folder}/counts.json"))
kernel = next(k for k in report["kernels"] if k["name"] == "strided<8>")
json.dump({"kernels": [kernel]}, open(f"{folder}/p.json", "w"))
prefix = "l1tex__t_sectors_pipe_lsu_mem_global_op_"
with open(f"{folder}/p.csv", "w") as file:
    file.write(f'==PROF== p\n"ID","Kernel Name","{prefix}ld.sum","{prefix}st.sum"\n')
    file.write('"","","sector","sector"\n"0","void strided<8>(const float *, float *)",')
    file.write('"32","40"\n')
END
table() { "$PYTHON" bench/check_counters.py table "$TMP" p; }
check_says "equal counters" \
    "| p | strided | global load sectors | 32 | 32 | +0.0 % |" table
check_says "different ones" \
    "| p | strided | global store sectors | 40 | 32 | -20.0 % |" table

check "a program with cp.async is checked" report async "$TMP/async.json"
check "early uses of its data are found, and nothing else" \
    "$PYTHON" tests/check/findings.py "$TMP/async.json" tests/check/async.cu
tap_done
