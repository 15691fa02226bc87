#!/bin/sh
# measure.sh CSV ROUNDS "PRESETS" "PROGRAMS" [OPTION...] - writes a new CSV: in every
# round, every program appends its lines for every preset. The commands go to commands.txt
# next to the CSV.
set -eu
csv=$1 rounds=$2 presets=$3 programs=$4
shift 4
folder=$(dirname "$csv")
mkdir -p "$folder"
rm -f "$csv"
touch "$folder/commands.txt"
sed -i "\,/$(basename "$csv") ,d" "$folder/commands.txt"
for round in $(seq "$rounds"); do
    for preset in $presets; do
        for program in $programs; do
            [ "$round" != 1 ] || echo "$program --csv $csv --preset $preset $*" >>"$folder/commands.txt"
            "$program" --csv "$csv" --preset "$preset" "$@"
        done
    done
done
