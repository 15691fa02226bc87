#!/usr/bin/env bash
# Every mutant in labNN/ must get no points on the cases it touches, with the right words.
# One lab or one mutant: tests/mutants/suite.sh lab03   tests/mutants/suite.sh lab03/tail
. "$(dirname "$0")/../tap.sh"
. tests/mutants/mutants.sh
mutants_begin
for file in tests/mutants/lab*/*.edit tests/mutants/lab*/*.cu; do
    [ -e "$file" ] || continue
    lab=$(basename "$(dirname "$file")")
    case $lab/$(basename "$file") in ${1:-lab}*) mutant "$lab" "$file" ;; esac
done
tap_done
