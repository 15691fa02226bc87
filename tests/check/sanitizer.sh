#!/usr/bin/env bash
# sanitizer.sh OUT [PATTERN] - on a machine with a GPU: builds the programs with nvcc and
# runs every case, or those whose name, such as "bugs/bounds no_tail_guard", matches the
# regular expression PATTERN, under the four tools of compute-sanitizer; the right cases
# also without a tool. As many cases as there are cores share the GPU. OUT/results gets
# one line per run:
#     bugs/bounds no_tail_guard memcheck EXIT ERRORS bounds.cu:8 bounds.cu:13
# with all lines that the reports name; OUT/logs has the reports. table.py OUT prints the
# table.
set -eu
cd "$(dirname "$0")/../.."
pattern=${2:-.}
export OUT=$1 NVCC=${NVCC:-nvcc} ARCH=${ARCH:-sm_90a}
export SANITIZER=${SANITIZER:-compute-sanitizer}
rm -rf "$OUT" && mkdir -p "$OUT/bugs" "$OUT/right" "$OUT/logs"

build() { # FILE.cu
    "$NVCC" -std=c++17 -arch="$ARCH" --extended-lambda -lineinfo -Xcompiler -g -Icommon \
        -o "$OUT/$(basename "$(dirname "$1")")/$(basename "$1" .cu)" "$1" \
        -Xlinker --as-needed -lcublas -lcufft -lcurand
}
run() { # PROGRAM CASE TOOL
    log=$OUT/logs/$(basename "$1").$2.$3 under=() limit=30 rc=0
    case $3 in
    none) ;;
    memcheck) under=("$SANITIZER" --tool memcheck --leak-check full --print-limit 100) ;;
    *) under=("$SANITIZER" --tool "$3" --print-limit 100) ;;
    esac
    [ "$1" = bugs/loops ] && limit=10 # every case hangs
    timeout -k 5 $limit "${under[@]}" "$OUT/$1" "$2" >"$log" 2>&1 </dev/null || rc=$?
    errors=$(head -1 < <(
        sed -nE 's/.*(ERROR|RACECHECK) SUMMARY: ([0-9]+) (error|hazard).*/\2/p' "$log"))
    where=$(grep -E '^=========' "$log" | grep -oE '[a-z_]+\.cu:[0-9]+' | sort -u |
        paste -sd' ' || true)
    [ "$3" = none ] && errors=0
    echo "$1 $2 $3 $rc ${errors:--1} $where" # -1: the tool printed no summary
}
export -f build run

printf '%s\0' tests/check/{bugs,right}/*.cu | xargs -0 -n1 -P"$(nproc)" bash -euc 'build "$1"' --
for program in right bugs; do
    for path in "$OUT/$program"/*; do
        for name in $("$path" --list); do
            tools="memcheck racecheck initcheck synccheck"
            [ $program = bugs ] || tools="none $tools"
            [[ "$program/$(basename "$path") $name" =~ $pattern ]] || continue
            for tool in $tools; do echo "$program/$(basename "$path") $name $tool"; done
        done
    done
done | awk '/^bugs\/loops/ {last = last $0 "\n"; next} {print} END {printf "%s", last}' |
    xargs -L1 -P"$(nproc)" bash -uc 'run "$@"' -- >"$OUT/results"
echo "$(wc -l <"$OUT/results") runs: $OUT/results"
