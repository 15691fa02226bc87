#!/bin/sh
# The programs that measure for the README's plots run, their CSVs are complete, and the
# plots are drawn. No time is asserted.
. "$(dirname "$0")/../tap.sh"

programs=$B/bench/tinylm
small="--layers 3 --channels 32 --heads 2 --kv-heads 1 --hidden 40 --batch 1 --context 16"
# rows CSV LINES: a header and LINES lines of as many fields, a machine, and no NaN
rows() {
    awk -F, -v lines="$2" 'NR == 1 {n = NF}
        NF != n || $1 == "" || /nan|inf/ {print "line " NR ": " $0; bad = 1}
        END {
            if (NR != lines + 1) {print NR - 1 " lines, not " lines; bad = 1}
            exit bad
        }' "$1"
}
plot() { # NAME CSV: writes a PNG that is not empty
    MPLCONFIGDIR=$TMP "$PYTHON" "tools/plot_$1.py" "$2" "$TMP/$1.png" &&
        [ "$(head -c 8 "$TMP/$1.png" | od -An -c | tr -d ' \n')" = '211PNG\r\n032\n' ] &&
        [ "$(wc -c <"$TMP/$1.png")" -gt 5000 ]
}

for arch in llama griffin; do
    check "kv: $arch" "$programs/kv" --csv "$TMP/kv.csv" --runs 3 --longest 64 $small \
        --arch $arch --dtype $([ $arch = llama ] && echo f32 || echo bf16)
    check "memory: $arch" "$programs/memory" --csv "$TMP/memory.csv" --longest 256 \
        $small --arch $arch
done
check "kv.csv: two lengths, with and without a cache, three runs each" \
    rows "$TMP/kv.csv" 24
check "memory.csv: four lengths" rows "$TMP/memory.csv" 8
# The allocator counts what the formula says, except for the alignment of 9 allocations.
counted() {
    awk -F, 'NR > 1 && ($7 < $8 || $7 >= $8 + 9 * 256) {print; exit 1}' "$TMP/memory.csv"
}
check "the allocator counts what the formula says" counted
flat() {
    awk -F, '$3 == "griffin" && $5 >= 64 {if (b && b != $7) exit 1; b = $7}' \
        "$TMP/memory.csv"
}
check "Griffin's caches do not grow beyond the window" flat
for code in naive fused residual; do
    check "ablation: $code" "$programs/ablation.$code" --csv "$TMP/ablation.csv" \
        --runs 2 $small
done
check "ablation.csv: step and forward, as launches and as a graph" \
    rows "$TMP/ablation.csv" 24

# Training over the number of ranks, where there is MPI.
scaling() {
    rm -f "$TMP/scaling.jsonl"
    "$PYTHON" bench/scaling.py --program "$programs/scaling" --ranks "1 2" --runs 1 \
        --weak laptop:1 --strong laptop:2 --layers 1 --channels 32 --heads 2 --context 16 \
        --json "$TMP/scaling.jsonl" && "$PYTHON" -c "
import json
rows = [json.loads(line) for line in open('$TMP/scaling.jsonl')]
assert [(r['kind'], r['ranks'], r['batch']) for r in rows] == [
    ('weak', 1, 1), ('weak', 2, 2), ('strong', 1, 2), ('strong', 2, 2)], rows
assert all(r['ms'] > 0 and r['loss'] > 0 for r in rows) and rows[3]['efficiency'] > 0, rows"
}
if command -v mpirun >/dev/null && [ "$(devices)" -ge 2 ]; then
    check "scaling: weak and strong, one rank and two" scaling
    check "plot: scaling" plot scaling "$TMP/scaling.jsonl"
    check_says "an all-reduce's time and bus bandwidth" "alpha " \
        tools/mpi.sh run 2 "$programs/bandwidth" --runs 1
else
    skip "scaling" "no mpirun (make setup-test), or one GPU"
fi

step() { # PYTHON WORDS OPTION...: the training step alone, or compared with PyTorch
    python=$1 words=$2 what=$3
    shift 3
    check_says "$what" "$words" "$python" bench/peers_tinylm.py --program "$programs/step" \
        --threads 1 --blocks 1 --steps 2 --json "$TMP/step.jsonl" $small "$@"
}
step "$PYTHON" "      1 ours " "a training step is timed" --arch griffin
check "its figures are JSON: times, CPU time and loss" "$PYTHON" -c "
import json
row, = map(json.loads, open('$TMP/step.jsonl'))
assert row['steps'] == 2 and row['arch'] == 'griffin' and row['side'] == 'ours', row
assert min(row[n] for n in ('wall_ms', 'cpu_ms', 'loss', 'parameters')) > 0, row"
[ -z "${TORCH_PYTHON:-}" ] ||
    step "$TORCH_PYTHON" "      1 fused " "PyTorch trains a model with as many parameters" \
        --torch "$TORCH_PYTHON" --arch llama
for name in kv memory ablation; do check "plot_$name" plot $name "$TMP/$name.csv"; done
for run in a b; do printf 'step,loss,val\n1,4,\n2,3,3.5\n3,2.5,\n' >"$TMP/$run.csv"; done
check "plot_training with two runs" \
    env MPLCONFIGDIR="$TMP" "$PYTHON" tools/plot_training.py \
    "$TMP/a.csv" "$TMP/b.csv" "$TMP/training.png"
check_fails "the error names a missing column" "no column 'machine'" \
    "$PYTHON" tools/plot_kv.py "$TMP/a.csv" "$TMP/x.png"
check_fails "the error names a missing CSV" "none.csv" \
    "$PYTHON" tools/plot_kv.py "$TMP/none.csv" "$TMP/x.png"
check_fails "a CSV of another program is not extended" "has other columns" \
    "$programs/kv" --csv "$TMP/memory.csv"
check_fails "--csv is required" "give --csv FILE" "$programs/kv"
check_fails "--runs must be a whole number" "--runs: 'x' is not a whole number" \
    "$programs/kv" --csv "$TMP/y.csv" --runs x
tap_done
