#!/usr/bin/env bash
# A few mutated sources through the translator; make fuzz-translate runs many more.
. "$(dirname "$0")/../tap.sh"
sanitized=build/host/translate-sanitized
if [ ! -x $sanitized ]; then
    skip "mutated sources" "$sanitized is not built (make test builds it)"
    tap_done
fi
translate() { "$PYTHON" tests/fuzz/translate.py --runs "$1" --seed "$2" -- "$3"; }
check_says "500 mutated sources, seed 20" "0 failures" translate 500 20 $sanitized

# What the test must notice, each by a program in the translator's place.
stand_in() { printf '#!/bin/sh\n%s\n' "$1" >"$TMP/stand-in"; chmod +x "$TMP/stand-in"; }
notices() { # notices WHAT WORDS SCRIPT
    stand_in "$3"
    check_fails "notices $1" "$2" translate 1 20 "$TMP/stand-in"
}
notices "a crash" "exit -11" 'kill -SEGV $$'
notices "a sanitizer report" "a sanitizer report" \
    'echo "==1==ERROR: AddressSanitizer" >&2; exit 1'
notices "an escape sequence" "a control character" 'printf "x:1: error: \033" >&2; exit 1'
notices "a foreign file" "wrote evil.d" 'mkdir -p "$2"; : >"$2/evil.d"; exit 0'
notices "a file outside" "wrote outside" \
    'mkdir -p "$2"; : >"$2/source.cu.cpp"; : >"$(dirname "$1")/x"; exit 0'
notices "a file after an error" "after an error" \
    'mkdir -p "$2"; : >"$2/source.cu.cpp"; echo "x:1: error: y" >&2; exit 1'
notices "silence" "no error line" 'exit 1'
rm -rf build/host/fuzz_translate/20-0

# The same for whole builds; tools/grade_submission takes the stand-in's place.
builds() { "$PYTHON" tests/fuzz/build_sources.py --runs 1 --seed 20 "$@"; }
notices_build() { # notices_build WHAT WORDS SCRIPT [OPTION...]
    notice=$1 words=$2
    stand_in "$3"; shift 3
    check_fails "a build: notices $notice" "$words" builds "$@" -- "$TMP/stand-in" LAB
}
notices_build "exit 5" "exit 5" 'exit 5'
notices_build "a signal" "signal 11" 'kill -SEGV $$'
notices_build "a traceback" "says Traceback" 'echo "Traceback (most recent call last):"; exit 1'
notices_build "no end" "no end after 1 s" 'sleep 30' --seconds 1
rm -rf build/host/fuzz_build/20-0
stand_in 'case $1 in lab0[1-7]) [ -f "$2" ] && exit 3; esac; exit 5'
check_says "a build: the lab and the path, exit 3" "exit 3: 1;" builds -- "$TMP/stand-in" LAB
tap_done
