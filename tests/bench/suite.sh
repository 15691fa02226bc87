#!/usr/bin/env bash
# Benchmarks run and report their figures, and table.py writes these into guides. No time
# is asserted.
. "$(dirname "$0")/../tap.sh"

bench=$B/bench/rmsnorm.solution
check_says "the benchmark of rmsnorm runs" "of copy" "$bench" --json "$TMP/figures.jsonl"
check_says "its figures are JSON with device, code and bytes" "3 functions" \
    "$PYTHON" -c "
import json, sys
rows = [json.loads(line) for line in open('$TMP/figures.jsonl')]
assert all(row['code'] == 'solution' and row['device'] for row in rows)
assert all(row['bytes'] > 0 and row['ms'] > 0 and row['calls'] >= 30 for row in rows)
names = {row['function'].split()[0] for row in rows}
print(len(names), 'functions')"
check_fails "the error names a file that cannot be written" "cannot write /dev/null/x" \
    "$bench" --json /dev/null/x
check_says "--once calls the chosen functions once" \
    "rmsnorm_forward            f32  64x4096      WB_OK" "$bench" --once "forward f32 64x4096"
check_fails "an unknown option prints the usage" "usage:" "$bench" --fast

row='"device":"a GPU","GBs":3950.4,"copy_GBs":4200.0,"of_copy":0.9406'
figures() { # FUNCTION CODE
    echo "{\"function\":\"$1\",\"dtype\":\"f32\",\"shape\":\"4x4\",\"code\":\"$2\",$row}"
}
figures f 01_naive >"$TMP/rows.jsonl"
printf 'before\n<!-- bench: f f32 4x4 -->\nold\n<!-- bench end -->\nafter\n' \
    >"$TMP/guide.md"
cp "$TMP/guide.md" "$TMP/other.md"
sed -i 's/4x4/8x8/' "$TMP/other.md"
sed 's/"GBs":3950.4,/"TFLOPs":321.4,/; s/,"of_copy":[0-9.]*//; s/4x4/2x2/' \
    "$TMP/rows.jsonl" >"$TMP/flops.jsonl"
sed 's/4x4/2x2/' "$TMP/guide.md" >"$TMP/flops.md"
table() { "$PYTHON" bench/table.py "$@"; }
check "the table is filled in" table "$TMP/guide.md" "$TMP/rows.jsonl"
check_says "the table shows rung, fraction of copy and bandwidth" \
    "| 01_naive | 0.94 (3950) |" cat "$TMP/guide.md"
check_says "the text around the table is unchanged" "after" cat "$TMP/guide.md"
in_tflops() {
    table "$TMP/flops.md" "$TMP/flops.jsonl" &&
        grep -qF "| 01_naive | 321 TFLOP/s |" "$TMP/flops.md" &&
        ! grep -q copy "$TMP/flops.md"
}
check "arithmetic is shown in TFLOP/s" in_tflops
cat >"$TMP/counted.jsonl" <<'E2'
{"counted": "f f32 2x2", "code": "01_naive", "requests": 2000, "sectors": 8000, "ideal": 4000, "least": 65536, "conflict": 4, "barriers": 3, "blocks": 2}
{"counted": "f f32 2x2", "code": "solution", "requests": 500, "sectors": 1000, "ideal": 1000, "least": 64000, "conflict": null, "barriers": 0, "blocks": 2}
E2
printf '<!-- bench: f f32 4x4 | counted f f32 2x2 -->\n<!-- bench end -->\n' >"$TMP/both.md"
check "counts go next to the measured column" \
    table "$TMP/both.md" "$TMP/rows.jsonl" "$TMP/counted.jsonl"
check_says "  sectors, bytes moved, conflicts and barriers" \
    "| 01_naive | 0.94 (3950) | 2,000 | 4.0 (2.0) | 4.00 | 4.0-way | 1.5 |" cat "$TMP/both.md"
check_says "  of a rung that was not measured, too" \
    "| solution |  | 500 | 2.0 (2.0) | 0.50 | – | 0 |" cat "$TMP/both.md"
check_fails "  the error names the command that counts" "make bench-counted-" \
    table "$TMP/both.md" "$TMP/rows.jsonl"
figures g 02_other >>"$TMP/rows.jsonl"
printf '<!-- bench: g f32 4x4 -->\n<!-- bench end -->\n' >>"$TMP/guide.md"
check "a second table is filled in" table "$TMP/guide.md" "$TMP/rows.jsonl"
rungs() { grep -c "^| $1" "$TMP/guide.md"; }
check "each table has the rungs of its function" \
    [ "$(rungs 01_naive) $(rungs 02_other)" = "1 1" ]
check "the tables can be filled in again" table "$TMP/guide.md" "$TMP/rows.jsonl"
check_fails "the error names a column without figures" "no row \`f f32 8x8\`" \
    table "$TMP/other.md" "$TMP/rows.jsonl"
check_fails "a page without a table is an error" "has no" \
    table CONTRIBUTING.md "$TMP/rows.jsonl"
check_fails "the error names a missing file" "no.jsonl" \
    table "$TMP/guide.md" "$TMP/no.jsonl"

# A lab with two parts, and a rung with only one of the two functions.
. "$(dirname "$0")/../labs/tiny.sh"
tiny_tree
solution=$tree/solutions/lab01_twice
mkdir -p "$tree/bench" "$solution/ladder"
cp bench/kernels.* "$tree/bench/"
for part in forward backward; do
    tiny_source twice 2 0.5 $part |
        sed 's/^int threads/static &/; s/^__constant__/static &/; /if (calls/d' \
        >"$solution/$part.cu"
done
cp "$solution/forward.cu" "$solution/ladder/01_naive.cu"
cat >"$tree/bench/twice.c" <<'E2'
#include "twice.h"
#include "kernels.h"
static float *x, *y;
static wb_status forward(const void *n)
{
    return twice_forward_f32(y, x, *(const int *)n, 0);
}
static wb_status backward(const void *n)
{
    return twice_backward_f32(y, x, *(const int *)n, 0);
}
void bench_op(void)
{
    int n = 1000;
    x = bench_tensor(BENCH_F32, n), y = bench_tensor(BENCH_F32, n);
    bench_row("twice_forward", BENCH_F32, "1000", 8e3, forward, &n);
    bench_flops("twice_arithmetic", BENCH_F32, "1000", 2e3, forward, &n);
    bench_row("twice_backward", BENCH_F32, "1000", 8e3, backward, &n);
}
E2
check "every rung of a lab with two parts is measured" \
    sh -c "cd '$tree' && make -s bench-twice BACKEND=$BACKEND >'$TMP/output'"
measured() { # FUNCTION CODE
    grep -c "\"function\":\"twice_$1\",\"code\":\"$2\"" "$tree/$B/bench/twice.jsonl"
}
check "the solution has both functions" \
    [ "$(measured forward solution)$(measured backward solution)" = 11 ]
check "arithmetic has a row in TFLOP/s" \
    grep -qE "twice_arithmetic .* TFLOP/s" "$TMP/output"
check "the rung has only one function" \
    [ "$(measured forward 01_naive)$(measured backward 01_naive)" = 10 ]
check "the other is reported as not written" \
    grep -qE "twice_backward .*WB_TODO" "$TMP/output"

# The engine compared with transformers. The engine and its lower bounds need no torch.
compare() {
    "$1" bench/peers_recurrentgemma.py --json "$TMP/compare.jsonl" "${@:2}"
}
check_says "RecurrentGemma's times are printed with their lower bounds" \
    "2x5x4          ours" \
    compare "$PYTHON" --program "$B/recurrentgemma" --model tests/recurrentgemma/tiny \
    --cases 2x5x4 --sides ""
check "its figures are JSON: times, and what the lower bounds are computed from" \
    "$PYTHON" -c "
import json
row, = map(json.loads, open('$TMP/compare.jsonl'))
weights = $(stat -c %s tests/recurrentgemma/tiny/model.safetensors)
assert 0.9 * weights < row['step_bytes'] < 1.1 * weights, (row, weights)
assert min(row[n] for n in ('prefill_ms', 'step_ms', 'prefill_flops', 'copy_GBs')) > 0
assert (row['rows'], row['read'], row['written']) == (2, 5, 4)"
check_fails "the error names a missing folder" "none/config.json" \
    compare "$PYTHON" --model "$TMP/none"
check_fails "an unknown side is an error" "give eager, compile or both" \
    compare "$PYTHON" --tiny --sides jax

# Inference on the CPU compared with transformers; our side alone needs no torch.
compare_cpu() { # PYTHON OPTIONS...
    "$1" bench/peers_cpu.py --program "$B/bench/inference/inference" \
        --random "$B/recurrentgemma-random" --folders "$TMP/models" --models tiny \
        --rounds 1 --json "$TMP/cpu.jsonl" "${@:2}"
}
if [ "$BACKEND" = cpu ]; then
    check_says "inference on the CPU is timed on one thread and on two" \
        "tiny      bf16   2 wall ours" compare_cpu "$PYTHON" --alone
    check "its figures are JSON, with the bytes of the weights" "$PYTHON" -c "
import json
rows = list(map(json.loads, open('$TMP/cpu.jsonl')))
assert [(r['dtype'], r['threads']) for r in rows] == [
    ('f32', 1), ('f32', 2), ('bf16', 1), ('bf16', 2)]
assert rows[0]['step_bytes'] == 2 * rows[2]['step_bytes'] > 1e5, rows
assert all(r['prefill_ms'] > 0 and r['step_ms'] > 0 for r in rows)"
fi
if [ -n "${TORCH_PYTHON:-}" ]; then
    check_says "transformers runs a tiny model" "2x12x6         eager" \
        compare "$TORCH_PYTHON" --tiny --sides eager
    [ "$BACKEND" = cpu ] && check_says "both sides sample the same tokens in f32" "5/5" \
        compare_cpu "$TORCH_PYTHON" --dtypes f32 --threads 1
fi
tap_done
