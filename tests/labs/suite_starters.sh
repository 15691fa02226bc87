#!/usr/bin/env bash
# Starters are made from solutions: the generator, the committed starters, and that each
# starter compiles in both back ends and still has everything to be written.
. "$(dirname "$0")/../tap.sh"
PYTHON_REAL=$(realpath "$PYTHON")
REPO=$PWD
starters="$PYTHON_REAL $REPO/tools/starters.py"

# --- the generator, in a small repository of its own
small=$TMP/small
mkdir -p "$small"/{labs,solutions}/lab09_add "$small/tools" "$small/tests/mutants"
cp tools/labkit.py "$small/tools/"
solution=$small/solutions/lab09_add/add.cu lab=$small/labs/lab09_add/add.cu
cat >"$solution" <<'E2'
before
    // BEGIN SOLUTION 09.1 (about 2 lines)
    //> // TODO(09.1): add. About 1 line.
    //>
    //> return WB_TODO;
    out[i] = x[i] + y[i];
    return wb_launched();
    // END SOLUTION

// BEGIN SOLUTION 09.2 (about 1 line)
secret
// END SOLUTION

after
E2
cat >"$TMP/want" <<'E2'
before
    // TODO(09.1): add. About 1 line.

    return WB_TODO;

after
E2
echo "given" >"$small/solutions/lab09_add/parts.cuh"
inside() { (cd "$small" && $starters "$@"); }
commit() { git -C "$small" add -A && git -C "$small" -c user.name=x -c user.email=x@x commit -qm x; }
git init -q "$small"
echo "*.bak-*" >"$small/.gitignore"
check "a starter is written" inside write
check "its text" diff "$TMP/want" "$lab"
check "a header beside it comes along" diff "$small"/{solutions,labs}/lab09_add/parts.cuh
check "writing it again changes nothing" inside write
commit
check "the committed starter agrees" inside check
echo "my work" >>"$lab"
check_fails "an edited file is not overwritten" "labs/lab09_add/add.cu has been edited" inside write
check "an edited lab is no reason to fail" inside check
check "reset starts it again" inside reset lab09
check "the text is the starter's" diff "$TMP/want" "$lab"
echo "mine" >"$small/labs/lab09_add/parts.cuh"
check_fails "an edited header is not overwritten" "parts.cuh has been edited" inside write
check "reset starts it again too" eval \
    'inside reset lab09 && diff "$small"/{solutions,labs}/lab09_add/parts.cuh'
check "the edit is kept as a backup" sh -c "grep -q 'my work' '$small'/labs/lab09_add/add.cu.bak-*"
sed -i 's/About 1 line/About 3 lines/' "$solution"
check "an unedited starter follows its solution" inside write
check "with the new text" grep -q "About 3 lines" "$lab"
git -C "$small" checkout -q labs
git -C "$small" add solutions && git -C "$small" -c user.name=x -c user.email=x@x commit -qm x
check_fails "a solution committed without its starter" "run \`make starters\`" inside check
check_fails "an unknown lab" "lab77: no such lab; there are lab09" inside reset lab77

bad() { # bad "what" "words" LINE...
    bad_what=$1 bad_words=$2; shift 2
    printf '%s\n' "$@" >"$solution"
    check_fails "$bad_what" "$bad_words" inside generate "$TMP/none"
}
bad "never ended" "add.cu:1: BEGIN SOLUTION is never ended" "// BEGIN SOLUTION 09.1"
bad "ended twice" "add.cu:1: END SOLUTION without a beginning" "// END SOLUTION"
bad "one in another" "add.cu:2:" "// BEGIN SOLUTION 09.1" "// BEGIN SOLUTION 09.2"
bad "no part" "add.cu:1:" "// BEGIN SOLUTION" "// END SOLUTION"
bad "a line for the starter out of place" "add.cu:3: a //> line belongs right below" \
    "// BEGIN SOLUTION 09.1" "code" "//> text" "// END SOLUTION"

# --- a handout: nothing of the solutions, and what it takes to work without them
git -C "$small" checkout -q .
echo "echo mutant" >"$small/tests/mutants/x.sh"
commit
mkdir -p "$small/build/cpu"
echo archive >"$small/build/cpu/fallback.a"
check_says "a handout" "wrote $TMP/handout" inside handout "$TMP/handout" build/cpu/fallback.a
check "has no solution, no mutant" sh -c "cd '$TMP/handout' && [ ! -e solutions ] && [ ! -e tests/mutants ] && ! grep -rq secret ."
check "has the starter, the kernels and what to compare with" sh -c \
    "cd '$TMP/handout' && [ -e labs/lab09_add/add.cu ] && [ -e labs/lab09_add/parts.cuh ] && [ -e fallback/cpu-$(uname -m).a ] && sha256sum --quiet --check MANIFEST.sha256"
check "its starter is not fixed" sh -c "! grep -q labs/lab09_add/add.cu '$TMP/handout/MANIFEST.sha256'"
echo "a try" >"$TMP/handout/labs/lab09_add/add.cu"
check "a lab of a handout is started again without solutions" sh -c \
    "cd '$TMP/handout' && $starters reset lab09 && diff starters/lab09_add/add.cu labs/lab09_add/add.cu"
check_fails "no handout over other files" "the folder is not empty" inside handout "$TMP/handout"

# --- the real ones
if [ ! -d solutions ]; then
    skip "the committed starters" "this tree has no solutions/"
    tap_done
fi
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    check "the committed starters agree with the committed solutions" $starters check
else
    skip "the committed starters agree with the committed solutions" "not a git checkout"
fi
made=$TMP/made
check "all starters are made" $starters generate "$made"
check "no starter keeps a marker" sh -c "! grep -rnE 'SOLUTION|//>' '$made'"

# A build folder of its own, with the library that is there already.
mkdir -p "$TMP/build"
for built in libwbcpu.a common grader; do
    [ -e "$B/$built" ] && cp -a "$B/$built" "$TMP/build/"
done
build() { make -s "$1" FILE="$2" BACKEND="$BACKEND" BUILD="$TMP/build"; }
# verdicts LAB: how many cases ended how, "pass 32" or "pass 3 skip 29"
verdicts() {
    BUILD=$TMP/build ./grade "$1" --json "$TMP/report.json" >"$TMP/report" 2>&1
    "$PYTHON_REAL" - "$TMP/report.json" <<'E2'
import collections, json, sys
cases = json.load(open(sys.argv[1]))["cases"]
count = collections.Counter(c["verdict"] for c in cases)
print(" ".join(f"{verdict} {n}" for verdict, n in sorted(count.items())))
E2
}
shown() { verdicts "$1" >"$TMP/verdicts"; cat "$TMP/verdicts"; grep -A3 -E 'FAIL|CRASH|TIME' "$TMP/report" | head -8; }
only_passes() { shown "$1" && grep -qxE 'pass [0-9]+' "$TMP/verdicts"; }
# passes_its_own LAB RUNG: all that it defines, but for a case that its line "// fails: case"
# names because a later part asks for more
passes_its_own() {
    wont=$(sed -n 's,^// fails: ,,p' "$2")
    shown "$1" && grep -qxE "${wont:+fail 1 }pass [0-9]+( skip [0-9]+)?" "$TMP/verdicts" &&
        { [ -z "$wont" ] || grep -qE "^== Test $1/$wont .* FAIL 0/" "$TMP/report"; }
}
not_written_yet() {
    shown "$1" && grep -q '^Score: 0/100' "$TMP/report" && grep -q 'not written yet' "$TMP/report" &&
        ! grep -qE 'pass|crash|timeout' "$TMP/verdicts"
}
every_function() { grep -q '"missing": \[\]' "$TMP/build/labs/$1.json"; }
no_breach() { grep -q '"breaches": \[\]' "$TMP/build/labs/$1.json"; }

nvcc=${NVCC:-$(command -v nvcc)}
for folder in "$made"/labs/*; do
    name=$(basename "$folder") lab=$(basename "$folder" | cut -d_ -f1)
    check "$lab: the starter builds" build "$lab" "$folder"
    check "$lab: it has every function" every_function "$lab"
    check "$lab: and breaks no contract" no_breach "$lab"
    check "$lab: nothing is written yet, and the grader says so" not_written_yet "$lab"
    if [ -z "$nvcc" ]; then
        skip "$lab: the starter compiles with nvcc" "nvcc is not there"
    elif [ "$BACKEND" != cuda ]; then
        check "$lab: the starter compiles with nvcc" "$nvcc" -std=c++17 -arch=sm_80 -Icommon \
            "-Ilabs/$name" -c "$folder"/*.cu -odir "$TMP"
    fi
    check "$lab: the solution builds" build "$lab" "solutions/$name"
    check "$lab: it has every function" every_function "$lab"
    check "$lab: and breaks no contract" no_breach "$lab"
    check "$lab: it gets full points" only_passes "$lab"
    rungs=$(ls "solutions/$name/ladder"/*.cu 2>/dev/null)
    check "$lab: the ladder has three rungs at least" [ "$(echo "$rungs" | wc -w)" -ge 3 ]
    for rung in $rungs; do
        check "$lab: $(basename "$rung") builds" build "$lab" "$rung"
        check "$lab: $(basename "$rung") passes what it defines" passes_its_own "$lab" "$rung"
    done
done
tap_done
