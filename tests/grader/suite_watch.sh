#!/usr/bin/env bash
# What helps a learner between two grades: ./grade LAB --quiz, and ./grade LAB --watch on a
# terminal, in a copy of the tree.
. "$(dirname "$0")/../tap.sh"

answers() { # LAB RIGHT|WRONG
    PYTHONPATH=tools "$PYTHON" - "$@" <<'EOF'
import sys, quiz
for q in quiz.read(f"labs/{sys.argv[1]}/quiz"):
    right = sys.argv[2] == "right"
    if q.number is not None:
        print(repr(q.number) if right else q.number + 1)
    else:
        print(quiz.LETTERS[[r for r, _ in q.shuffled()].index(right)])
EOF
}
check_says "every quiz has three questions for each part" "168 questions" \
    "$PYTHON" tools/quiz.py check
answers lab03_rmsnorm right >"$TMP/right"
answers lab03_rmsnorm wrong >"$TMP/wrong"
right() { ./grade lab03 --quiz "$@" <"$TMP/right"; }
check_says "all answers are right: exit 0" "15 of 15 answers are right" right
check_says "one part alone" "0 of 3 answers are right" \
    exits 1 sh -c "tail -3 '$TMP/wrong' | ./grade lab03 --quiz -k 03.5"
check "a wrong answer is explained" grep -q "No: 1.5. Two reads and one write" "$TMP/.last"
check_says "something else than an answer" "The answer is a number; q ends the quiz." \
    exits 1 sh -c "printf 'many\n12.5\nq\n' | ./grade lab03 --quiz"
check_says "fewer answers than questions" "1 of 1 answers are right; 14 not asked" \
    cat "$TMP/.last"
complains 1 "no such part" "has no part 03.7; it has 03.1" ./grade lab03 --quiz 03.7
complains 1 "two parts" "takes a lab and PART, not 03.2" ./grade lab03 --quiz 03.1 03.2
quiz_of() { # TEXT: what quiz.py says of a file with it
    printf '%b' "$1" >"$TMP/quiz"
    PYTHONPATH=tools "$PYTHON" -c "import quiz; quiz.read('$TMP/quiz')"
}
complains 1 "two right choices" "quiz:1: needs" quiz_of '? 03.1 x\n+ a\n+ b\n! c\n'
complains 1 "no explanation" "quiz:1: needs a line" quiz_of '? 03.1 x\n= 1\n'
complains 1 "an answer that is no number" "quiz:2: one is not" quiz_of '? 03.1 x\n= one\n'

# --- a mistake in a template, and output of a kernel ------------------------------------
reuse_build "$TMP/build"
build() { # FILE
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s BACKEND="$BACKEND" BUILD="$TMP/build" \
        OPT="$QUICK" lab03 FILE="$1" CHECK=off
}
sed -e 's/^static __global__ void rows/template <int N> &/; s/rows<<</rows<1><<</' \
    -e 's/+= xr\[c\] \* xr/+= missing * xr/' \
    -e 's/^    return wb_launched/    rows<2><<<R, THREADS>>>(out, rstd, x, w, C, eps, offset);\n&/' \
    tests/grader/naive.cu >"$TMP/twice.cu"
sed -i 's/\*xr = x + /*xr = (const double *)x + /' "$TMP/twice.cu"
check_fails "a template with a mistake" "twice.cu does not compile" build "$TMP/twice.cu"
if [ "$BACKEND" = cpu ]; then
    check "each error appears once" [ "$(grep -c 'error: ' "$TMP/.out")" = 2 ]
    check "without the way to the template" sh -c "! grep -q 'required from' '$TMP/.out'"
fi
sed 's/float squares = 0.0f;/& if (t == 0) printf("row %d\\n", row);/' tests/grader/naive.cu \
    >"$TMP/prints.cu"
check "a kernel that prints" build "$TMP/prints.cu"
check_says "prints in the first call alone" "printed: row 3" \
    env BUILD="$TMP/build" ./grade lab03 -k basic
check "one line per row" [ "$(grep -c 'printed: row' "$TMP/.out")" = 4 ]

sed 's/float squares = 0.0f;/float squares;/' tests/grader/naive.cu >"$TMP/uninitialised.cu"
[ "$BACKEND" != cpu ] || QUICK=-O1 check_says "a variable without a value: a warning" "may be used uninitialized" \
    build "$TMP/uninitialised.cu"
# --- --watch and --gdb in a tree --------------------------------------------------------
complains 1 "--watch without a terminal" "needs a terminal" ./grade lab03 --watch
complains 1 "--watch without a lab" "name the lab" ./grade --watch
complains 1 "--watch with another option" "not --json" ./grade lab03 --watch --json x
tree=$TMP/tree
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs solutions reference \
    common grader tools grade requirements.txt | xargs -0 cp -p --parents -t "$tree"
reuse_builds "$tree"
mkdir -p build/data && ln -s "$PWD/build/data" "$tree/build/"
env -u BUILD -u B -u MAKEFLAGS -u MFLAGS -u MAKELEVEL OPT="$QUICK" NO_COLOR=1 \
    "$PYTHON" tests/grader/watch.py "$tree" || tap_failed=1
complains 1 "--gdb without a case" "name a lab and a case" ./grade lab03 --gdb
in_gdb() { (cd "$tree" && printf '%s\n' "$@" quit | ./grade lab03 -k tail --gdb); }
if [ "$BACKEND" = cpu ] && command -v gdb >/dev/null; then
    complains 1 "--gdb with several cases" "selects 18 cases" \
        sh -c "cd '$tree' && ./grade lab03 -k 03.1 --gdb"
    in_gdb 'print threadIdx' 'print C' >"$TMP/gdb" 2>&1
    check_says "--gdb stops in the kernel" "forward_rows<float>" cat "$TMP/gdb"
    check_says "in the first thread" "= {x = 0, y = 0, z = 0}" cat "$TMP/gdb"
    check_says "on the data of the case" "= 1000" cat "$TMP/gdb"
else
    skip "--gdb" "needs gdb and the CPU back end"
fi
tap_done
