#!/usr/bin/env bash
# tools/export: what course servers read, of a submission that has some points and of one
# that does not compile; and the autograders that are uploaded to them.
. "$(dirname "$0")/../tap.sh"
R=$TMP/results
mkdir -p "$R"
grade() { tools/grade_submission lab03 "$@" >"$TMP/report" 2>&1; }
grade tests/grader/naive.cu -k basic,residual,coalesced --json "$R/ann.json"
printf '#include "rmsnorm.h"\nint f( { \001\n' >"$TMP/bad.cu"
grade "$TMP/bad.cu" --json "$R/bob.json"

# --- formats of one submission ------------------------------------------------------------
made() { # FORMAT RESULT OPTION...
    tools/export "$1" "$R/$2.json" "${@:3}" --out "$TMP/made" || return
    cat "$TMP/made"
    "$PYTHON" tests/course/formats.py "$1" "$TMP/made"
}
for format in gradescope autolab github junit; do
    check "$format: a submission with points" made $format ann
    check "$format: one that does not compile" made $format bob
done
says_made() { # WORDS FORMAT RESULT OPTION...
    made "${@:2}" | grep -F -- "$1"
}
check "Gradescope: points" says_made '"score": 6' gradescope ann
check "Gradescope: what the compiler said" says_made "does not compile: fix the first" gradescope bob
check "Gradescope: a row of the leaderboard" says_made '"name": "Structure"' gradescope ann --leaderboard
check "Autolab: a row of the scoreboard" says_made '"scoreboard": [6, 1' autolab ann --leaderboard
check "JUnit: points of a case" says_made '<property name="points" value="5" />' junit ann
check "JUnit: what is not written is skipped" says_made 'rmsnorm_residual_forward_f32 is not in' junit ann
check "GitHub: points of both" sh -c \
    "tools/export github '$R/ann.json' '$R/bob.json' | grep -F 'Points 6/110'"
summary() { GITHUB_STEP_SUMMARY=$TMP/summary tools/export github "$R/ann.json"; }
check "GitHub: a summary" summary
check "with a row per part" grep -qF '| 03.1 | 5 | 5 |' "$TMP/summary"

# --- a course -----------------------------------------------------------------------------
exported() { # FORMAT OPTION...
    tools/export "$1" "$R/ann.json" "$R/bob.json" "${@:2}" 2>"$TMP/told"
}
check_says "CSV: a line each" "ann,lab03,6,10,1,5,0,1" exported csv
check_says "CSV: what was not built" "bob,lab03,0,100,2,,," exported csv
cp "$R/ann.json" "$R/=cmd().json"
check_says "CSV: a name is no formula" "'=cmd()" tools/export csv "$R/=cmd().json"
check_says "Moodle: grades" "ann,6," exported moodle
cp "$R/ann.json" "$R/Ann Lee_4711_assignsubmission_file.json"
cat >"$TMP/moodle.csv" <<'END'
Identifier,"Full name","Email address",Status,Grade,"Maximum grade","Feedback comments"
"Participant 4711","Ann Lee",ann@x.org,Submitted,,100.00,
"Participant 4712","Bob May",bob@x.org,Submitted,,100.00,
"Participant 4713","Eve Day",eve@x.org,"No submission",,100.00,
END
filled() { # NAME...: Moodle's worksheet
    tools/export moodle "${@/#/$R/}" --roster "$TMP/moodle.csv"
}
moodle=$'Ann Lee_4711_assignsubmission_file.json'
check_says "Moodle: a row by the file's name" 'Participant 4711,Ann Lee,ann@x.org,Submitted,6,' \
    filled "$moodle" bob.json
check_says "Moodle: a row by the address" 'bob@x.org,Submitted,0,100.00,"bad.cu:2' filled bob.json
check_says "Moodle: the others stay" 'Eve Day,eve@x.org,No submission,,100.00,' filled bob.json
cat >"$TMP/canvas.csv" <<'END'
Student,ID,SIS User ID,SIS Login ID,Section,Lab 3 (77)
    Points Possible,,,,,100
"Lee, Ann",4711,s1,ann,1,
"May, Bob",4712,s2,bob,1,
END
check_says "Canvas: a grade by login" '"Lee, Ann",4711,s1,ann,1,6' \
    exported canvas --roster "$TMP/canvas.csv" --column "Lab 3 (77)"
cp "$R/ann.json" "$R/maybob_LATE_4712_90210_rmsnorm.json"
check_says "Canvas: a grade by the file's name" '"May, Bob",4712,s2,bob,1,6' tools/export canvas \
    "$R/maybob_LATE_4712_90210_rmsnorm.json" --roster "$TMP/canvas.csv" --column "Lab 3 (77)"
check_says "who is in no row is named" "is in no row" sh -c \
    "tools/export canvas '$R/=cmd().json' --roster '$TMP/canvas.csv' 2>&1"
complains 1 "no roster" "canvas needs --roster FILE" tools/export canvas "$R/ann.json"
complains 1 "a roster without names" "no column such as" \
    tools/export canvas "$R/ann.json" --roster "$R/ann.json"
complains 1 "what is no result" "is not a result" tools/export csv "$TMP/canvas.csv"
complains 1 "no file" "No such file" tools/export csv "$TMP/none.json"
complains 1 "two results for one" "takes one result" tools/export junit "$R/ann.json" "$R/bob.json"

# --- Gradescope and Autolab, as they start it ------------------------------------------------
git rev-parse -q --verify HEAD >/dev/null 2>&1 || {
    skip "autograders" "they are made from a git checkout"
    tap_done
}
make_course() { env -u MAKEFLAGS -u MFLAGS make -s COURSE="$TMP/course" "$@"; }
check_fails "a lab that does not exist" "LAB names one of lab00" make_course gradescope LAB=99
check "make gradescope" make_course gradescope LAB=03 LEADERBOARD=1
export AUTOGRADER=$TMP/autograder
mkdir -p "$AUTOGRADER/source" "$AUTOGRADER/submission" "$AUTOGRADER/results" "$AUTOGRADER/warpbook"
check "the archive has all" "$PYTHON" -m zipfile -e "$TMP/course/gradescope-lab03.zip" "$AUTOGRADER/source"
check "no solution and no test is in it" sh -c \
    "! tar -tzf '$AUTOGRADER/source/warpbook.tar.gz' | grep -E '^(solutions|tests)/'"
tar -xzf "$AUTOGRADER/source/warpbook.tar.gz" -C "$AUTOGRADER/warpbook"
# What setup.sh builds there; the sources as they are here, not as committed.
for path in grader tools common labs reference mk; do cp -a $path "$AUTOGRADER/warpbook/"; done
reuse_builds "$AUTOGRADER/warpbook"
chmod -R a-w "$AUTOGRADER/warpbook/build" # as in an image: nothing is built there
autograde() { # WORDS: in what Gradescope reads
    rm -f "$AUTOGRADER/results/results.json"
    (cd "$AUTOGRADER" && env -u B -u BACKEND -u PYTHON bash source/run_autograder) || return
    "$PYTHON" tests/course/formats.py gradescope "$AUTOGRADER/results/results.json" &&
        grep -F -- "$1" "$AUTOGRADER/results/results.json"
}
check "Gradescope: a hand-in of nothing" autograde "neither a .cu file nor a folder with one"
cp "$TMP/bad.cu" "$AUTOGRADER/submission/"
check "Gradescope: a hand-in that does not compile" autograde "does not compile"

check "make autolab" make_course autolab LAB=lab03
mkdir "$TMP/handin"
cp "$TMP/course/autolab-lab03/autograde-Makefile" "$TMP/handin/Makefile"
cp "$TMP/course/autolab-lab03/autograde.tar" "$TMP/bad.cu" "$TMP/handin/"
on_autolab() {
    env -u MAKEFLAGS -u MFLAGS -u B make -s -C "$TMP/handin" WARPBOOK="$PWD" 2>/dev/null | tail -1
}
check "Autolab: the last line is the score" [ "$(on_autolab)" = '{"scores": {"lab03": 0}}' ]

# --- a repository on GitHub: the workflow of a handout ----------------------------------------
H=$TMP/handout
check "a handout" "$PYTHON" tools/starters.py handout "$H"
reuse_builds "$H"
"$PYTHON" - "$H/.github/workflows/grade.yml" >"$TMP/step" <<'END'
import sys
step = open(sys.argv[1]).read().split("      - name: Grade\n        run: |\n")[1]
print("\n".join(line[10:] for line in step.splitlines()))
END
workflow() { # LABS
    (cd "$H" && rm -rf build/points && env -u MAKEFLAGS -u MFLAGS -u B LABS="$1" bash -e "$TMP/step")
}
check "GitHub: nothing is written yet" workflow ""
check "and nothing is graded" [ -z "$(ls "$H/build/points")" ]
cp "$TMP/bad.cu" "$H/labs/lab03_rmsnorm/rmsnorm.cu"
check_says "GitHub: a lab that differs from its starter is graded" \
    '{"totalPoints": 0, "maxPoints": 100}' workflow ""
tap_done
