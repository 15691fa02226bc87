#!/bin/sh
# setup_cuda.sh - called by `make setup BACKEND=cuda` where no nvcc is found: installs the
# CUDA compiler, runtime, cuBLAS and CCCL from PyPI into .cuda, without root: 0.9 GB on
# disk, with 0.6 GB for cuBLAS. CUDA_WHEELS=folder takes the wheels from that folder.
set -eu
cd "$(dirname "$0")/.."
release=13.0 # any driver for CUDA 13 runs it
oldest=580
toolkit=.cuda/packages/nvidia/cu13
[ ! -e .cuda/complete ] || exit 0

driver=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -1)
case $driver in
[0-9]*.*)
    if [ "${driver%%.*}" -lt $oldest ]; then
        echo "setup: the NVIDIA driver is $driver; the packages of CUDA $release need $oldest or" \
            "later: update it, or install a CUDA toolkit that suits it" >&2
        exit 1
    fi
    ;;
*) echo "setup: no NVIDIA driver found: programs built with BACKEND=cuda cannot run here" ;;
esac

echo "setup: installing CUDA $release into .cuda (nvcc, cudart, cuBLAS, CCCL: 0.9 GB on disk)"
rm -rf .cuda
mkdir .cuda
packages=
for name in cuda-nvcc nvvm cuda-crt cuda-runtime cuda-cccl cublas; do
    packages="$packages nvidia-$name==$release.*"
done
# shellcheck disable=SC2086
build/host/python -m pip install -q --disable-pip-version-check --no-deps --target .cuda/packages \
    ${CUDA_WHEELS:+--no-index --find-links "$CUDA_WHEELS"} $packages >build/setup.log 2>&1 || {
    tail -3 build/setup.log >&2
    echo "setup: installing CUDA failed (see build/setup.log)" >&2
    exit 1
}
# Names that the linker looks for, and that the wheels lack.
ln -s lib $toolkit/lib64
for library in cublas cublasLt cudart; do
    found=$(basename "$toolkit/lib/lib$library.so."*)
    ln -sf "$found" "$toolkit/lib/lib$library.so"
done
chmod +x $toolkit/bin/* $toolkit/nvvm/bin/*
touch .cuda/complete
