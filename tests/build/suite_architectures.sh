#!/usr/bin/env bash
# The device code of every solution, rung, common op and benchmark compiles for Turing, the
# oldest GPU; suite_cuda.sh compiles it for Hopper. `make compile-archs` takes all.
# limit: 1800
cd "$(dirname "$0")/../.." || exit 2
exec make -s compile-archs BACKEND=cpu ALL_ARCHS=75
