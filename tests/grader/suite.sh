#!/usr/bin/env bash
# Wrong programs and attacks: none may earn a point. The command line: suite_cli.sh.
# One threat: tests/grader/suite.sh zeros
. "$(dirname "$0")/../tap.sh"
. tests/mutants/mutants.sh
mutants_begin
MUTANT_OF=tests/grader/naive.cu
for file in tests/grader/threats/*.edit; do
    case $(basename "$file") in ${1:-}*) mutant lab03 "$file" ;; esac
done
tap_done
