#!/usr/bin/env bash
# The device code of every solution, rung, common op and benchmark compiles for every GPU
# architecture since Turing.
# limit: 1800 (about 5 minutes on two free cores)
cd "$(dirname "$0")/../.." || exit 2
exec make -s compile-archs BACKEND=cpu
