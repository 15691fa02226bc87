#!/usr/bin/env bash
# The programs of this folder: the marks of the cases are complete, the right cases give
# the right result in several thread orders, and run.py judges what a program reports.
. "$(dirname "$0")/../tap.sh"
D=tests/check
check_says "every case is marked, and every kind has a case" "right cases" \
    "$PYTHON" $D/cases.py
[ "$BACKEND" = cpu ] || { skip "the right cases" "built for the CPU back end"; tap_done; }

right_cases() { # ENVIRONMENT...
    bad=0
    [ "$(ls "$TMP/right" | wc -l)" -gt 5 ] || { echo "no programs"; return 1; }
    for program in "$TMP"/right/*; do
        [ -f "$program" ] || continue
        for name in $("$program" --list); do
            env "$@" timeout 60 "$program" "$name" || { echo "$program $name"; bad=1; }
        done
    done
    return $bad
}
check "the compiler's settings" make -s BACKEND=cpu "$B/labs/settings"
check "the right cases compile without a warning" \
    env BUILD="$B" FLAGS="-O1 -Wall -Wextra -Werror" $D/build.sh "$TMP" $D/right/*.cu
check "and give the right result" right_cases
check "in another thread order" right_cases WB_SHUFFLE=1
check "with one worker" right_cases WB_THREADS=1

# A program that reports a race at LINE of bugs/races_warp.cu and exits with CODE
mkdir -p "$TMP/stub/bugs" "$TMP/stub/right"
reports() { # KIND LINE CODE
    cat >"$TMP/stub/bugs/races_warp" <<END
#!/bin/sh
echo '{"findings": [{"kind": "$1", "severity": "error", "file": "bugs/races_warp.cu",
  "line": 1, "other": {"file": "/x/bugs/races_warp.cu", "line": $2}}]}' >"\$WB_CHECK_JSON"
exit $3
END
    chmod +x "$TMP/stub/bugs/races_warp"
    cp "$TMP/stub/bugs/races_warp" "$TMP/stub/right/warp"
}
judge() { # CASE
    "$PYTHON" $D/run.py --program-dir "$TMP/stub" -k "$1" --results "$TMP/results"
}
line=$(grep -n "// BUG reverse_in_warp" $D/bugs/races_warp.cu | head -1 | cut -d: -f1)
reports race-shared "$line" 86
check_says "a finding at a marked line" "1 of 1 cases" judge "races_warp reverse_in_warp"
check_says "and its row of the table" "reverse_in_warp | race-shared | found | -" \
    "$PYTHON" $D/table.py "$TMP"
mkdir "$TMP/tools" # one bug is found, one elsewhere; on the third only initcheck ran
other=$(sed -n '/reverse_in_warp/d; s/.*BUG \([a-z_]*\) .*/\1/p' \
    $D/bugs/races_warp.cu | head -1)
for tool in memcheck racecheck initcheck synccheck; do
    [ $tool = memcheck ] && errors=1 || errors=0
    echo "bugs/races_warp reverse_in_warp $tool 0 $errors races_warp.cu:$line"
    echo "bugs/races_warp $other $tool 0 $errors races_warp.cu:1"
done >"$TMP/tools/results"
echo "bugs/races_global scatter_twice initcheck 0 1 races_global.cu:1" >>"$TMP/tools/results"
check_says "and what the tools of compute-sanitizer find together" \
    "bugs. They found 1 and named another line for 1." \
    "$PYTHON" $D/table.py "$TMP/tools"
check_fails "a finding in a right case" "false report: error: race-shared" \
    judge "warp halves"
reports race-shared $((line + 5)) 86
check_fails "a finding at another line" "not found: error: race-shared" \
    judge "races_warp reverse_in_warp"
reports race-global "$line" 86
check_fails "a finding of another kind" "not found: error: race-global" \
    judge "races_warp reverse_in_warp"
reports race-shared "$line" 0
check_fails "an error and exit 0" "exit 0, not 86" judge "races_warp reverse_in_warp"
tap_done
