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

sources=$(git ls-files 'solutions/*.cu' 'labs/*.cu' 'common/ops/*.cu' 'bench/kernels.cu')
objects=$(for source in $sources; do echo "$build/objects/${source%.cu}.o"; done)
# shellcheck disable=SC2086
cuda $objects >"$TMP/log" 2>&1
for object in $objects; do
    check "nvcc compiles ${object#"$build"/objects/}" test -s "$object"
done
check "without a word from nvcc" sh -c '! grep -iE "warning|error" "$1"' - "$TMP/log"
check "the trainer links with nvcc's objects" cuda $build/tinylm
tap_done
