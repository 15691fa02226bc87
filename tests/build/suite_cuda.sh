#!/usr/bin/env bash
# Every .cu of the project, the labs' starters and the programs compile and link with
# nvcc, for the oldest GPU. What differs on Hopper compiles for it too; `make compile-archs`
# compiles for every architecture. What nvcc does not optimize compiles in a fifth of the time.
# limit: 1200 (nvcc takes minutes on two cores)
. "$(dirname "$0")/../tap.sh"
if ! command -v "${NVCC:-nvcc}" >/dev/null 2>&1; then
    skip "the CUDA build" "no nvcc on this machine"
    tap_done
fi
arch="-gencode=arch=compute_75,code=sm_75" build=build/cuda-quick
"${NVCC:-nvcc}" --help | grep -q -e --Ofast-compile && arch+=" -Ofc max"
cuda() { # FOLDER TARGET|VARIABLE=...
    make -k -j"$(nproc)" BACKEND=cuda BUILD="$1" OPT=-O0 ARCH="$arch" "${@:2}"
}
objects() { # FOLDER SOURCE...
    for source in "${@:2}"; do echo "$1/objects/${source%.cu}.o"; done
}

# Sources that are linked are compiled whole. For the rest, nvcc generates only device
# code. It still reports mistakes in host code, which the CPU back end's suites compile.
whole=$(git ls-files 'solutions/*/*.cu' 'common/ops/*.cu' 'bench/kernels.cu' | grep -v /ladder/)
rest=$(git ls-files 'solutions/*/ladder/*.cu' 'labs/*.cu' 'bench/memory_levels.cu')
# shellcheck disable=SC2086
{
    whole=$(objects $build $whole) rest=$(objects $build-source $rest)
    cuda $build $whole
    # 177: starters do not use everything yet, see mk/toolchain.mk.
    cuda $build-source NVCC_MAKES=-cubin ARCH="$arch -diag-suppress 177" $rest
} >"$TMP/log" 2>&1
for file in $whole $rest; do
    name=${file#"$build"*/objects/}
    check "nvcc compiles ${name%.o}.cu" test -s "$file"
done
check "without a word from nvcc" sh -c '! grep -iE "warning|error" "$1"' - "$TMP/log"
# The sources that test __CUDA_ARCH__, or include a header that does.
tests=$(git grep -l __CUDA_ARCH__ -- common/cuda common/ops labs solutions bench)
hopper=
for file in $whole $rest; do
    ! grep -qF "$tests" "${file%.o}.d" || hopper+=" ${file#"$build"*/objects/}"
done
check "some sources differ on Hopper" test -n "$hopper"
FILES=${hopper//.o/.cu} JOBS=$(nproc) tools/compile_archs.sh 90 || tap_failed=1
check "the trainer links with nvcc's objects" cuda $build $build/tinylm
# The program ends with an error where there is no GPU.
cat >"$TMP/blas.cu" <<'END'
#include <cublas_v2.h>
int main() { cublasHandle_t h; return cublasCreate(&h); }
END
cuda $build run FILE="$TMP/blas.cu" >"$TMP/log" 2>&1
check_says "make run links cuBLAS with a program that uses it" "libcublas.so" \
    readelf -d $build/programs/blas
check "and no other library" sh -c '! readelf -d "$1" | grep -E "curand|cufft"' - \
    $build/programs/blas
rm -rf $build-source
tap_done
