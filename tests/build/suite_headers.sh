#!/bin/sh
# The contract headers, cuda_runtime_api.h and cublas_v2.h compile without a warning as
# C11 and as C++17, alone, together and in either order, in both back ends. A header that
# changes recompiles what includes it.
. "$(dirname "$0")/../tap.sh"
headers=$(ls labs/*/*.h common/wb.h common/ops/ops.h)
labs=$(printf ' -I%s' labs/lab*)

# try COMPILER STANDARD LANGUAGE TOOLKIT-FLAGS: each header alone, then all, both orders
try() {
    compiler=$1 standard=$2 language=$3 toolkit=$4
    for header in $headers all; do
        name=$(basename "$header")
        if [ "$header" = all ]; then lines=$(for h in $headers; do echo "#include \"$(basename "$h")\""; done)
        else lines="#include \"$name\""; fi
        {
            printf '%s\n#include <cuda_runtime_api.h>\n#include <cublas_v2.h>\n' "$lines"
        } >"$TMP/after"
        {
            printf '#include <cublas_v2.h>\n#include <cuda_runtime_api.h>\n%s\n' "$lines"
        } >"$TMP/before"
        for order in after before; do
            # shellcheck disable=SC2086
            $compiler -std="$standard" -x "$language" -fsyntax-only -Wall -Wextra -Werror \
                -Icommon -Icommon/ops $labs $toolkit "$TMP/$order" || return 1
        done
    done
}
check "headers as C11, CPU back end" try gcc c11 c "-Icommon/cpu/include"
check "headers as C++17, CPU back end" try g++ c++17 c++ "-Icommon/cpu/include"
home=$(dirname "$(dirname "$(readlink -f "$(command -v "${NVCC:-nvcc}" || echo /nowhere/bin/nvcc)")")")
if [ -d "$home/include" ]; then
    check "headers as C11, toolkit" try gcc c11 c "-isystem $home/include"
    check "headers as C++17, toolkit" try g++ c++17 c++ "-isystem $home/include"
else
    skip "headers against the toolkit's" "no nvcc on this machine"
fi
recompiled() { make -n -W common/file.h BACKEND="$BACKEND" "$B/libwb.a"; }
check_says "a changed header recompiles the library" "common/safetensors.c" recompiled
tap_done
