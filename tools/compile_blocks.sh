#!/bin/sh
# compile_blocks.sh SOURCE COMMAND... - runs the command that compiles a translated source.
# Some kernels are in it twice (common/cpu/include/wbcpu/blocks.h). If they do not compile,
# the command runs again with each of them once, so that an error is printed once. With
# WBCPU_LOOPS=1 a line says so.
source=$1
shift
grep -qs '^#ifdef WBCPU_WHOLE_BLOCKS' "$source" "${source%.cpp}".*.h || exec "$@"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
if "$@" 2>"$log"; then
    cat "$log" >&2
else
    [ "${WBCPU_LOOPS:-0}" = 0 ] ||
        echo "$(basename "$source" .cpp): all kernels: fibers: the loops do not compile:" \
            "$(grep -m1 'error:' "$log")" >&2
    "$@" -DWBCPU_FIBERS
fi
