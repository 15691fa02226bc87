#!/usr/bin/env bash
# Every mutant in labNN/ must get no points for the cases it breaks, and the report must
# say the right words.
# One lab: tests/mutants/run.sh lab03   One mutant: tests/mutants/run.sh lab03/no_tail
. "$(dirname "$0")/../tap.sh"
. tests/mutants/mutants.sh

# Two run at the same time, each with its own build folder: compiling takes most of the
# time.
every_second() { # 0|1 CHOICE
    TMP=$TMP/$1 n=0
    mutants_begin
    for file in tests/mutants/lab*/*.edit tests/mutants/lab*/*.cu; do
        lab=${file#tests/mutants/} lab=${lab%%/*}
        case ${file#tests/mutants/} in
        $2*) [ $((n++ % 2)) != "$1" ] || mutant "$lab" "$file" ;;
        esac
    done
    exit $tap_failed
}

(every_second 0 "${1:-lab}") >"$TMP/first" 2>&1 &
first=$!
(every_second 1 "${1:-lab}") || tap_failed=1
wait $first || tap_failed=1
cat "$TMP/first"
tap_done
