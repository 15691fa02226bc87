#!/usr/bin/env bash
# The CPU back end's programs, in any order of the threads, with any number of workers, as
# any architecture. The first programs also run on a GPU.
. "$(dirname "$0")/../tap.sh"

for program in language warps blocks runtime; do
    echo "# $program"
    "$B/tests/cpu/$program" 2>/dev/null || tap_failed=1
done
[ "$BACKEND" = cpu ] || tap_done
echo "# only on the CPU back end"
for program in backend whole_blocks whole_calls; do
    "$B/tests/cpu/$program" || tap_failed=1
done

for program in language warps blocks runtime; do
    for seed in 1 2 3; do
        check "$program in thread order $seed" \
            env WB_SHUFFLE=$seed "$B/tests/cpu/$program"
    done
    check "$program with one worker" env WB_THREADS=1 "$B/tests/cpu/$program"
    check "$program with five workers" env WB_THREADS=5 "$B/tests/cpu/$program"
done
check_fails "WB_THREADS=0" "WB_THREADS=0: use 1 to 1024 threads" \
    env WB_THREADS=0 "$B/tests/cpu/blocks"
check_fails "WB_THREADS=x" "WB_THREADS=x: not a number" \
    env WB_THREADS=x "$B/tests/cpu/blocks"
check_fails "WB_STACK_KB=1" "WB_STACK_KB=1: use a stack size from 16 to 65536 KB" \
    env WB_STACK_KB=1 "$B/tests/cpu/blocks"

echo "# emulated architectures (WBCPU_ARCH)"
is_arch() { # is_arch ARCH MAJOR.MINOR OPTIN
    check_says "WBCPU_ARCH=$1: capability $2, $3 bytes of shared memory" \
        "$2 ptx $1 binary $1 optin $3" \
        env WBCPU_ARCH="$1" "$B/tests/cpu/backend" properties
    check "runtime with WBCPU_ARCH=$1" env WBCPU_ARCH="$1" "$B/tests/cpu/runtime"
}
is_arch 75 7.5 65536
is_arch 80 8.0 166912
is_arch 86 8.6 101376
is_arch 89 8.9 101376
is_arch 90 9.0 232448
is_arch 100 10.0 232448
is_arch 120 12.0 101376
for empty in "env -u WBCPU_ARCH" "env WBCPU_ARCH="; do
    check_says "$empty: the default" "8.0 ptx 80 binary 80 optin 232448" \
        $empty "$B/tests/cpu/backend" properties
done
for program in "backend properties" blocks; do
    for arch in 70 0 800; do
        check_fails "WBCPU_ARCH=$arch $program" \
            "WBCPU_ARCH=$arch: use 75, 80, 86, 89, 90, 100 or 120" \
            env WBCPU_ARCH=$arch "$B/tests/cpu/"$program
    done
done
check_says "WBCPU_SMS=132: as many multiprocessors" "sms 132" \
    env WBCPU_SMS=132 "$B/tests/cpu/backend" properties
check_says "WB_THREADS=3: a multiprocessor per worker" "sms 3" \
    env WB_THREADS=3 "$B/tests/cpu/backend" properties
check_fails "WBCPU_SMS=0" "WBCPU_SMS=0: use 1 to 1024 multiprocessors" \
    env WBCPU_SMS=0 "$B/tests/cpu/backend" properties
check_fails "WBCPU_ARCH=sm_75" "WBCPU_ARCH=sm_75: not a number" \
    env WBCPU_ARCH=sm_75 "$B/tests/cpu/blocks"
tap_done
