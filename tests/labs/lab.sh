#!/usr/bin/env bash
# lab.sh labNN - a whole lab: its starter compiles and grades as "not written yet", its
# solution gets full points, and each rung passes what it defines. Rungs are graded on the
# first case of each function and dtype in a part, and on all cases with a bound or a limit
# of the workspace (RUNG_CASES=all: on every case). tests/build/suite_cuda.sh compiles them
# with nvcc too.
# WAITING=CASE,CASE: cases whose blocks wait.
# FEW_BLOCKS=CASE,CASE: cases that take another kernel if the GPU has many multiprocessors.
lab=$1
. "$(dirname "$0")/../tap.sh"
if [ ! -d solutions ]; then
    skip "$lab" "this tree has no solutions/"
    tap_done
fi
name=$(basename "$(ls -d labs/"$lab"_*)")
PYTHON_REAL=$(realpath "$PYTHON")

# A separate build folder that starts from the library already built.
reuse_build "$TMP/build"
build() { # SOURCE [MAKE-ARGUMENT...]
    build_source=$1; shift
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j2 "$lab" FILE="$build_source" \
        BACKEND="$BACKEND" BUILD="$TMP/build" "$@"
}
# verdicts [OPTION...]: the number of cases per verdict: "pass 32" or "pass 3 skip 29"
verdicts() {
    BUILD=$TMP/build ./grade "$lab" "$@" --seed 0x5eed --timeout-scale 3 --json "$TMP/report.json" \
        >"$TMP/report" 2>&1
    "$PYTHON_REAL" - "$TMP/report.json" <<'E2'
import collections, json, sys
cases = json.load(open(sys.argv[1]))["cases"]
count = collections.Counter(c["verdict"] for c in cases)
print(" ".join(f"{verdict} {n}" for verdict, n in sorted(count.items())))
E2
}
run_grader() { # [OPTION...]: grades, then prints the verdicts and the first failures
    verdicts "$@" >"$TMP/verdicts"
    cat "$TMP/verdicts"
    grep -A3 -E 'FAIL|CRASH|TIME' "$TMP/report" | head -8
}
all_pass() { run_grader && grep -qxE 'pass [0-9]+' "$TMP/verdicts"; }
# "-k CASE,CASE,...": the cases on which rungs are graded
rung_cases() {
    [ "${RUNG_CASES:-}" != all ] || return 0
    awk '/^[a-z]/ {
        dtype = match($0, / dtype=[a-z0-9|]*/) ? substr($0, RSTART, RLENGTH) : ""
        if (/ (bound|workspace_below)=/ || !seen[$2, $4, dtype]++) list = list "," $1
    } END { print "-k", substr(list, 2) }' "labs/$name/cases"
}
# rung_passes RUNG: everything that it defines passes. Only the cases in its line
# "// fails: CASE,CASE" must fail, because they require more.
rung_passes() {
    fails=$(sed -n 's,^// fails: ,,p' "$1" | tr , ' ')
    count=$(echo "$fails" | wc -w)
    # shellcheck disable=SC2046
    run_grader --first $(rung_cases) || return 1
    must=
    [ "$count" = 0 ] || must="fail $count "
    grep -qxE "${must}pass [0-9]+( skip [0-9]+)?" "$TMP/verdicts" || return 1
    for case in $fails; do
        grep -qE "^== (Test|Check) $lab/$case .* FAIL 0/" "$TMP/report" || return 1
    done
}
# About 15 of the 100 points are for the structure of the kernels: the last part, and the
# cases with a bound, or a limit of the workspace, in others.
structure_cases() { # names and points
    awk '/^# .* structure:/ { last = 1 }
        /^[a-z]/ && (last || / (bound|workspace_below)=/) { print $1, $3 }' "labs/$name/cases"
}
structure_points() {
    structure_cases | awk '{ sum += $2 } END { exit sum < 13 || sum > 17 }'
}
# fails_structure_only RUNG: its line "// fails:" names such cases alone
fails_structure_only() {
    sed -n 's,^// fails: ,,p' "$1" | tr , '\n' | while read -r case; do
        structure_cases | grep "^$case " >/dev/null || return 1
    done
}
# keeps_no_structure RUNG: the first of a ladder passes none of these cases. Lab 00's first
# rungs each have one mistake.
keeps_no_structure() {
    case $lab/$(basename "$1") in
    lab00/*) ;;
    */01_* | */*_01_*) structure_cases | while read -r case points; do
        ! grep -qE "^== Test $lab/$case .* OK +$points/" "$TMP/report" ||
            grep -q "^== Check $lab/$case .* FAIL" "$TMP/report" || return 1
    done ;;
    esac
}
not_written_yet() {
    run_grader && grep -q '^Score: 0/100' "$TMP/report" &&
        grep -q 'not written yet' "$TMP/report" &&
        ! grep -qE 'pass|crash|timeout' "$TMP/verdicts"
}
all_functions() { grep -q '"missing": \[\]' "$TMP/build/labs/$lab.json"; }
no_breach() { grep -q '"breaches": \[\]' "$TMP/build/labs/$lab.json"; }

generated=$TMP/generated
check "$lab: the starters are generated" \
    "$PYTHON_REAL" tools/starters.py generate "$generated"
starter=$generated/labs/$name
check "$lab: the starter builds" build "$starter" OPT="$QUICK"
check "$lab: the starter has every function" all_functions
check "$lab: the starter breaks no contract" no_breach
check "$lab: the grader says that nothing is written yet" not_written_yet
check "$lab: the solution builds" build "solutions/$name" OPT=-O1
check "$lab: the solution has every function" all_functions
check "$lab: the solution breaks no contract" no_breach
check "$lab: the solution gets full points" all_pass
[ -z "${WAITING:-}" ] || [ "$BACKEND" != cpu ] ||
    check "$lab: blocks that wait, with 24 threads" env BUILD="$TMP/build" WB_THREADS=24 \
        ./grade "$lab" -k "$WAITING"
[ -z "${FEW_BLOCKS:-}" ] || [ "$BACKEND" != cpu ] ||
    check "$lab: few blocks for 132 multiprocessors" env BUILD="$TMP/build" \
        WBCPU_SMS=132 ./grade "$lab" -k "$FEW_BLOCKS"
check "$lab: about 15 points are for the structure" structure_points
rungs=$(ls "solutions/$name/ladder"/*.cu 2>/dev/null)
check "$lab: the ladder has at least three rungs" [ "$(echo "$rungs" | wc -w)" -ge 3 ]
for rung in $rungs; do
    check "$lab: $(basename "$rung") builds" build "$rung" OPT="$QUICK"
    check "$lab: $(basename "$rung") passes what it defines" rung_passes "$rung"
    check "$lab: $(basename "$rung") fails bounds alone" fails_structure_only "$rung"
    check "$lab: $(basename "$rung") is no first rung with points for structure" \
        keeps_no_structure "$rung"
done
tap_done
