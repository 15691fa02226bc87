#!/usr/bin/env bash
# run.sh SUITE... - runs suites that print TAP (scripts, Criterion programs), three at a
# time (JOBS=1: one), adds up their results, shows what failed, what was skipped and why,
# and ends with `N passed, N failed`. A suite that ends without a reason counts as one
# failure. Its time limit is the N of a line `# limit: N` in it, or 900 s, times
# TIMEOUT_SCALE.
set -u
cd "$(dirname "$0")/.."
export BACKEND=${BACKEND:-cpu} B=${B:-build/cpu} PYTHON=${PYTHON:-build/host/python}
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# Runs a suite and shows its results; leaves them in a file for the sums.
run_suite() { # SUITE LOG
    local suite=$1 log=$2 run start rc cpu limit skips oks bad
    start=$(date +%s)
    case $suite in *.sh | *.py) run=("$suite") ;; *) run=("$suite" --tap -j2) ;; esac
    limit=$(sed -n 's/^# limit: \([0-9]*\).*/\1/p' "$suite" 2>/dev/null | head -1)
    limit=$(awk "BEGIN {print ${limit:-900} * ${TIMEOUT_SCALE:-1}}")
    TIMEFORMAT='%U %S'
    cpu=$({ time timeout --kill-after=10 $limit "${run[@]}" >"$log" 2>&1 </dev/null; } 2>&1; echo $?)
    rc=${cpu##*$'\n'}
    cpu=$(awk '{printf "%.0f", $1 + $2; exit}' <<<"$cpu")
    skips=$(grep -cE '^ok .*# SKIP' "$log")
    oks=$(($(grep -cE '^ok ' "$log") - skips))
    bad=$(grep -cE '^not ok ' "$log")
    {
        if [ $rc -ne 0 ] && [ "$bad" = 0 ]; then
            bad=1
            echo "not ok - $suite ended with exit $rc$([ $rc = 124 ] && echo ' (time limit)'); its last lines:"
            tail -15 "$log" | sed 's/^/#   /'
        elif [ "$bad" != 0 ]; then
            grep -A25 -E '^not ok ' "$log" | grep -vE '^ok ' | head -"${TAP_SHOW:-120}"
        fi
        if [ $((oks + bad + skips)) = 0 ]; then
            bad=1
            echo "not ok - $suite ran no test"
        fi
        grep -E '^ok .*# SKIP' "$log" | sed 's/^ok [0-9]* *-* */skipped: /'
        printf '%-38s %4d passed %3d failed %3d skipped %4d s, CPU %4d s\n' \
            "${suite#"$B"/}" "$oks" "$bad" "$skips" $(($(date +%s) - start)) "$cpu"
    } >"$log.shown"
    cat "$log.shown" # in one piece, so that suites do not mix their lines
    echo "$oks $bad $skips" >"$log.sum"
}

# Each of JOBS runners takes the next suite that no other has taken.
runner() {
    local number=0 suite
    for suite in "$@"; do
        number=$((number + 1))
        mkdir "$logs/taken.$number" 2>/dev/null || continue
        run_suite "$suite" "$logs/$number"
    done
}
for ((i = 1; i <= ${JOBS:-3}; i++)); do runner "$@" & done
wait
read -r passed failed skipped < <(cat "$logs"/*.sum | awk '{p += $1; f += $2; s += $3} END {print p + 0, f + 0, s + 0}')
[ "$skipped" = 0 ] && echo "$passed passed, $failed failed" || echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ] && [ "$passed" != 0 ] && [ "$(ls "$logs"/*.sum | wc -l)" = $# ]
