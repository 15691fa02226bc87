#!/usr/bin/env bash
# lab.sh labNN - a lab as a whole: the starter compiles in both back ends and has everything
# to be written yet, the solution gets full points, each rung passes what it defines.
lab=$1
. "$(dirname "$0")/../tap.sh"
if [ ! -d solutions ]; then
    skip "$lab" "this tree has no solutions/"
    tap_done
fi
name=$(basename "$(ls -d labs/"$lab"_*)")
PYTHON_REAL=$(realpath "$PYTHON")

# A build folder of its own, with the library that is there already.
reuse_build "$TMP/build"
build() { # SOURCE [MAKE-ARGUMENT...]: two files at a time
    build_of=$1; shift
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j2 "$lab" FILE="$build_of" \
        BACKEND="$BACKEND" BUILD="$TMP/build" "$@"
}
# verdicts: how many cases ended how, "pass 32" or "pass 3 skip 29"
verdicts() {
    BUILD=$TMP/build ./grade "$lab" --timeout-scale 3 --json "$TMP/report.json" \
        >"$TMP/report" 2>&1
    "$PYTHON_REAL" - "$TMP/report.json" <<'E2'
import collections, json, sys
cases = json.load(open(sys.argv[1]))["cases"]
count = collections.Counter(c["verdict"] for c in cases)
print(" ".join(f"{verdict} {n}" for verdict, n in sorted(count.items())))
E2
}
shown() { verdicts >"$TMP/verdicts"; cat "$TMP/verdicts"; grep -A3 -E 'FAIL|CRASH|TIME' "$TMP/report" | head -8; }
only_passes() { shown && grep -qxE 'pass [0-9]+' "$TMP/verdicts"; }
# passes_its_own RUNG: all that it defines, but for a case that its line "// fails: case"
# names because a later part asks for more
passes_its_own() {
    wont=$(sed -n 's,^// fails: ,,p' "$1")
    shown && grep -qxE "${wont:+fail 1 }pass [0-9]+( skip [0-9]+)?" "$TMP/verdicts" &&
        { [ -z "$wont" ] || grep -qE "^== Test $lab/$wont .* FAIL 0/" "$TMP/report"; }
}
not_written_yet() {
    shown && grep -q '^Score: 0/100' "$TMP/report" && grep -q 'not written yet' "$TMP/report" &&
        ! grep -qE 'pass|crash|timeout' "$TMP/verdicts"
}
every_function() { grep -q '"missing": \[\]' "$TMP/build/labs/$lab.json"; }
no_breach() { grep -q '"breaches": \[\]' "$TMP/build/labs/$lab.json"; }

made=$TMP/made
check "$lab: the starters are made" "$PYTHON_REAL" tools/starters.py generate "$made"
starter=$made/labs/$name
check "$lab: the starter builds" build "$starter" OPT=-O1
check "$lab: it has every function" every_function
check "$lab: and breaks no contract" no_breach
check "$lab: nothing is written yet, and the grader says so" not_written_yet
nvcc=${NVCC:-$(command -v nvcc)}
if [ -z "$nvcc" ]; then
    skip "$lab: the starter compiles with nvcc" "nvcc is not there"
elif [ "$BACKEND" != cuda ]; then
    check "$lab: the starter compiles with nvcc" "$nvcc" -std=c++17 -arch=sm_80 -Icommon \
        "-Ilabs/$name" -c "$starter"/*.cu -odir "$TMP"
fi
check "$lab: the solution builds" build "solutions/$name"
check "$lab: it has every function" every_function
check "$lab: and breaks no contract" no_breach
check "$lab: it gets full points" only_passes
rungs=$(ls "solutions/$name/ladder"/*.cu 2>/dev/null)
check "$lab: the ladder has three rungs at least" [ "$(echo "$rungs" | wc -w)" -ge 3 ]
for rung in $rungs; do
    check "$lab: $(basename "$rung") builds" build "$rung" OPT=-O1
    check "$lab: $(basename "$rung") passes what it defines" passes_its_own "$rung"
done
tap_done
