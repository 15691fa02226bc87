#!/bin/sh
# run.sh NAME PROGRAM - runs a fuzzer on the corpus of the tree, which is only read; what
# it finds goes to build/host/. FUZZ_RUNS: how many inputs.
log=build/host/fuzz_$1.log found=build/host/corpus_$1
mkdir -p "$found"
if "$2" -runs="${FUZZ_RUNS:-100000}" -seed=24301 -max_len=4096 \
    -rss_limit_mb=2048 -timeout=20 -dict="tests/fuzz/$1.dict" -artifact_prefix=build/host/ \
    -print_final_stats=1 "$found" "tests/fuzz/corpus/$1" >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
    cover=$(sed -n 's/.*DONE *cov: \([0-9]*\).*/\1/p' "$log")
    echo "fuzz $1: $runs runs, $cover edges covered, no crash, leak or sanitizer report"
else
    tail -40 "$log"
    echo "fuzz $1: FAILED; the input is in build/host/, the whole log is $log"
    exit 1
fi
