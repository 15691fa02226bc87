#!/usr/bin/env bash
# What ./grade does about code from elsewhere: seeds, private folders, locks, hashes, limits,
# refusals, and text that is not what it seems.
. "$(dirname "$0")/../tap.sh"
. tests/mutants/mutants.sh
mutants_begin
export BUILD=$TMP/build TMPDIR=$TMP/private
mkdir -p "$TMPDIR" "$TMP/source" "$BUILD/labs"

nothing_left() { [ -z "$(ls "$TMPDIR")" ] || { ls -R "$TMPDIR"; return 1; }; }
until_there() { # PATTERN: waits up to 20 s for a file
    for _ in $(seq 200); do
        ls $1 >"$TMP/.ls" 2>&1 && return 0
        sleep 0.1
    done
    return 1
}

# --- a lab's program that is not one ----------------------------------------------------
record() { # LAB KEY VALUE...: changes the record; values are Python
    "$PYTHON" - "$BUILD/labs/$1" "${@:2}" <<'END'
import hashlib, json, sys
path, *changes = sys.argv[1:]
try:
    record = json.load(open(path + ".json"))
except OSError:
    files = {"Makefile": hashlib.sha256(open("Makefile", "rb").read()).hexdigest()}
    record = {"backend": "cpu", "source": "stub.cu", "own": False, "trusted": False,
              "files": files, "defined": [], "missing": [], "breaches": []}
record["program"] = hashlib.sha256(open(path, "rb").read()).hexdigest()
for key, value in zip(changes[::2], changes[1::2]):
    record[key] = eval(value)
json.dump(record, open(path + ".json", "w"))
END
}
stub() { # LAB MODE KEY VALUE...
    rm -f "$BUILD/labs/$1.json"
    gcc -DMODE="$2" -Wall -Wextra -o "$BUILD/labs/$1" tests/grader/stub.c && record "$1" "${@:3}"
}
check "a program that cannot begin" stub lab03 CANNOT_BEGIN
check "from elsewhere: it is to blame, exit 3" exits 3 ./grade lab03 -k basic
check "and the report says how to tell" \
    says "if the solution says so too, the exercise is broken" ./grade lab03 -k basic
record lab03 trusted True
check "from this tree: the exercise is to blame, exit 5" exits 5 ./grade lab03 -k basic
stub lab03 EXITS
check "a program that cannot start, from elsewhere: exit 3" exits 3 ./grade lab03 -k basic
record lab03 trusted True
check "from this tree: exit 5" exits 5 ./grade lab03 -k basic
check "a record without the key is not trusted" record lab03 trusted None
check "the same, graded" exits 3 ./grade lab03 -k basic

# --- the whole grade, and each case, have a limit ---------------------------------------
stub lab06 WAITS trusted True
check "the whole grade has a limit: exit 4" exits 4 ./grade lab06 --timeout-scale 0.01
check "a case waits for 30 s, scaled" says "no answer within 0.3 s: stopped" cat "$TMP/.last"
check "what is left is not run" \
    says "not run: the whole grade took longer than 3 s" ./grade lab06 --timeout-scale 0.01

# --- the record and the program ---------------------------------------------------------
stub lab03 EXITS
echo >>"$BUILD/labs/lab03"
check "another program than was built: exit 2" exits 2 ./grade lab03 -k basic
check "and says so" says "is not what was built: run \`make lab03\` again" ./grade lab03 -k basic
record lab03 program None
check "a record without a hash: exit 2" exits 2 ./grade lab03 -k basic
echo '{"files": "\ud800"}' >"$BUILD/labs/lab03.json"
check "a damaged record: exit 2" exits 2 ./grade lab03
check "and says so" says "lab03.json is damaged" ./grade lab03
rm "$BUILD/labs/lab03.json"
check "a program without its record is not graded" exits 2 ./grade lab03
check "and is explained" says "or its last build failed: run \`make lab03\`" ./grade lab03

exchange() { # the program changes while it is graded
    stub lab03 WAITS || return
    ./grade lab03 -k basic --timeout-scale 0.1 >"$TMP/.during" 2>&1 &
    until_there "$TMPDIR/warpbook-*/data/basic.b.want*" || return
    cp "$BUILD/labs/lab03" "$TMP/other" && echo >>"$TMP/other"
    mv "$TMP/other" "$BUILD/labs/lab03"
    wait $!
}
check "a program that changes while it is graded: exit 2" exits 2 exchange
check "and says so" says "changed while it was graded" cat "$TMP/.during"
check "no result is shown" sh -c "! grep -q Score '$TMP/.during'"

locked() { # WORDS SECONDS OPTION: while the lock is held
    stub lab03 EXITS || return
    rm -f "$TMP/held"
    flock "$3" "$BUILD/labs/lab03.lock" sh -c "touch '$TMP/held'; sleep $2" &
    until_there "$TMP/held" || return
    ./grade lab03 -k basic >"$TMP/.during" 2>&1
    wait
    grep -qF "$1" "$TMP/.during"
}
check "waits while the lab is being built, and says so" \
    locked "lab03 is being built: waiting for it" 2.5 -x
check "then grades" says "== Test lab03/basic" cat "$TMP/.during"
check "two grades at the same time do not wait" sh -c "! grep -q waiting" <<<"$(
    locked Test 2.5 -s; cat "$TMP/.during")"

# --- private data -----------------------------------------------------------------------
stub lab03 EXITS
cached() { find build/data -maxdepth 2 -name 'seed-*' | sort; }
before=$(cached)
./grade lab03 -k basic --json "$TMP/1.json" >"$TMP/1"
./grade lab03 -k basic --json "$TMP/2.json" >"$TMP/2"
seed=$(sed -n 's/^seed: \(0x[0-9a-f]*\), .*/\1/p' "$TMP/1")
check "a random seed is printed" test -n "$seed"
check "and is in the JSON" json "$TMP/1.json" "r['seed'] == '$seed'"
check "the next run has another one" sh -c "! grep -q '$seed' '$TMP/2'"
check "a given seed is not random" sh -c "! ./grade lab03 -k basic --seed 77 | grep -q '^seed:'"
check "no data of it stays in the tree" test "$before" = "$(cached)"
check "nor outside" nothing_left
interrupted() { # SIGNAL: 0 if the private folder is gone
    stub lab03 WAITS || return
    (trap - INT; exec ./grade lab03 -k basic) >"$TMP/.during" 2>&1 &
    until_there "$TMPDIR/warpbook-*/data" || return
    kill "-$1" $!
    wait $!
    echo "exit $?"
    nothing_left
}
for signal in TERM HUP PIPE; do
    check "SIG$signal removes the private folder" interrupted $signal
done
check_fails "SIGKILL leaves it" data interrupted KILL
./grade lab03 -k basic --timeout-scale 0.01 >"$TMP/.during"
check "the next start removes it" nothing_left
mkdir "$TMP/kept" && touch "$TMP/kept/file"
ln -s "$TMP/kept" "$TMPDIR/warpbook-999999999-link"
./grade lab03 -k basic --timeout-scale 0.01 >"$TMP/.during"
check "a link is not followed" test -e "$TMP/kept/file"
rm -f "$TMPDIR"/*
check "a TMPDIR that does not exist: exit 5" \
    exits 5 env TMPDIR="$TMP/none" ./grade lab03 -k basic
refuses_first() { # a reference that refuses every seed but the third
    cat >"$TMP/python" <<END
#!/bin/sh
echo >>"$TMP/tries"
[ \$(wc -l <"$TMP/tries") -ge $1 ] && exec "$PWD/build/host/python" "\$@"
echo "dump: by chance"
exit 1
END
    chmod +x "$TMP/python"
    rm -f "$TMP/tries"
}
stub lab03 EXITS
refuses_first 3
check "a seed that the reference refuses is replaced" exits 3 env PYTHON="$TMP/python" ./grade lab03 -k basic
check "quietly" sh -c "! grep -q chance '$TMP/.last'"
refuses_first 3
check "a given seed is not" exits 5 env PYTHON="$TMP/python" ./grade lab03 -k basic --seed 5
refuses_first 100
check "a reference that refuses all: exit 5" exits 5 env PYTHON="$TMP/python" ./grade lab03 -k basic
check "its words" says "the reference failed: dump: by chance" cat "$TMP/.last"

# --- without a sandbox ------------------------------------------------------------------
old_kernel() { "$PYTHON" tests/grader/without.py 444 ./grade lab03 -k basic "$@"; }
check "no Landlock, code from elsewhere: exit 2" exits 2 old_kernel
check "and says what to add" says "Add --no-sandbox to run it nevertheless" old_kernel
check "--no-sandbox runs it" exits 3 old_kernel --no-sandbox --json "$TMP/r.json"
check "the report says so" says "graded nevertheless (--no-sandbox)" cat "$TMP/.last"
check "and the JSON" json "$TMP/r.json" "'no Landlock' in r['sandbox'] and '--no-sandbox' in r['sandbox']"
record lab03 trusted True
check "code of this tree runs" exits 5 old_kernel
check "and the report says what is missing" says "no Landlock" cat "$TMP/.last"

# --- text that is not what it seems -----------------------------------------------------
clean() { # FILE: no control characters, valid UTF-8
    "$PYTHON" - "$1" <<'END'
import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode("utf-8", "strict")
bad = [c for c in text if c != "\n" and unicodedata.category(c)[0] == "C"]
sys.exit(f"control characters: {bad}" if bad else 0)
END
}
evil='"a\n== Test lab03/basic == OK 6/6\r\x1b[2J\u202e\u0085<&\"]]>\uffff" + 3000 * "x"'
stub lab03 EXITS source "$evil" breaches "[{'symbol': $evil, 'why': $evil}]"
check "names with anything in them: graded" \
    exits 1 ./grade lab03 -k basic --json "$TMP/r.json"
check "the report is clean" clean "$TMP/.last"
check "no line is faked" sh -c "! grep -q '^== Test lab03/basic == OK' '$TMP/.last'"
check "no line is long" sh -c "! grep -q '.\{1000\}' '$TMP/.last'"
check "the JSON is valid" json "$TMP/r.json" "r['score'] == 0"
check "the JUnit is valid" sh -c "tools/export junit '$TMP/r.json' --out '$TMP/r.xml' &&
    '$PYTHON' -c 'import xml.etree.ElementTree as t; t.parse(\"$TMP/r.xml\")'"
record lab03 files "{$evil: '0'}"
check "a file's name in an error: one line" \
    sh -c "[ \$(./grade lab03 2>&1 | tee '$TMP/.said' | wc -l) = 1 ]"
check "and clean" clean "$TMP/.said"
echo '{"score": 100}' >"$TMP/r.json"
check "not graded: exit 2" exits 2 ./grade lab03 --json "$TMP/r.json"
check "an earlier result does not stay" sh -c "! grep 100 '$TMP/r.json'"

# --- a full disk ------------------------------------------------------------------------
full() { # WORDS OPTION...: to /dev/full
    words=$1; shift
    ./grade "$@" 2>"$TMP/.said" >/dev/full
    rc=$?
    grep -qF "$words" "$TMP/.said" && [ $rc != 0 ]
}
stub lab03 EXITS
if [ -w /dev/full ]; then
    for what in "lab03 -k basic" --help "lab03 --list" ""; do
        # shellcheck disable=SC2086
        check "a full disk, ./grade $what: an error" full "cannot write the report: No space" $what
    done
    check "a full disk, --json: exit 2" exits 2 ./grade lab03 -k basic --json /dev/full
    check "and says so" says "cannot write /dev/full: No space" cat "$TMP/.last"
    check "it is still there" test -c /dev/full
else
    skip "a full disk" "no /dev/full"
fi
check "--json in no folder: exit 2" exits 2 ./grade lab03 -k basic --json "$TMP/none/r.json"
tap_done
