#!/usr/bin/env bash
# Benchmarks run, say what they measured, and their table takes it over. No time is judged.
. "$(dirname "$0")/../tap.sh"

bench=$B/bench/rmsnorm.solution
check_says "the benchmark of rmsnorm runs" "of copy" "$bench" --json "$TMP/figures.jsonl"
check_says "its figures are JSON with machine, code and bytes" "3 functions" \
    "$PYTHON" -c "
import json, sys
rows = [json.loads(line) for line in open('$TMP/figures.jsonl')]
assert all(row['code'] == 'solution' and row['device'] for row in rows)
assert all(row['bytes'] > 0 and row['ms'] > 0 and row['calls'] >= 30 for row in rows)
names = {row['function'].split()[0] for row in rows}
print(len(names), 'functions')"
check_fails "an unwritable file is named" "cannot write /dev/null/x" "$bench" --json /dev/null/x
check_fails "an unknown flag gets the usage" "usage:" "$bench" --fast

row='"device":"a card","GBs":3950.4,"copy_GBs":4200.0,"of_copy":0.9406'
echo "{\"function\":\"f\",\"dtype\":\"f32\",\"shape\":\"4x4\",\"code\":\"01_naive\",$row}" \
    >"$TMP/rows.jsonl"
printf 'before\n<!-- bench: f f32 4x4 -->\nold\n<!-- bench end -->\nafter\n' >"$TMP/guide.md"
cp "$TMP/guide.md" "$TMP/other.md"
sed -i 's/4x4/8x8/' "$TMP/other.md"
sed 's/"GBs":3950.4,/"TFLOPs":321.4,/; s/,"of_copy":[0-9.]*//; s/4x4/2x2/' "$TMP/rows.jsonl" >"$TMP/flops.jsonl"
sed 's/4x4/2x2/' "$TMP/guide.md" >"$TMP/flops.md"
table() { "$PYTHON" bench/table.py "$@"; }
check "the table takes the figures" table "$TMP/guide.md" "$TMP/rows.jsonl"
check_says "with the fraction, the speed and the rung" "| 01_naive | 0.94 (3950) |" cat "$TMP/guide.md"
check_says "and keeps what stands around it" "after" cat "$TMP/guide.md"
check "arithmetic is shown in its own unit" eval \
    'table "$TMP/flops.md" "$TMP/flops.jsonl" && grep -qF "| 01_naive | 321 TFLOP/s |" "$TMP/flops.md" && ! grep -q copy "$TMP/flops.md"'
echo "{\"function\":\"g\",\"dtype\":\"f32\",\"shape\":\"4x4\",\"code\":\"02_other\",$row}" \
    >>"$TMP/rows.jsonl"
printf '<!-- bench: g f32 4x4 -->\n<!-- bench end -->\n' >>"$TMP/guide.md"
check "a second table" table "$TMP/guide.md" "$TMP/rows.jsonl"
check "has the rungs of its functions" \
    [ "$(grep -c "^| 01_naive" "$TMP/guide.md") $(grep -c "^| 02_other" "$TMP/guide.md")" = "1 1" ]
check "and can be made again" table "$TMP/guide.md" "$TMP/rows.jsonl"
check_fails "a column without figures is named" "no row \`f f32 8x8\`" \
    table "$TMP/other.md" "$TMP/rows.jsonl"
check_fails "a guide without a place for it is named" "has no" table CONTRIBUTING.md "$TMP/rows.jsonl"
check_fails "missing figures are named" "no.jsonl" table "$TMP/guide.md" "$TMP/no.jsonl"

# A lab of two parts, and a rung that has one of the two functions.
. "$(dirname "$0")/../labs/tiny.sh"
tiny_tree
mkdir -p "$tree/bench" "$tree/solutions/lab01_twice/ladder"
cp bench/kernels.* "$tree/bench/"
for part in forward backward; do
    tiny_source twice 2 0.5 $part | sed 's/^int threads/static &/; s/^__constant__/static &/; /if (calls/d' \
        >"$tree/solutions/lab01_twice/$part.cu"
done
cp "$tree/solutions/lab01_twice/forward.cu" "$tree/solutions/lab01_twice/ladder/01_naive.cu"
cat >"$tree/bench/twice.c" <<'E2'
#include "twice.h"
#include "kernels.h"
static float *x, *y;
static wb_status forward(const void *n) { return twice_forward_f32(y, x, *(const int *)n, 0); }
static wb_status backward(const void *n) { return twice_backward_f32(y, x, *(const int *)n, 0); }
void bench_op(void)
{
    int n = 1000;
    x = bench_tensor(BENCH_F32, n), y = bench_tensor(BENCH_F32, n);
    bench_row("twice_forward", BENCH_F32, "1000", 8e3, forward, &n);
    bench_flops("twice_arithmetic", BENCH_F32, "1000", 2e3, forward, &n);
    bench_row("twice_backward", BENCH_F32, "1000", 8e3, backward, &n);
}
E2
check "every rung of a lab of two parts is run" \
    sh -c "cd '$tree' && make -s bench-twice BACKEND=$BACKEND >'$TMP/said'"
measured() { grep -c "\"function\":\"twice_$1\",\"code\":\"$2\"" "$tree/$B/bench/twice.jsonl"; }
check "the solution has both functions" \
    [ "$(measured forward solution)$(measured backward solution)" = 11 ]
check "and a row of arithmetic" grep -qE "twice_arithmetic .* TFLOP/s" "$TMP/said"
check "the rung has one" [ "$(measured forward 01_naive)$(measured backward 01_naive)" = 10 ]
check "and says so of the other" grep -qE "twice_backward .*WB_TODO" "$TMP/said"
# The engine beside transformers: ours and its floors need no torch, the peers do.
beside() { "$1" bench/peers_recurrentgemma.py --json "$TMP/beside.jsonl" "${@:2}"; }
check_says "RecurrentGemma's times stand below their floors" "2x5x4          ours" \
    beside "$PYTHON" --program "$B/recurrentgemma" --model tests/recurrentgemma/tiny \
    --cases 2x5x4 --sides ""
check "its figures are JSON: times, and what the floors are made of" "$PYTHON" -c "
import json
row, = map(json.loads, open('$TMP/beside.jsonl'))
weights = $(stat -c %s tests/recurrentgemma/tiny/model.safetensors)
assert 0.9 * weights < row['step_bytes'] < 1.1 * weights, (row, weights)
assert min(row[n] for n in ('prefill_ms', 'step_ms', 'prefill_flops', 'copy_GBs')) > 0
assert (row['rows'], row['read'], row['written']) == (2, 5, 4)"
check_fails "a folder that is not there is named" "none/config.json" \
    beside "$PYTHON" --model "$TMP/none"
check_fails "an unknown side is named" "there are eager and compile" \
    beside "$PYTHON" --tiny --sides jax
torch=${PYTHON_TORCH:-$PYTHON}
if "$torch" -c 'import torch, transformers' 2>/dev/null; then
    check_says "transformers reads and writes a tiny model" "2x12x6         eager" \
        beside "$torch" --tiny --sides eager
else
    skip "transformers reads and writes a tiny model" "$torch has no torch and transformers"
fi
tap_done
