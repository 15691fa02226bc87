#!/usr/bin/env bash
# The command line of ./grade, its exit codes, and the files that it writes.
. "$(dirname "$0")/../tap.sh"
. tests/mutants/mutants.sh
mutants_begin
export BUILD=$TMP/build

# --- before anything is built -----------------------------------------------------------
check "help" says "--timeout-scale" ./grade --help
check "an unknown option is one line, exit 2" exits 2 ./grade lab03 --frobnicate
check "an unknown lab names the labs" says "the labs are lab00" ./grade lab99
check "an unknown lab: exit 2" exits 2 ./grade lab99
check "an option without its value: exit 2" exits 2 ./grade lab03 --seed
check "a seed that is not a number: exit 2" exits 2 ./grade lab03 --seed x1
check "a scale that is not a number: exit 2" exits 2 ./grade lab03 --timeout-scale 0
check "also in the environment" says "TIMEOUT_SCALE x: expected a number" env TIMEOUT_SCALE=x ./grade lab03
check "two labs: exit 2" exits 2 ./grade lab03 lab04
check "not built: says make lab03" says "lab03 is not built in" ./grade lab03
check "not built: exit 2" exits 2 ./grade lab03
check "no grader built: says so" says "the grader is not built in $TMP/none" \
    env BUILD="$TMP/none" ./grade lab03
check "no grader built: exit 2" exits 2 env BUILD="$TMP/none" ./grade lab03
check "--list needs no build" says "rmsnorm_forward_f32: the formula" ./grade lab03 --list
check "--list -k" says "a vector loop without its scalar tail" ./grade lab03 --list -k tail
check "the board before anything is graded" says "not graded yet: make lab03" ./grade
check "labs answer to their number and their name" says "03.2" ./grade 3 --list
check "the same by name" says "03.2" ./grade rmsnorm --list

# --- the solution in the lab's place ----------------------------------------------------
mkdir -p "$TMP/source"
cat solutions/lab03_rmsnorm/*.cu >"$TMP/source/rmsnorm.cu"  # one file with all parts
cp solutions/lab03_rmsnorm/*.cuh "$TMP/source/"
check "builds a FILE" mutant_make lab03 "$TMP/source/rmsnorm.cu" checked
check "full score: exit 0" exits 0 ./grade lab03 --first --json "$TMP/r.json"
check "says that a FILE does not count as a pass" says "does not count as a pass" ./grade lab03 -k basic
check "a FILE leaves no receipt" test ! -e "$TMP/build/passed/lab03.json"
check "JSON" json "$TMP/r.json" \
    "r['score'] == r['of'] == 100 and all(c['verdict'] == 'pass' for c in r['cases'])"
check "other seeds pass too" says "Score: 9/9" ./grade lab03 -k basic,tail --seed 77
check "no case matches: exit 2" exits 2 ./grade lab03 -k nothing
check "no colours without a terminal" sh -c "! ./grade lab03 -k basic | grep -q '$(printf '\033')'"
check "colours on a terminal" sh -c "script -qec './grade lab03 -k basic' /dev/null | grep -q '$(printf '\033')'"
check "NO_COLOR turns them off" sh -c "! NO_COLOR=1 script -qec './grade lab03 -k basic' /dev/null | grep -q '$(printf '\033')'"

# --- under a command --------------------------------------------------------------------
cat >"$TMP/wrapper" <<'END'
#!/bin/sh
# takes the place of a sanitizer: runs the program, prints $SUMMARY, exits with $CODE
"$@" || exit
echo "a finding"
echo "========= $SUMMARY"
exit ${CODE:-0}
END
chmod +x "$TMP/wrapper"
mkdir "$TMP/tools"
cp "$TMP/wrapper" "$TMP/tools/compute-sanitizer"
under() { # SUMMARY CODE COMMAND...
    SUMMARY=$1 CODE=$2 PATH=$TMP/tools:$PATH ./grade lab03 -k basic --seed 0x5eed \
        --no-sandbox --under "$3"
}
check "a FILE does not run outside the sandbox without being asked" \
    exits 2 ./grade lab03 -k basic --under env
check "and says what to add" says "Add --no-sandbox" ./grade lab03 -k basic --under env
check "under env: clean" under "" 0 "env A=1"
check "says that there is no sandbox" says "sandbox: off (--under)" under "" 0 env
check "no errors: exit 0" exits 0 under "ERROR SUMMARY: 0 errors" 0 "$TMP/wrapper"
check "the summary is shown" says "========= ERROR SUMMARY: 0 errors" \
    under "ERROR SUMMARY: 0 errors" 0 "$TMP/wrapper"
check "and nothing else" sh -c "! grep -q 'a finding' '$TMP/.said'"
check "errors: exit 1" exits 1 under "ERROR SUMMARY: 12 errors" 0 "$TMP/wrapper"
check "errors: says how many" says "found 12 errors" \
    under "ERROR SUMMARY: 12 errors" 0 "nice $TMP/wrapper"
check "and shows what was printed" grep -q 'a finding' "$TMP/.said"
check "hazards without errors: exit 0" \
    exits 0 under "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" 0 compute-sanitizer
check "a race: exit 1" \
    exits 1 under "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)" 0 compute-sanitizer
check "the command's own failure: exit 1" exits 1 under "ERROR SUMMARY: 0 errors" 9 "$TMP/wrapper"
check "and says so" says "exited with code 9" under "ERROR SUMMARY: 0 errors" 9 "$TMP/wrapper"
check "a sanitizer without a summary is not clean" exits 1 under "" 0 compute-sanitizer
check "and says so" says "printed no summary" under "" 0 compute-sanitizer
check "no such command: exit 2" exits 2 under "" 0 no-such-command
check "and is named" says "cannot start no-such-command" under "" 0 no-such-command
check "a command that runs something else: exit 2" exits 2 under "" 0 true
check "no command: exit 2" exits 2 under "" 0 " "

# --- outputs saved and compared ---------------------------------------------------------
compare() { "$PYTHON" tools/compare_backends.py "$@"; }
check "saves outputs" exits 0 ./grade lab03 -k basic,bf16 --seed 0x5eed --save "$TMP/saved/a"
./grade lab03 -k basic,bf16 --seed 0x5eed --save "$TMP/saved/b" >"$TMP/.out"
check "within the tolerance of the reference: the layout is right" "$PYTHON" -c "
import glob, numpy as np, safetensors.numpy as s
got = s.load_file('$TMP/saved/a/lab03.basic.safetensors')
want = [s.load_file(f) for f in glob.glob('build/data/lab03/*/basic.a.want.safetensors')]
assert got['out'].dtype == np.float32 and got['out'].shape == (4, 64)
assert any(all((abs(got[k] - w[k]) <= w[k + '.tol']).all() for k in got) for w in want)"
check "two equal runs do not differ" says \
    "| lab03 | rmsnorm_forward_bf16 | BF16 | 299349 | 0 | 0 ulps | - |" compare "$TMP/saved/a" "$TMP/saved/b"
check "in either function" says \
    "| lab03 | rmsnorm_forward_f32 | F32 | 260 | 0 | 0 ulps | - |" compare "$TMP/saved/a" "$TMP/saved/b"
change() { # CASE OUTPUT ELEMENT EXPRESSION: new bits of one element, whose bits are v
    "$PYTHON" -c "
import json, struct, sys, numpy as np
data = bytearray(open('$TMP/saved/b/lab03.$1.safetensors', 'rb').read())
n, = struct.unpack_from('<Q', data)
t = json.loads(data[8:8 + n])['$2']
bits = np.frombuffer(data, {'F32': '<i4', 'BF16': '<i2'}[t['dtype']],
                     t['shape'][0] * t['shape'][1], 8 + n + t['data_offsets'][0])
v = int(bits[$3])
bits[$3] = $4
open('$TMP/saved/b/lab03.$1.safetensors', 'wb').write(data)"
}
change basic out 70 "v + 3"
change basic out 80 "v - 1"
change bf16@1 out 1001 "v + 2"
check "changed elements are counted and found" says \
    "| lab03 | rmsnorm_forward_f32 | F32 | 260 | 2 | 3 ulps | basic: out [1, 6] |" \
    compare "$TMP/saved/a" "$TMP/saved/b"
check "in their own dtype" says \
    "| lab03 | rmsnorm_forward_bf16 | BF16 | 299349 | 1 | 2 ulps | bf16@1: out [1, 0] |" \
    compare "$TMP/saved/a" "$TMP/saved/b"
change bf16@1 out 0 0x7fc0
check "a NaN is not counted in ulps" says "NaN in one only | bf16@1: out [0, 0]" \
    compare "$TMP/saved/a" "$TMP/saved/b"
rm "$TMP/saved/b/lab03.bf16@1.safetensors"
check "a file in one folder only is named" says "Only in $TMP/saved/a: lab03.bf16@1.safetensors" \
    compare "$TMP/saved/a" "$TMP/saved/b"
./grade lab03 -k basic --seed 77 --save "$TMP/saved/b" >"$TMP/.out"
check "runs with different seeds are not compared" says "basic.safetensors has seed 0x" compare "$TMP/saved/a" "$TMP/saved/b"
check "different seeds: exit 2" exits 2 compare "$TMP/saved/a" "$TMP/saved/b"
echo >"$TMP/saved/b/lab03.basic.safetensors"
check "a damaged file: exit 2" exits 2 compare "$TMP/saved/a" "$TMP/saved/b"
check "no folder: exit 2" exits 2 compare "$TMP/saved/a" "$TMP/none"
check "a folder that cannot be created: exit 2" exits 2 ./grade lab03 -k basic --save "$TMP/wrapper/x"

echo >>"$TMP/source/rmsnorm.cu"
check "a stale build names the file" says "rmsnorm.cu changed since lab03 was built: run \`make lab03\`" \
    ./grade lab03
check "a stale build: exit 2" exits 2 ./grade lab03

# --- exit codes of wrong programs -------------------------------------------------------
wrong() { # THREAT
    "$PYTHON" tests/mutants/edit.py tests/grader/naive.cu "tests/grader/threats/$1.edit" \
        "$TMP/source/rmsnorm.cu" && mutant_make lab03 "$TMP/source/rmsnorm.cu" >"$TMP/.make" 2>&1
}
wrong zeros && check "less than full: exit 1" exits 1 ./grade lab03 -k basic --json "$TMP/r.json"
check "JSON of a failure has the findings" json "$TMP/r.json" \
    "r['exit'] == 1 and r['cases'][0]['wrong'] == 256 and 'always 0' in str(r['cases'][0]['findings'])"
wrong one_width && check "a variant that fails: exit 1" \
    exits 1 ./grade lab03 -k widths --json "$TMP/r.json" --save "$TMP/saved/c"
check "its replay is that of the case" grep -q 'replay: ./grade lab03 -k widths --seed' "$TMP/.last"
check "JSON names it" json "$TMP/r.json" \
    "[f for f in r['cases'][0]['findings'] if 'with ' in f][0].startswith('with C=516: out: 12 of')"
check "the variants before it are saved, and it" test -e "$TMP/saved/c/lab03.widths@20.safetensors"
check "the first variants alone: full points" says "(of the first variants; " \
    ./grade lab03 -k widths --first
check "those after it do not run" test ! -e "$TMP/saved/c/lab03.widths@21.safetensors"
wrong abort && check "crashed under a command: exit 3" exits 3 under "" 0 "$TMP/wrapper"
check "crashed: exit 3" exits 3 ./grade lab03 -k basic
check "a crash costs only its own case" sh -c "[ \$(./grade lab03 -k eps,offset | grep -c 'abort (a') = 2 ]"
wrong spins && check "timed out: exit 4" exits 4 env TIMEOUT_SCALE=0.05 ./grade lab03 -k basic
check "a file with one function: the others are skipped, by name" \
    says "rmsnorm_backward_f32 is not in this file" ./grade lab03 -k dx --timeout-scale 0.05

# --- a pass of the learner's own: receipts, the board, hints ----------------------------
mkdir "$TMP/tree"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs solutions reference \
    common grader tools grade requirements.txt | xargs -0 cp -p --parents -t "$TMP/tree"
reuse_builds "$TMP/tree"
mkdir -p build/data && ln -s "$PWD/build/data" "$TMP/tree/build/"
cd "$TMP/tree" || exit 1
unset BUILD
own_make() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s BACKEND="$BACKEND" OPT="$QUICK" lab03; }
receipt=build/$BACKEND/passed/lab03.json
check "builds a starter" own_make
check "a starter: less than full, exit 1" exits 1 ./grade lab03
check "a starter is not written yet" says "(not written yet: rmsnorm_forward_f32)" ./grade lab03 -k basic
check "an unwritten part is one line" says "== Part 03.4, 10 cases ==                      TODO 0/16" ./grade lab03
check "so is one that builds on it" grep -q '^== Part 03.5, 8 cases ==  *SKIP 0/15 ' "$TMP/.said"
check "the whole report has one line per part" [ "$(grep -c '^==' "$TMP/.said")" = 5 ]
check "--stop: the first failure alone" says "Score: 0/5      stopped at the first failure" ./grade lab03 --stop
check "no receipt" test ! -e "$receipt"
check "the board has the score" says "0/100  see: ./grade lab03" ./grade
if [ -e labs/lab03_rmsnorm/hints.md ]; then
    check "the first hint" says "Hint 1 of" ./grade lab03 --hint
    check "the next hint" says "Hint 2 of" ./grade lab03 --hint
    check "a hint by number" says "Hint 1 of" ./grade lab03 --hint 1
    check "a part's hint" says "Hint 1 of 3 for part 03.2" ./grade lab03 --hint 03.2
    check "a part's hint by number" says "Hint 3 of 3 for part 03.2" ./grade lab03 --hint 03.2 3
    complains 2 "no such part" "lab03 has no part '03.9'" ./grade lab03 --hint 03.9
fi
cp solutions/lab03_rmsnorm/*.cu* labs/lab03_rmsnorm/
check "an edited lab is stale" exits 2 ./grade lab03
check "builds the finished lab" own_make
check "some of the cases leave no receipt" exits 0 ./grade lab03 -k basic
check "there still is none" test ! -e "$receipt"
check "full score under a command: exit 0" exits 0 ./grade lab03 --first --under env
check "but no receipt" test ! -e "$receipt"
check "full score of the lab: exit 0" exits 0 ./grade lab03
check "the receipt has every function" json "$receipt" \
    "len(r['functions']) == 12 and 'labs/lab03_rmsnorm/rmsnorm.cu' in r['files']"
[ ! -e labs/lab03_rmsnorm/hints.md ] ||
    check "hints after passing, too" says "Hint 1 of 3 for part 03.4" ./grade lab03 --hint 03.4
check "the name of a case selects it alone" says "Score: 4/4" ./grade lab03 -k dx
check "the board says passed" says "100/100  passed" ./grade
sed -i 's/squares = add_squares(squares, /squares = add_squares(squares + 0.01f, /' labs/lab03_rmsnorm/rmsnorm.cu
check "the board notices the edit" says "changed since: labs/lab03_rmsnorm/rmsnorm.cu" ./grade
# right, but x is read a second time, after it was copied to shared memory
sed -i 's/read_slot<E>(a\[k\], from + k \* s.stride);/to_float<E, N>(a[k], load_raw<E, N>(in.x, (size_t)row * in.vecs + first + k * step));/' \
    labs/lab03_rmsnorm/backward_rows.cuh
check "builds the broken lab" own_make
check "a broken function: exit 1" exits 1 ./grade lab03
check "a bound that does not hold" says "structure: x is read" ./grade lab03 -k back_once
check "the receipt keeps the others, whatever their structure" json "$receipt" \
    "'rmsnorm_forward_f32' not in r['functions'] and 'rmsnorm_backward_f32' in r['functions']"

# --- the exercise itself ----------------------------------------------------------------
check "a reference that fails: exit 5" exits 5 env PYTHON=false ./grade lab03 -k basic --seed 99
check "and says that it was the reference" says "the reference failed" \
    env PYTHON=false ./grade lab03 -k basic --seed 99
sed -i 's/^basic *03.1 5/basic 03.1 6/' labs/lab03_rmsnorm/cases
check "a bad cases file: exit 5" exits 5 ./grade lab03
check "its error is named" says "labs/lab03_rmsnorm/cases: the points add up to 101, not 100" ./grade lab03
echo "x y" >>labs/lab03_rmsnorm/cases
check "with file and line" says "labs/lab03_rmsnorm/cases:$(wc -l <labs/lab03_rmsnorm/cases): a case is: name part" ./grade lab03
tap_done
