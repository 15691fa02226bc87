#!/usr/bin/env bash
# build.sh OUT [FILE.cu...] - compiles the programs of this folder (all, without names)
# with the CPU back end: OUT/bugs/bounds, OUT/right/warp, ... BUILD=build/check compiles
# them for check mode, and FLAGS has more options of the compiler.
set -eu
cd "$(dirname "$0")/../.."
export OUT=$1 BUILD=${BUILD:-build/cpu} FLAGS=${FLAGS:-}
shift
[ $# != 0 ] || set -- tests/check/{bugs,right}/*.cu
build_one() { # FILE.cu
    program=$OUT/$(basename "$(dirname "$1")")/$(basename "$1" .cu)
    FILE=$1 "${PYTHON:-python3}" tools/check.py --build "$BUILD" --compile "$program" -- $FLAGS
}
export -f build_one
printf '%s\0' "$@" | xargs -0 -n1 -P"$(nproc)" bash -euc 'build_one "$1"' --
