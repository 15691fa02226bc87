#!/usr/bin/env bash
# features.sh [COMPILER [OPTION]...] - what a compiler (default: tools/wbcc) makes of the
# programs in tests/cpu/features: one line each, for the table in docs/wbcc.md. A program
# of features/ prints "right" or "wrong"; one of features/mistakes/ shows what a mistake
# does. With tools/wbcc, `make check` runs the mistakes, too. tests/cpu/suite_wbcc.sh runs
# the features.
set -u
cd "$(dirname "$0")/../.." || exit
compiler=("${@:-tools/wbcc}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

result() { # FILE: its last line, or how it ended
    "${compiler[@]}" "$1" -o "$out/program" >"$out/log" 2>&1 || {
        echo "does not compile: $(grep -m1 -i error "$out/log")"
        return
    }
    timeout 60 "$out/program" >"$out/log" 2>&1
    case $? in
    0 | 1) tail -1 "$out/log" ;;
    124) echo "still runs after 60 s" ;;
    *) echo "crashes: $(head -1 "$out/log")" ;;
    esac
}
for program in tests/cpu/features/*.cu; do
    printf '%-14s %s\n' "$(basename "$program" .cu)" "$(result "$program")"
done
for program in tests/cpu/features/mistakes/*.cu; do
    printf '%-14s %s\n' "$(basename "$program" .cu)" "$(result "$program" 2>/dev/null)"
    [ $# != 0 ] ||
        printf '  make check:  %s\n' \
            "$(make -s check FILE="$program" 2>&1 | grep -m1 ': error: ')"
done
