#!/bin/sh
# The references: their gradients, what they share, and a dump that refuses bad cases.
. "$(dirname "$0")/../tap.sh"

# Every reference checks itself when it is run and prints TAP lines.
for file in reference/*.py tests/reference/check_*.py; do
    case $file in reference/wb.py | reference/dump.py) continue ;; esac
    module=$(basename "$file" .py)
    if [ "$file" = "reference/$module.py" ] && ! grep -q '__name__ == "__main__"' "$file"; then
        check "$file, a part of another, is used" \
            grep -qE "^(from|import) $module\b" reference/*.py
        continue
    fi
    if "$PYTHON" "$file" >"$TMP/tap" 2>"$TMP/err" && grep -q '^ok' "$TMP/tap"; then
        grep '^ok' "$TMP/tap"
    else
        grep '^ok' "$TMP/tap"
        grep '^not ok' "$TMP/tap" || echo "not ok - $file ends without a failed check"
        sed 's/^/# /' "$TMP/err" | tail -5
        tap_failed=1
    fi
done

# A lab's cases: complete, 100 points, and able to tell wrong results from right ones. The
# suites of the labs make their data with the same program, for another seed.
for lab in lab00 lab03; do
    check "the cases of $lab tell wrong results from right ones" \
        "$PYTHON" reference/dump.py $lab --seed 0xfeed --out "$TMP/feed"
done
check "other accounts may read the data" [ "$(stat -c %A "$TMP/feed/add.a.in.safetensors" | cut -c8)" = r ]

dump() { "$PYTHON" reference/dump.py lab03 --out "$TMP/out" "$@"; }

# bad WHAT WORDS LINE...: a cases file of these lines is refused with these words
bad() {
    what=$1 words=$2; shift 2
    printf '%s\n' "$@" >"$TMP/cases"
    check_fails "a cases file with $what is refused" "$words" dump --cases "$TMP/cases"
}

good='a 03.1 5 rmsnorm_forward R=4 C=8 ; - ; x'
bad "an unknown function" "lacks rmsnorm_foward" 'a 03.1 5 rmsnorm_foward R=4 C=8 ; - ; x'
bad "an unknown key" "the keys are: R, C, eps" 'a 03.1 5 rmsnorm_forward R=4 C=8 D=2 ; - ; x'
bad "a missing size" "missing a required argument: 'C'" 'a 03.1 5 rmsnorm_forward R=4 ; - ; x'
bad "a missing field" "a case is: name part" 'a 03.1 5 rmsnorm_forward R=4 C=8'
bad "an unknown dtype" "use f32, f16 or bf16" 'a 03.1 5 rmsnorm_forward R=4 C=8 dtype=f8 ; - ; x'
bad "points that are not a number" "not a whole number: five" 'a 03.1 five rmsnorm_forward R=4 C=8 ; - ; x'
bad "a name twice" "appears twice" "$good" "$good"
bad "a need that comes later" "needs b, which is not an earlier case" 'a 03.1 5 rmsnorm_forward R=4 C=8 ; b ; x'
bad "an unknown output" "judge=dy: no output" 'a 03.3 5 rmsnorm_backward R=4 C=8 judge=dy ; - ; x'
bad "an argument off alignment that is not there" "off=y: no such argument" \
    'a 03.1 5 rmsnorm_forward R=4 C=8 off=y ; - ; x'
bad "a bad scalar that is not there" "bad=D: no such scalar" \
    'a 03.1 5 rmsnorm_forward R=4 C=8 bad=D:1 status=WB_BAD_SHAPE ; - ; x'
bad "a bad scalar without a status" "bad=C: no such scalar, or no status=" \
    'a 03.1 5 rmsnorm_forward R=4 C=8 bad=C:0 ; - ; x'
bad "a bad argument that is not there" "bad=y: no such argument" \
    'a 03.1 5 rmsnorm_forward R=4 C=8 bad=y:null status=WB_BAD_SHAPE ; - ; x'
bad "a scalar that is NULL" "bad=C: no such argument" \
    'a 03.1 5 rmsnorm_forward R=4 C=8 bad=C:null status=WB_BAD_SHAPE ; - ; x'
bad "NULL without a status" "bad=x: no such argument, or no status=" \
    'a 03.1 5 rmsnorm_forward R=4 C=8 bad=x:null ; - ; x'
bad "an empty alternative" "an alternative is empty" 'a 03.1 5 rmsnorm_forward R=4 C=8| ; - ; x'
bad "too many variants" "72 variants, more than 64" \
    'a 03.1 5 rmsnorm_forward R=1|2|3|4|5|6 C=1|2|3|4|5|6 rstd=0|1 ; - ; x'
bad "an error in a variant, which is named" "cases:1 with C=9 rstd=0: " \
    'a 03.1 5 rmsnorm_forward R=4 C=9|8 rstd=1|0 judge=rstd ; - ; x'
bad "a value that overflows" "is not finite" 'a 03.1 5 rmsnorm_forward R=4 C=8 scale=1e300 ; - ; x'
bad "values below the tolerance" "not well above its tolerance" \
    'a 03.1 5 rmsnorm_forward dtype=f16 R=4 C=8 scale=1e-7 eps=1 ; - ; x'
dry='03.1 5 rmsnorm_forward dry=1 R=9'
bad "a dry case without a size" "rmsnorm_forward needs C=..." "a $dry ; - ; x"
bad "a dry case with an unknown key" "rmsnorm_forward has no N" "a $dry C=8 N=3 ; - ; x"
bad "a dry case that fills floats" "rmsnorm_forward has no x" "a $dry C=8 x=3 ; - ; x"
bad "a dry case that writes an unknown argument" "has no kcache" "a $dry C=8 writes=kcache ; - ; x"
bad "a dry case of an unknown function" "no header in" 'a 03.1 5 rms dry=1 R=9 ; - ; x'
bad "no case" "no case matches" '# nothing'

# Each variant has its own file, data and values.
variants() {
    printf '%s\n' "$good" \
        'b 03.1 5 rmsnorm_forward dtype=f16|bf16 R=4 C=8 bad=w:null|eps:0 status=WB_BAD_SHAPE ; - ; x' \
        >"$TMP/cases"
    rm -rf "$TMP/out" && dump --cases "$TMP/cases" && ls "$TMP/out" && "$PYTHON" -c "
import json, safetensors as s
for case in 'a', 'b@1', 'b@2', 'b@3', 'b@4':
    with s.safe_open(f'$TMP/out/{case}.a.in.safetensors', 'np') as f:
        call = json.loads(f.metadata()['call'])
        null = {a['name']: a['null'] for a in call['args']}
        print(case, call['dtype'], 'w is NULL' * null['w'], 'x is NULL' * null['x'],
              call['scalars']['eps'])
rows = [s.safe_open(f'$TMP/out/b@{i}.a.in.safetensors', 'np') for i in (1, 2)]
print('equal data' if (rows[0].get_tensor('x') == rows[1].get_tensor('x')).all() else 'other data')"
}
check_says "the first variant" "b@1 f16 w is NULL  9.99" variants
check_says "the last key varies fastest" "b@2 f16   0" variants
check_says "a dtype has alternatives too" "b@3 bf16 w is NULL" variants
check_says "variants have different data" "other data" variants
# The arguments of a dry case are those of the header. ld: the rows are tokens
shapes() {
    "$PYTHON" -c "
import sys; sys.path.insert(0, 'reference')
import dry
case = {'at': '', 'function': 'rope_forward', 'dtype': 'f16',
        'keys': dict(B=3, T=5, H=2, D=8, N=6, P=7, ld=20)}
for name, a in dry.make_call('labs/lab02_rope', case).args.items():
    print(name, a['role'], a['dtype'], a['shape'], a['stride'], 'null' * a['null'])
case = {'at': '', 'function': 'kv_append', 'dtype': 'f16',
        'keys': dict(B=3, T=1, S=5, K=1, D=8, pos=4, writes='kcache')}
call = dry.make_call('labs/lab07_kvcache', case)
print(call.args['kcache']['role'], call.args['vcache']['role'], call.buffers['pos']['bits'])"
}
check_says "a dry case's output" "out out f16 [15, 16] 20" shapes
check_says "a dry case's table" "cis in f32 [21, 2] 2" shapes
check_says "optional inputs are NULL" "pos in i32 [0] 0 null" shapes
check_says "a dry case fills integers, and names what is written" "out inout [4 4 4]" shapes
# A lab is refused if its cases are too weak (here the offset changes nothing) or lack
# points.
mkdir -p "$TMP/tree/labs" && cp -r reference "$TMP/tree" && cp -r labs/lab03_rmsnorm "$TMP/tree/labs"
weaken() { sed "$1" labs/lab03_rmsnorm/cases >"$TMP/tree/labs/lab03_rmsnorm/cases"; }
dump_tree() { "$PYTHON" "$TMP/tree/reference/dump.py" lab03 --out "$TMP/out"; }
cp labs/lab03_rmsnorm/cases "$TMP/tree/labs/lab03_rmsnorm"
sed -i 's/x \* r \* (offset + w)/x * r * w/' "$TMP/tree/reference/rmsnorm.py"
check_fails "cases that let a known mistake pass are refused" \
    "no case of rmsnorm_forward reveals mistake no_offset" dump_tree
cp reference/rmsnorm.py "$TMP/tree/reference"
weaken 's/^basic  *03.1 5/basic 03.1 4/'
check_fails "points that do not add up to 100 are refused" "the points add up to 99" dump_tree
check_fails "an unknown lab is named" "no lab 'lab99'" "$PYTHON" reference/dump.py lab99 --out "$TMP"
check_fails "a folder that cannot be created" "dump: " "$PYTHON" reference/dump.py lab03 --out /dev/null/x
tap_done
