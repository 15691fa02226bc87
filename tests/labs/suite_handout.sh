#!/usr/bin/env bash
# The handout that students get: nothing in it scores, it has no text of a solution, and
# what it lacks is not offered.
# limit: 1800
. "$(dirname "$0")/../tap.sh"
if [ ! -d solutions ] || ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    skip "handouts" "they are made from a git checkout with solutions/"
    tap_done
fi
REPO=$PWD
PYTHON_REAL=$(realpath "$PYTHON")
H=$TMP/handout
check "a handout" "$PYTHON_REAL" tools/starters.py handout "$H"
look() { (cd "$H" && "$PYTHON_REAL" "$REPO/tests/labs/handout.py" "$@"); }
finds_nothing() { ! look "$@" | grep .; }

for path in solutions tests/grader tests/mutants tests/labs bench/cpu_kernels.cu bench/cpu_loops.cu \
    docs/instructor.md docs/add-a-lab.md CONTRIBUTING.md tools/container .ci; do
    check "it has no $path" [ ! -e "$H/$path" ]
done
check "no line names solutions/, outside of the programs that know them" finds_nothing names
check "no link leads nowhere" finds_nothing links
check "no line of a solution" finds_nothing solutions "$REPO"
check_says "with the ladders, if the teacher wants it" "wrote $TMP/ladders" \
    env LADDER=1 "$PYTHON_REAL" tools/starters.py handout "$TMP/ladders"
check "their guides link them" grep -q '(../../ladder/lab03.md)' "$TMP/ladders/labs/lab03_rmsnorm/README.md"
check "and the pages have the rungs" grep -q '^+.*__shfl_xor_sync' "$TMP/ladders/ladder/lab03.md"
check "the manifest is complete" sh -c "cd '$H' && sha256sum --quiet --check MANIFEST.sha256"

# --- what works there, on a computer that is set up
reuse_builds "$H"
mkdir -p build/data && ln -s "$REPO/build/data" "$H/build/"
inside() { (cd "$H" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL B= BUILD= "$@"); }
in_make() { (cd "$H" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u B make BACKEND="$BACKEND" "$@"); }
offers() { in_make help-all >"$TMP/help" && grep -q 'make lab03' "$TMP/help" &&
    ! grep -E 'solution|make (test|handout|starters|fuzz|bench-cpu |bench |bench-peers )' "$TMP/help"; }
check "make help offers what it has" offers
check_fails "make test" "a handout has no tests of the workbook" in_make test
check_fails "make bench-rmsnorm" "a handout has no solutions" in_make bench-rmsnorm
check_fails "make lab03 FROM=solutions" "solutions/lab03_rmsnorm: no such file" in_make lab03 FROM=solutions
check_says "make lab03" "lab03: built from labs/lab03_rmsnorm" in_make lab03
check_says "a lab is started again" "wrote labs/lab03_rmsnorm/rmsnorm.cu" in_make reset-lab03

# --- nothing scores: scores_nothing LAB PATH: handed in as it is, no point
scores_nothing() {
    if ! in_make -s "$1" FILE="$2" CHECK=off; then
        echo "does not build: no points"
        return 0
    fi
    (cd "$H" && BACKEND=$BACKEND ./grade "$1" --first --seed 0x5eed) >"$TMP/report" 2>&1
    grep '^Score: ' "$TMP/report" | tee "$TMP/score"
    grep -q '^Score: 0/' "$TMP/score" || { cat "$TMP/report"; false; }
}
for lab in "$H"/starters/lab*; do
    name=$(basename "$lab")
    check "${name%%_*}: the starter" scores_nothing "${name%%_*}" "$lab"
done
# The file is put next to itself as a .cu, so that it finds what it includes.
scoring() {
    look scoring "$REPO/build/host/translate" >"$TMP/found" || return
    grep -v "^$planted" "$TMP/found" >"$TMP/scoring"
    while read -r lab path functions; do
        handed_in=$H/$(dirname "$path")/handed_in.cu
        cp "$H/$path" "$handed_in"
        check "$lab: $path, which defines ${functions%% *}" scores_nothing "$lab" "$handed_in"
        rm "$handed_in"
    done <"$TMP/scoring"
}
TAP_LINES=3
if [ "$BACKEND" = cpu ]; then
    # Would a kernel that scores be found, under any name?
    planted="lab03 common/ops/kernel.cuh rmsnorm_forward_f32"
    cp tests/grader/naive.cu "$H/common/ops/kernel.cuh"
    scoring
    check "a kernel that scores is found" grep -q "^$planted" "$TMP/found"
    check "files that define a function of a lab were looked for" [ -s "$TMP/scoring" ]
    scores() { cp "$H/common/ops/kernel.cuh" "$TMP/kernel.cu" && ! scores_nothing lab03 "$TMP/kernel.cu"; }
    check_says "and scores" "Score: 30/100" scores
    sed -n '/BEGIN SOLUTION/,/END SOLUTION/p' solutions/lab03_rmsnorm/rmsnorm.cu >"$H/common/x.h"
    check_says "lines of a solution are found" "common/x.h:" look solutions "$REPO"
else
    skip "files that define a function of a lab" "they are compiled for the CPU back end"
fi
tap_done
