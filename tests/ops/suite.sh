#!/usr/bin/env bash
# The given ops against their float64 reference, and the reference against finite
# differences.
. "$(dirname "$0")/../tap.sh"
data=build/host/ops-data

"$B/tests/ops/ops" $data || tap_failed=1
if [ "$BACKEND" = cpu ]; then
    check "the same with one worker" env WB_THREADS=1 "$B/tests/ops/ops" $data
    check "the same with another thread order" env WB_SHUFFLE=5 "$B/tests/ops/ops" $data
    check "the same with our own GEMM" env WB_BLAS=own "$B/tests/ops/ops" $data
    "$PYTHON" reference/ops.py || tap_failed=1
fi
tap_done
