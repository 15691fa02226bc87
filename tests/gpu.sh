#!/usr/bin/env bash
# gpu.sh [OUT] - what only a computer with a GPU can test: the programs and suites of the
# CUDA build, full points for every solution, rungs that pass what they define, the CPU back
# end's own programs compiled with nvcc, and compute-sanitizer (memcheck, racecheck,
# initcheck) without a report on every solution.
# As many jobs run at the same time as there are cores; none is timed. Several GPUs share
# them; a suite sees all GPUs. Logs go to OUT; a short table comes last.
#     BACKEND=cuda tests/gpu.sh build/cuda/gpu
# PART=2/3 does the second third of the jobs, for a machine that is lent for minutes;
# ONLY='lab0[67]|library' those that match.
set -u
part=${PART:-1/1}
cd "$(dirname "$0")/.."
export OUT=${1:-build/cuda/gpu}
export BACKEND=cuda B=build/cuda PYTHON=${PYTHON:-$PWD/build/host/python}
GPUS=$(nvidia-smi -L | wc -l) && export GPUS
rm -rf "$OUT" && mkdir -p "$OUT" || exit 1

# The kernels of the programs come first: later targets use the same objects.
make -j"$(nproc)" labs "$B/kernels.o" FROM=solutions >"$OUT/build.log" 2>&1 &&
    make -k -j"$(nproc)" test-programs $(make -s list-tests) >>"$OUT/build.log" 2>&1 || {
    tail -20 "$OUT/build.log"
    echo "gpu.sh: the build failed: $OUT/build.log"
    exit 1
}

# job NUMBER LABEL COMMAND...: runs it and writes its row of the table to OUT/NUMBER.row
job() {
    job_row=$OUT/$1.row job_label=$2
    job_log=$OUT/$(echo "$2" | tr -cs 'a-z0-9_\n' '.').txt
    [[ $3 == tests/* ]] || export CUDA_VISIBLE_DEVICES=$((10#$1 % GPUS))
    shift 2
    job_start=$SECONDS
    timeout 500 "$@" >"$job_log" 2>&1 </dev/null && job_is=ok || job_is=FAIL
    job_says=$(sed -nE 's/.*(Score: .*|SUMMARY: .*)/\1/p' "$job_log" | sort | uniq -c |
        sed 's/^ *1 //' | tr -s ' ' | paste -sd';')
    printf '%-30s %-4s %4ds  %s\n' "$job_label" $job_is $((SECONDS - job_start)) \
        "${job_says:-$(grep -c '^ok' "$job_log") ok}" >"$job_row"
}
export -f job

# Two sequences for the sanitizers, one longer than the window of the tiny model.
printf '%s\n' "$(seq -s' ' 20)" '7 8 9' >"$OUT/tokens"

# The longest first. tests/sanitized names the cases of a lab that are enough.
jobs_of() {
    local lab labs tool cases suite program
    labs=$(make -s list-labs)
    for suite in $(ls -r tests/labs/suite_lab*.sh) tests/{tinylm,recurrentgemma}/suite*.sh; do  # compilers
        echo "'$suite' $suite"
    done
    for lab in $labs; do
        for tool in racecheck initcheck memcheck; do
            cases=$(awk -v lab="$lab" '$1 == lab {print "-k " $2}' tests/sanitized)
            echo "'$lab, $tool' ./grade $lab $cases --under 'compute-sanitizer --tool $tool'"
        done
    done
    for tool in racecheck initcheck memcheck; do
        for dtype in f32 bf16; do
            echo "'recurrentgemma in $dtype, $tool'" compute-sanitizer --tool $tool \
                --error-exitcode 1 "$B/recurrentgemma" --model tests/recurrentgemma/tiny \
                --dtype $dtype --tokens "$OUT/tokens" --chunk 7 --ids --max-new-tokens 3
        done
    done
    for suite in tests/{library,ops,bench}/suite*.sh; do echo "'$suite' $suite"; done
    for lab in $labs; do echo "'$lab, solution' ./grade $lab --timeout-scale 3"; done
    for program in tests/cpu/{foreign,features}/*.cu; do
        echo "'${program#tests/cpu/}' tests/cpu/by_nvcc.sh $program"
    done
    # -j2: each test is a process, and its context takes 0.5 GB of the GPU's memory.
    for program in $(make -s list-tests); do
        echo "'$(basename "$program")' $program $([[ $program == */tests/test_* ]] && echo --tap -j2)"
    done
}
jobs_of | grep -E -- "${ONLY:-.}" | awk -v part="$part" '
    BEGIN {split(part, p, "/")}
    NR % p[2] == p[1] % p[2] {printf "job %03d %s\n", NR, $0}' >"$OUT/jobs"
<"$OUT/jobs" tr '\n' '\0' |
    xargs -0 -P"$(nproc)" -n1 bash -c
cat "$OUT"/*.row | tee "$OUT/table.txt"
[ "$(wc -l <"$OUT/table.txt")" = "$(wc -l <"$OUT/jobs")" ] && ! grep -q ' FAIL ' "$OUT/table.txt"
