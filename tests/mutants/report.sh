#!/usr/bin/env bash
# report.sh LAB/NAME CASE [LINES] - what the grader says about one case of a wrong program.
#
#   tests/mutants/report.sh lab04/mask_one_more causal        the whole report
#   tests/mutants/report.sh lab04/mask_one_more causal 1,3    its title and third line
#   tests/mutants/report.sh lab04/solution - 1,2,last         the whole lab, solved
#
# NAME is a file of tests/mutants/LAB, a rung of the ladder, or `solution`. Lines that are
# left out become `...`. Check mode is left out unless the mutant's header says
# `checked: yes`. The guides' examples are made with it: see tools/examples.py.
. "$(dirname "$0")/../tap.sh"
. tests/mutants/mutants.sh
[ $# -ge 2 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
lab=${1%%/*} name=${1#*/} case=$2 lines=${3:-}
solution=$(echo solutions/"$lab"_*)
build=${EXAMPLES_BUILD:-build/cpu/examples} source=$TMP/source/mutant.cu
mkdir -p "$TMP/source"
B=build/cpu
[ -e "$build/libwbcpu.a" ] || reuse_build "$PWD/$build" "$build"

file=$(ls tests/mutants/"$lab/$name".{edit,cu} "$solution/ladder/$name.cu" 2>/dev/null | head -1)
case $name:$file in
solution:) source=$solution ;;
*.edit)
    of=$(header_of of "$file") mutant_dtypes=$(dtypes_of "$lab" "$case")
    mutant_edit "$(ls "$solution"/${of:-*.cu})" "$file" "$source" ;;
*:?*) cp "$file" "$source" && copy_headers "$(dirname "$file")" ;;
*) echo "$1: no such mutant, rung or solution" >&2; false ;;
esac || exit 1
checked=CHECK=off
[ "$name" != solution ] && [ -z "$(header_of checked "$file")" ] || checked=
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s -j2 BACKEND=cpu BUILD="$build" OPT=-Og \
    "$lab" FILE="$source" $checked >"$TMP/make" 2>&1 || { cat "$TMP/make" >&2; exit 1; }

BUILD=$build timeout 120 ./grade "$lab" $([ "$case" = - ] || echo "-k $case") \
    --seed 0x5eed --timeout-scale 3 >"$TMP/report" 2>&1
# One case: from its title to the next title. The whole lab: from the first title on,
# without the line in parentheses.
awk -v case="$lab/$case" '
    case ~ /\/-$/ { if (/^==/) on = 1; if (on && !/^\(/) print; next }
    /^== (Test|Check|Part)/ || /^Score/ { on = $3 == case }
    on' "$TMP/report" >"$TMP/shown"
sed -i "s,$TMP/source/,,g" "$TMP/shown"
[ -s "$TMP/shown" ] || { echo "$1: no case $case in the report:" >&2; cat "$TMP/report" >&2; exit 1; }
awk -v lines="$lines" '
    { text[NR] = $0 }
    END {
        if (lines == "") lines = "1-" NR
        last = 0
        count = split(lines, wanted, ",")
        for (i = 1; i <= count; i++) {
            from = to = wanted[i]
            if (wanted[i] ~ /^[0-9]+-/) { split(wanted[i], ends, "-"); from = ends[1]; to = ends[2] }
            if (from == "last") from = to = NR
            if (from + 0 > last + 1) print (text[1] ~ /^== Test/ && last + 1 <= NR && text[last + 1] ~ /^ / ? "    ..." : "...")
            for (n = from + 0; n <= to + 0 && n <= NR; n++) print text[n]
            last = to + 0
        }
    }' "$TMP/shown"
