#!/usr/bin/env bash
# show.sh CASE [counts] - what check mode says about a case of mistakes.cu: its findings, or
# its counts. `make check FILE=docs/check/mistakes.cu ARGS=CASE` prints both.
set -eu
cd "$(dirname "$0")/../.."
build=build/check case=$1 part=${2:-findings}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir -p build
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL flock build/lock.check \
    make -s BACKEND=cpu CHECK=1 BUILD=$build $build/docs/check/mistakes >&2

# The code is 86 if there are errors. An endless loop is given one second.
WB_CHECK_QUIET=1 WB_CHECK_JSON=$made/report.json WB_CHECK_GPU=t4 WB_CHECK_SECONDS=1 \
    $build/docs/check/mistakes "$case" >&2 || [ $? = 86 ]
build/host/python tools/check_report.py "$made/report.json" >"$made/text" || [ $? = 1 ]
case $part in
findings) # addresses of the host differ from run to run
    sed -E '/^kernel /,$d; /check\/mistakes: /d; s/0x[0-9a-f]{9,}/0x…/' "$made/text" ;;
counts) sed -n '/^kernel /,/^$/p' "$made/text" ;;
*) sed -n '2,3s/^# //p' "$0" >&2; exit 2 ;;
esac
