#!/usr/bin/env bash
# tools/grade_all: a class of four, one of whom does not compile; going on; limits; an array job.
. "$(dirname "$0")/../tap.sh"
S=$TMP/class R=$TMP/results
export CHECK=off TMPDIR=$TMP/private # half the work; what is left there is of this suite
mkdir "$TMPDIR"
mkdir -p "$S/Cy Day_12_assignsubmission_file/code"
cp tests/grader/naive.cu "$S/ann.cu"
cp tests/grader/naive.cu "$S/Cy Day_12_assignsubmission_file/code/"
cp -r labs/lab03_rmsnorm "$S/bob"
echo 'int f( {' >"$S/dan.cu"
: >"$S/notes.txt"
all() { tools/grade_all lab03 "$S" --out "$R" --jobs 2 "$@" -- -k basic; }
check_says "a class" "4 submissions, mean" all
cp "$TMP/.out" "$TMP/said"
told() { grep -qE -- "$1" "$TMP/said"; }
check "progress: a right one" told "[1-4]/4 'ann': 5/5"
check "a submission one folder deeper" told "'Cy Day_12_assignsubmission_file': 5/5"
check "the starter" told "'bob': 0/5"
check "a histogram" told '      full     2  #'
check "a line per part" told '  03.1       2     0     1  basic 1'
check "each case is passed by a submission" told "each case is passed by at least one submission"
check "what does not compile is named" told "not built: 'dan'"
check "its result says why" grep -q "does not compile" "$R/dan.json"
check "the CSV" grep -qx "ann,lab03,5,5,0,5" "$R/summary.csv"
check "a report each" grep -q "Score: 5/5" "$R/ann.txt"
check "no data is left" [ ! -e "$R/.data" ]
check "only the teacher may read the seed" [ "$(stat -c %a "$R/.seed")" = 600 ]
check "no folder is left" sh -c "! ls '$TMPDIR' | grep ."

# --- going on -----------------------------------------------------------------------------
check "again: nothing to grade" sh -c "! $(declare -f all); S='$S' R='$R' && ! all | grep -E '^[0-9]+/'"
touch "$S/ann.cu"
again() { all | grep -E '^[0-9]+/'; }
check "a new version is graded" [ "$(again)" = "1/1 'ann': 5/5" ]
rm "$R/dan.json"
check "and what has no result" [ "$(again)" = "1/1 'dan': 0/100, not built" ]

# --- limits ---------------------------------------------------------------------------------
mkdir "$TMP/one" && cp "$S/ann.cu" "$TMP/one/"
one() { tools/grade_all lab03 "$TMP/one" --out "$TMP/one-results" "$@" -- -k basic; }
check_says "a limit of time" "timed out: 'ann'" one --minutes 0.001
check "its result says so" grep -q "stopped after 0.001 minutes" "$TMP/one-results/ann.json"
check_says "a limit of memory" "'ann': 0/100" one --again --memory 0.001
check "its result says so, too" grep -q "used more than 0.001 GB" "$TMP/one-results/ann.json"

# --- an array job, its tasks started by hand --------------------------------------------------
job() { tools/grade_all lab03 "$TMP/one" --out "$TMP/job" "$@" -- -k basic; }
check_says "--slurm" "1 submissions in 1 tasks" job --slurm
check "it is an array job" grep -qx '#SBATCH --array=0-0' "$TMP/job/grade.sbatch"
check_says "its task grades" "1/1 'ann': 5/5" \
    env SLURM_ARRAY_TASK_ID=0 SLURM_CPUS_PER_TASK=1 bash "$TMP/job/grade.sbatch"
check_says "then the summary" "1 submissions, mean 5.0" job

# --- mistakes -------------------------------------------------------------------------------
complains 1 "no folder" "no such folder" tools/grade_all lab03 "$TMP/none"
complains 1 "an empty one" "no .cu file and no folder" tools/grade_all lab03 "$TMP/job"
complains 1 "no lab" "no such lab" tools/grade_all lab99 "$S"
complains 1 "a share that is none" "write it as 0/10" tools/grade_all lab03 "$S" --slice 3/3
mkdir "$TMP/one/ann"
complains 1 "two of one name" "are both called ann" tools/grade_all lab03 "$TMP/one" --out "$TMP/job"
tap_done
