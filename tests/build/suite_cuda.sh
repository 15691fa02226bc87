#!/usr/bin/env bash
# Every .cu of the project, the labs' starters and the programs compile and link with
# nvcc. What it does not optimize compiles in a fifth of the time.
# limit: 1200 (nvcc takes minutes on two cores)
. "$(dirname "$0")/../tap.sh"
if ! command -v "${NVCC:-nvcc}" >/dev/null 2>&1; then
    skip "the CUDA build" "no nvcc on this machine"
    tap_done
fi
# Hopper; suite_architectures.sh compiles for the oldest GPU.
arch="-gencode=arch=compute_90a,code=sm_90a" build=build/cuda-quick
"${NVCC:-nvcc}" --help | grep -q -e --Ofast-compile && arch+=" -Ofc max"
cuda() { make -k -j"$(nproc)" BACKEND=cuda BUILD=$build OPT=-O0 ARCH="$arch" "$@"; }

# What links is compiled whole, by make; of the rest nvcc makes the device code and the
# host's source, which the CPU back end's suites compile.
rest=$(git ls-files 'solutions/*/ladder/*.cu' 'labs/*.cu')
whole=$(git ls-files 'solutions/*/*.cu' 'common/ops/*.cu' 'bench/kernels.cu' | grep -v /ladder/)
# 177: starters do not use everything yet, see mk/toolchain.mk.
export FLAGS="-std=c++17 -O0 -lineinfo --extended-lambda -diag-suppress 177 $arch -Icommon $(printf ' -I%s' labs/lab*)"
export NVCC=${NVCC:-nvcc} build
translate() { # SOURCE
    mkdir -p "$build/source/${1%/*}"
    # shellcheck disable=SC2086
    "$NVCC" $FLAGS --cuda "$1" -o "$build/source/${1%.cu}.ii" || rm -f "$build/source/${1%.cu}.ii"
}
export -f translate
made=$(for source in $whole; do echo "$build/objects/${source%.cu}.o"; done)
# shellcheck disable=SC2086
{ cuda $made; xargs -n1 -P"$(nproc)" bash -c 'translate "$1"' - <<<"$rest"; } >"$TMP/log" 2>&1
made+=" "$(for source in $rest; do echo "$build/source/${source%.cu}.ii"; done)
for file in $made; do
    name=${file#"$build"/*/}
    check "nvcc compiles ${name%.*}.cu" test -s "$file"
done
check "without a word from nvcc" sh -c '! grep -iE "warning|error" "$1"' - "$TMP/log"
check "the trainer links with nvcc's objects" cuda $build/tinylm
rm -rf "$build/source"
tap_done
