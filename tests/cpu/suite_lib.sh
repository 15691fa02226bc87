#!/usr/bin/env bash
# The types and libraries of the CPU back end: 16-bit floats, exponentials, tensor cores,
# cooperative groups, cuBLAS. The programs also run on a GPU; the rest is only for the CPU back end.
. "$(dirname "$0")/../tap.sh"

for program in float16 exponentials wmma cooperative cublas wgmma tma cluster; do
    echo "# $program"
    "$B/tests/cpu/$program" || tap_failed=1
done
[ "$BACKEND" = cpu ] || tap_done

no_call() {
    ! nm -u "$B/objects/tests/cpu/exponentials.o" | grep -wE "expf|exp2f|expm1f|tanhf|logf"
}
check "kernels compute exponentials inline, so that loops can be vectorized" no_call

echo "# cublas with the built-in GEMM and with other numbers of workers"
check "cublas with WB_BLAS=own" env WB_BLAS=own "$B/tests/cpu/cublas"
check "cublas with one worker" env WB_THREADS=1 "$B/tests/cpu/cublas"
check "cublas with five workers and WB_BLAS=own" \
    env WB_THREADS=5 WB_BLAS=own "$B/tests/cpu/cublas"
check_fails "WB_BLAS is a missing file" \
    "give the path of libscipy_openblas.so or use WB_BLAS=own" \
    env WB_BLAS=/no/such/library.so "$B/tests/cpu/cublas"
check_fails "WB_BLAS is another library" "it is not an OpenBLAS library" \
    env WB_BLAS=libm.so.6 "$B/tests/cpu/cublas"
for seed in 1 2; do
    check "wmma in thread order $seed" env WB_SHUFFLE=$seed "$B/tests/cpu/wmma"
    check "cooperative groups in thread order $seed" \
        env WB_SHUFFLE=$seed "$B/tests/cpu/cooperative"
done

echo "# the instructions of Hopper"
for seed in 1 2 3; do
    for program in wgmma tma cluster; do
        check "$program in thread order $seed" env WB_SHUFFLE=$seed "$B/tests/cpu/$program"
    done
done
for workers in 1 5; do
    check "clusters with $workers workers" env WB_THREADS=$workers "$B/tests/cpu/cluster"
done
says=( # by hopper_wrong, for each of its cases
    "threads 0 to 127 wait at an mbarrier for the end of parity 1: 1 arrivals and 0 bytes are missing"
    "threads 0 to 127 wait at an mbarrier for the end of parity 0: 0 arrivals and 4096 bytes are missing"
    "uses an mbarrier that gets more arrivals than its count"
    "calls tma_load for an address in shared memory that is not a multiple of 128 bytes"
    "calls tma_load for 4096 bytes that are not in shared memory"
    "calls tma_load with 3 coordinates; the tensor map has 2 dimensions"
    "is the last one to exit, and a tma_load is unfinished"
    "exits before its tma_store has read shared memory"
    "calls wgmma without wgmma_fence before the first one"
    "exits while a wgmma is unfinished: wgmma_commit and wgmma_wait<0> must come first"
    "calls wgmma with a descriptor of B that leaves shared memory"
    "uses named barrier 1 with 64 threads, another thread with 128"
    "threads 0 to 63 wait at named barrier 3, which has 64 of 96 threads"
    "calls tma_load with 4 as coordinate of dimension 0: elements of 2 bytes must begin at a multiple of 16 bytes"
    "calls tma_store with -1 as coordinate of dimension 1: only tma_load allows negative ones"
    "threads 0 to 127 wait at an mbarrier for the end of parity 0: 1 arrivals"
    "calls st_async in a kernel that was launched without clusters")
for i in "${!says[@]}"; do
    check_fails "misuse $i" "${says[i]}" env WB_THREADS=1 "$B/tests/cpu/hopper_wrong" "$i"
done

check_fails "a launch by launch_cluster names the kernel" "kernel wrong (" \
    env WB_THREADS=1 "$B/tests/cpu/hopper_wrong" 3

include=common/cpu/include
cat >"$TMP/use.c" <<'END'
#include <cublas_v2.h>
int main(void)
{
    cublasHandle_t h;
    return cublasCreate(&h) == CUBLAS_STATUS_SUCCESS ? 0 : 1;
}
END
check "cublas_v2.h is C11" \
    ${CC:-cc} -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -I$include \
    "$TMP/use.c"
check "cublas_v2.h is C++17" \
    ${CXX:-g++} -std=c++17 -Wall -Wextra -Werror -fsyntax-only -I$include \
    -x c++ "$TMP/use.c"

# half in software, without the CPU's conversion instructions: the same results
flags="-std=gnu++17 -O1 -fno-strict-aliasing -I$include -include cuda_runtime.h"
software_half() {
    build/host/translate tests/cpu/float16.cu "$TMP" &&
        ${CXX:-g++} $flags -iquote tests/cpu -x c++ -c "$TMP/float16.cu.cpp" \
            -o "$TMP/float16.o" &&
        ${CXX:-g++} "$TMP/float16.o" "$B/libwbcpu.a" -lpthread -ldl -lm \
            -o "$TMP/float16" &&
        "$TMP/float16"
}
check "float16 built for any x86-64 or aarch64" software_half

tap_done
