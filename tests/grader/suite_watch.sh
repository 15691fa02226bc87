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
check_says "every quiz has three questions for each part" "183 questions" \
    "$PYTHON" tools/quiz.py check
answers lab03_rmsnorm right >"$TMP/right"
answers lab03_rmsnorm wrong >"$TMP/wrong"
right() { ./grade lab03 --quiz "$@" <"$TMP/right"; }
check_says "all answers are right: exit 0" "18 of 18 answers are right" right
check_says "one part alone" "0 of 3 answers are right" \
    exits 1 sh -c "tail -3 '$TMP/wrong' | ./grade lab03 --quiz -k 03.6"
check "a wrong answer is explained" grep -q "No: 1.5. Two reads and one write" "$TMP/.last"
check_says "something else than an answer" "The answer is a number; q ends the quiz." \
    exits 1 sh -c "printf 'many\n12.5\nq\n' | ./grade lab03 --quiz"
check_says "fewer answers than questions" "1 of 1 answers are right; 17 not asked" \
    cat "$TMP/.last"
complains 1 "no such part" "has no part 03.7; it has 03.1" ./grade lab03 --quiz -k 03.7
quiz_of() { # TEXT: what quiz.py says of a file with it
    printf '%b' "$1" >"$TMP/quiz"
    PYTHONPATH=tools "$PYTHON" -c "import quiz; quiz.read('$TMP/quiz')"
}
complains 1 "two right choices" "quiz:1: needs" quiz_of '? 03.1 x\n+ a\n+ b\n! c\n'
complains 1 "no explanation" "quiz:1: needs a line" quiz_of '? 03.1 x\n= 1\n'
complains 1 "an answer that is no number" "quiz:2: one is not" quiz_of '? 03.1 x\n= one\n'

complains 1 "--watch without a terminal" "needs a terminal" ./grade lab03 --watch
complains 1 "--watch without a lab" "name the lab" ./grade --watch
complains 1 "--watch with another option" "not --json" ./grade lab03 --watch --json x
tree=$TMP/tree
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs solutions reference \
    common grader tools grade requirements.txt | xargs -0 cp -p --parents -t "$tree"
reuse_builds "$tree"
mkdir -p build/data && ln -s "$PWD/build/data" "$tree/build/"
env -u BUILD -u B -u MAKEFLAGS -u MFLAGS -u MAKELEVEL OPT=$QUICK NO_COLOR=1 \
    "$PYTHON" tests/grader/watch.py "$tree" || tap_failed=1
tap_done
