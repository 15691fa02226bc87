#!/usr/bin/env bash
# What a token of generation costs, counted: kernels, graph launches, copies and waits of
# the host, bytes, and how evenly a GPU's multiprocessors share the matrices. A change of
# the decode step that makes a text slower on a GPU usually shows here, without a GPU.
. "$(dirname "$0")/../tap.sh"
# launchers choose the kernels of a GPU with tensor cores
export WBCPU_ARCH=90 WBCPU_SMS=132

count() { # PRESET: a line of name=value for each column
    rm -f "$TMP/csv"
    "$B/bench/tinylm/decode" --csv "$TMP/csv" --preset "$1" --runs 3 "${@:2}" &&
        awk -F, 'NR == 1 {split($0, name, ",")}
            END {for (i in name) print name[i] "=" $i}' "$TMP/csv" >"$TMP/counts"
}
is() { # NAME=VALUE...
    for want in "$@"; do grep -qxF -- "$want" "$TMP/counts" || { cat "$TMP/counts"; return 1; }; done
}
share() { # PERCENT: the busiest multiprocessor of 132 has at most this much of an equal share
    awk -F= '{v[$1] = $2} END {
        percent = 100 * v["busiest_bytes"] / (v["weight_bytes"] / 132)
        print percent " percent"
        exit !(percent <= limit)}' limit="$1" "$TMP/counts"
}

for preset in baby baby-griffin; do
    check "$preset: 64 tokens" count $preset
    is yours=0 >/dev/null || { skip "$preset: counts" "its kernels are yours"; continue; }
    # 6 layers of 5 kernels, logits, sample, generate_advance
    check "$preset: 33 kernels per token" is kernels=$((64 * 33))
    check "$preset: 8 tokens per graph, one copy and one wait for all" \
        is graphs=8 copies=1 waits=1
    check "$preset: the weights are read once" is weight_bytes=21284352
    check "$preset: no multiprocessor reads twice its share" share 140
done
check "baby-griffin: states and a window of 128" is state_bytes=90624
check "baby, launch by launch" count baby --no-graph
# a GPU's driver does not count the launches outside of graphs
if [ "$BACKEND" = cpu ]; then launches=$((64 * 33)); else launches=0; fi
check "baby, launch by launch: as many kernels" is yours=0 kernels=$launches graphs=0
tap_done
