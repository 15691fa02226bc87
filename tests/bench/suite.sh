#!/bin/sh
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
table() { "$PYTHON" bench/table.py "$@"; }
check "the table takes the figures" table "$TMP/guide.md" "$TMP/rows.jsonl"
check_says "with the fraction, the speed and the rung" "| 01_naive | 0.94 (3950) |" cat "$TMP/guide.md"
check_says "and keeps what stands around it" "after" cat "$TMP/guide.md"
check "and can be made again" table "$TMP/guide.md" "$TMP/rows.jsonl"
check_fails "a column without figures is named" "no row \`f f32 8x8\`" \
    table "$TMP/other.md" "$TMP/rows.jsonl"
check_fails "a guide without a place for it is named" "has no" table CONTRIBUTING.md "$TMP/rows.jsonl"
check_fails "missing figures are named" "no.jsonl" table "$TMP/guide.md" "$TMP/no.jsonl"
tap_done
