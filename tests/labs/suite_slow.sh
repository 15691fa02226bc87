#!/usr/bin/env bash
# Right kernels that are slow lose no points for time: blocks of 1024 threads that add in
# a tree, on the shapes with the most blocks. The limit is 10 s of CPU time for a variant.
. "$(dirname "$0")/../tap.sh"
[ "$BACKEND" = cpu ] || { skip "slow kernels" "a GPU is fast enough"; tap_done; }
[ -d solutions ] || { skip "slow kernels" "this tree has no solutions/"; tap_done; }
reuse_build "$TMP/build"

passes() { # LAB SOURCE CASE,CASE
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s "$1" FILE="$2" BUILD="$TMP/build" \
        OPT=-O1 CHECK=off &&
        BUILD=$TMP/build ./grade "$1" -k "$3" --seed 0x5eed
}

ladder=solutions/lab04_softmax/ladder
mkdir "$TMP/lab04"
cp $ladder/*.{h,cuh} "$TMP/lab04"
sed 's/THREADS = 256/THREADS = 1024/' $ladder/02_*.cu >"$TMP/lab04/tree.cu"
check "lab 03: 4100 rows of 4 columns" passes lab03 tests/labs/tree_of_1024.cu dx,dw_long
check "lab 04: 1100 rows of 33 columns" passes lab04 "$TMP/lab04" rows
tap_done
