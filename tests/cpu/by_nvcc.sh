#!/usr/bin/env bash
# by_nvcc.sh FILE.cu - compiles one program of tests/cpu/foreign or tests/cpu/features with
# nvcc and runs it: a GPU is the reference for the CPU back end. tests/gpu.sh runs all.
set -u
cd "$(dirname "$0")/../.." || exit
program=$(mktemp) log=$(mktemp)
trap 'rm -f "$program" "$log"' EXIT
case $1 in
*/fourier.cu) fft='-lcufft_static -lculibos' ;; # callbacks need the static library
*/graphics.cu)
    [ -e /usr/include/GL/gl.h ] && ldconfig -p | grep -q libEGL.so || {
        echo "ok - $1 # SKIP this machine has no OpenGL"
        exit
    } ;;
esac
# shellcheck disable=SC2086
nvcc -std=c++17 -arch=native -rdc=true -w --extended-lambda -Itests/cpu "$1" -o "$program" \
    -lcublas -lcublasLt -lcurand ${fft:--lcufft} -lcusparse -lcusolver -lcuda -lnvrtc \
    -lcudadevrt && timeout 60 "$program" >"$log" 2>&1
status=$?
tail -5 "$log"
[ $status = 0 ] && echo "ok - $1" || echo "not ok - $1: status $status"
exit $status
