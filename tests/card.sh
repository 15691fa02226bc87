#!/usr/bin/env bash
# card.sh [OUT] - what only a machine with a card can prove, in one go: the CUDA build's own
# suites, full points for every solution, and compute-sanitizer clean on every solution
# (memcheck, racecheck, initcheck). Logs go to OUT; a short table comes last.
#     BACKEND=cuda tests/card.sh build/cuda/card
set -u
cd "$(dirname "$0")/.."
OUT=${1:-build/cuda/card}
mkdir -p "$OUT"
export BACKEND=cuda B=build/cuda PYTHON=${PYTHON:-$PWD/build/host/python}
labs=$(ls grader/adapters | sed -n 's/^\(lab[0-9]*\)\.c$/\1/p')
programs=$(for p in tests/cpu/{language,warps,blocks,runtime,cooperative,cublas,float16,wmma} \
    tests/ops/ops tests/tinylm/{gradients,logits,allocations} tinylm; do echo "$B/$p"; done)
criterion=$(for t in tests/test_*.c; do echo "$B/${t%.c}"; done)
table=$OUT/table.txt
: >"$table"
failed=0

# row NAME GOOD? DETAIL
row() {
    printf '%-34s %-5s %s\n' "$1" "$2" "$3" >>"$table"
    [ "$2" = ok ] || failed=1
}

make -j"$(nproc)" labs FROM=solutions >"$OUT/build.log" 2>&1 || { tail -20 "$OUT/build.log"; exit 1; }
# shellcheck disable=SC2086
make -k -j"$(nproc)" $programs $criterion build/host/ops-data/names >>"$OUT/build.log" 2>&1 ||
    row build FAIL "see $OUT/build.log"

for lab in $labs; do
    ./grade "$lab" >"$OUT/$lab.txt" 2>&1
    row "$lab, solution" "$([ $? = 0 ] && echo ok || echo FAIL)" "$(grep Score "$OUT/$lab.txt")"
done

for program in $criterion; do
    log=$OUT/$(basename "$program").txt
    timeout 120 "$program" --tap >"$log" 2>&1
    row "$(basename "$program")" "$([ $? = 0 ] && echo ok || echo FAIL)" "$(grep -c '^ok' "$log") ok"
done
for program in $(echo "$programs" | grep tests/cpu); do
    log=$OUT/$(basename "$program").txt
    timeout 120 "$program" >"$log" 2>&1
    row "cpu suite: $(basename "$program")" "$([ $? = 0 ] && echo ok || echo FAIL)" "$(grep -c '^ok' "$log") ok"
done
for suite in ops tinylm; do
    timeout 300 tests/$suite/suite.sh >"$OUT/$suite.txt" 2>&1
    row "suite: $suite" "$([ $? = 0 ] && echo ok || echo FAIL)" "$(grep -c '^ok' "$OUT/$suite.txt") ok"
done

sanitize() { # LAB TOOL: prints the summary; fails unless the tool itself said "0 errors"
    ./grade "$1" --under "compute-sanitizer --tool $2" >"$OUT/$1.$2.txt" 2>&1
    code=$?
    echo "$(grep -h 'SUMMARY' "$OUT/$1.$2.txt" | sed 's/=//g' | sort | uniq -c | tr -s ' ' | tr '\n' ';')"
    return $code
}
for tool in memcheck racecheck initcheck; do
    pids=
    for lab in $labs; do
        (sanitize "$lab" $tool >"$OUT/$lab.$tool.sum"; echo $? >"$OUT/$lab.$tool.rc") &
        pids="$pids $!"
    done
    # shellcheck disable=SC2086
    wait $pids
    for lab in $labs; do
        row "$lab, $tool" "$([ "$(cat "$OUT/$lab.$tool.rc")" = 0 ] && echo ok || echo FAIL)" \
            "$(cat "$OUT/$lab.$tool.sum")"
    done
done
cat "$table"
exit $failed
