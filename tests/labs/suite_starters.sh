#!/usr/bin/env bash
# Starters are made from solutions: the generator, handouts, the committed starters.
. "$(dirname "$0")/../tap.sh"
PYTHON_REAL=$(realpath "$PYTHON")
REPO=$PWD
starters="$PYTHON_REAL $REPO/tools/starters.py"

# --- the generator, in a small repository of its own
small=$TMP/small
mkdir -p "$small"/{labs,solutions}/lab09_add "$small/tools/course" "$small/tests/mutants"
cp tools/labkit.py "$small/tools/"
cp tools/course/grade.yml "$small/tools/course/"
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
bad "never ended" "add.cu:1: BEGIN SOLUTION without END SOLUTION" "// BEGIN SOLUTION 09.1"
bad "ended twice" "add.cu:1: END SOLUTION without BEGIN SOLUTION" "// END SOLUTION"
bad "one in another" "add.cu:2:" "// BEGIN SOLUTION 09.1" "// BEGIN SOLUTION 09.2"
bad "no part" "add.cu:1:" "// BEGIN SOLUTION" "// END SOLUTION"
bad "a line for the starter out of place" "add.cu:3: //> lines belong directly below" \
    "// BEGIN SOLUTION 09.1" "code" "//> text" "// END SOLUTION"

# --- a handout: no part of the solutions, and everything that replaces them
git -C "$small" checkout -q .
echo "echo mutant" >"$small/tests/mutants/x.sh"
commit
mkdir -p "$small/build/cpu" "$small/common/cuda"
echo "given" >"$small/common/cuda/vec.cuh"
git -C "$small" add common
echo archive >"$small/build/cpu/fallback.a"
check_says "a handout" "wrote $TMP/handout" inside handout "$TMP/handout" build/cpu/fallback.a
check "has no solution, no mutant" sh -c "cd '$TMP/handout' && [ ! -e solutions ] && [ ! -e tests/mutants ] && ! grep -rq secret ."
check "has the starter, the kernels and what to compare with" sh -c \
    "cd '$TMP/handout' && [ -e labs/lab09_add/add.cu ] && [ -e labs/lab09_add/parts.cuh ] && [ -e fallback/cpu-$(uname -m).a ] && sha256sum --quiet --check MANIFEST.sha256"
check "the device layer is fixed" grep -q ' common/cuda/vec.cuh$' "$TMP/handout/MANIFEST.sha256"
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
every_gpu() {
    make -nB handout OUT="$TMP/real" NVCC=nvcc >"$TMP/commands" &&
        grep -q 'nvcc.*code=sm_75 .*code=sm_80 .*code=sm_90a .*code=compute_.*rope.cu' "$TMP/commands" &&
        ! grep -q lineinfo "$TMP/commands"
}
check "a handout's CUDA kernels are for every GPU, without the lines of their sources" every_gpu
if git rev-parse -q --verify HEAD >/dev/null 2>&1; then
    check "the committed starters agree with the committed solutions" $starters check
else
    skip "the committed starters agree with the committed solutions" "not a git checkout"
fi
made=$TMP/made
check "all starters are made" $starters generate "$made"
check "no starter keeps a marker" sh -c "! grep -rnE 'SOLUTION|//>' '$made'"

tap_done
