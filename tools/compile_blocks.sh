#!/bin/sh
# compile_blocks.sh SOURCE COMMAND... - runs the command that compiles a translated source.
# Some kernels are in it twice (common/cpu/include/wbcpu/blocks.h). If they do not compile,
# the command runs again with each of them once, so that an error is printed once. With
# WBCPU_LOOPS=1 a line says so.
source=$1
shift
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# What g++ prints before an error in the arguments of a launch: the way through launch.h
show() {
    sed '/In instantiation of .*<lambda(auto:/ {
        N
        /\n[^\n]*wbcpu\/launch\.h:/ { N; d; }
    }' "$log" >&2
}
[ ! -t 2 ] || set -- "$@" -fdiagnostics-color=always
# nvcc accepts `type type;` in a class; g++ 12 does so only with -fpermissive, which would also
# accept much that nvcc does not.
compile() {
    "$@" 2>"$log" && return
    errors=$(grep 'error:' "$log")
    case $errors in *'changes meaning'*) ;; *) return 1 ;; esac
    ! echo "$errors" | grep -qv 'changes meaning' && "$@" -fpermissive -w 2>"$log"
}

if ! grep -qs '^#ifdef WBCPU_WHOLE_BLOCKS' "$source" "${source%.cpp}".*.h; then
    compile "$@"
    status=$?
elif compile "$@"; then
    status=0
else
    [ "${WBCPU_LOOPS:-0}" = 0 ] ||
        echo "$(basename "$source" .cpp): all kernels: fibers: the loops do not compile:" \
            "$(grep -m1 'error:' "$log")" >&2
    compile "$@" -DWBCPU_FIBERS
    status=$?
fi
show
exit $status
