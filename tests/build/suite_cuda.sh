#!/bin/sh
# Every .cu of the project, the labs' starters and the programs compile and link with nvcc.
. "$(dirname "$0")/../tap.sh"
if ! command -v "${NVCC:-nvcc}" >/dev/null 2>&1; then
    skip "the CUDA build" "no nvcc on this machine"
    tap_done
fi
# one real target is enough here: what a card runs is built by `make` with its own
cuda() { make BACKEND=cuda ARCH=-arch=sm_90 "$@"; }

for source in $(git ls-files 'solutions/*.cu' 'labs/*.cu' 'common/ops/*.cu' 'bench/*.cu'); do
    object=build/cuda/${source%.cu}.o
    check "nvcc compiles $source" cuda "$object"
done
check "the trainer links with nvcc's objects" cuda build/cuda/tinylm
tap_done
