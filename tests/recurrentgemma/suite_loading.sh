#!/usr/bin/env bash
# Model folders: written with random weights; loaded under every name, in every dtype and
# division into files; refused in one line when anything is wrong.
. "$(dirname "$0")/../tap.sh"
random=$B/recurrentgemma-random
# WHAT WORDS ARGUMENTS...: refuses: a wrong option, exit 2; fails: another error, exit 1
refuses() { complains 2 "random, refused: $1" "$2" "$random" "${@:3}"; }
fails() { complains 1 "random, an error: $1" "$2" "$random" "${@:3}"; }

# --- recurrentgemma-random --------------------------------------------------------------
odd="--layers 4 --channels 36 --heads 3 --head-dim 12 --recurrent 69 --hidden 20 --vocab 301
     --window 5 --conv-width 3 --blocks rar --dtype f32"
check_says "random: a model of odd sizes" "1 file, seed 1" "$random" "$TMP/odd" $odd
check "random: a head of its own" "$random" $odd --tied 0 "$TMP/untied"
check "random: heads in groups" "$random" $odd --heads 4 --kv-heads 2 --head-dim 20 \
    --recurrent 40 "$TMP/groups"
check "random: heads of 16, more channels" "$random" --layers 3 --vocab 64 --dtype f32 "$TMP/wide"
check "random: attention alone, heads of 4" "$random" --layers 2 --channels 8 --heads 2 \
    --head-dim 4 --hidden 7 --vocab 5 --blocks a --dtype f32 "$TMP/attention"
same() { # A B: the same weights
    "$B/tests/recurrentgemma/weights" "$1" f32 "$TMP/a.out" &&
        "$B/tests/recurrentgemma/weights" "$2" f32 "$TMP/b.out" && cmp "$TMP/a.out" "$TMP/b.out"
}
again() { "$random" $odd "$TMP/again" && cmp "$TMP/odd/model.safetensors" "$TMP/again/model.safetensors"; }
check "random: the same seed gives the same file" again
other() { "$random" $odd "$TMP/other" --seed 2 && ! same "$TMP/odd" "$TMP/other"; }
check "random: another seed another" other
check_says "random: five shards" "in 5 files, seed 1" "$random" $odd --shards 5 "$TMP/five"
check "random: of the same weights" same "$TMP/odd" "$TMP/five"
"$random" $odd --shards 99 "$TMP/many" >/dev/null
check "random: as many shards as there are tensors" same "$TMP/odd" "$TMP/many"
threads() { taskset -c "$(taskset -pc $$ | sed 's/.*[ ,-]//')" "$random" $odd "$TMP/single"; }
check "random: on one core" threads
check "random: the same file" cmp "$TMP/odd/model.safetensors" "$TMP/single/model.safetensors"
check_says "random: the published 2B" "2682862080 parameters, 5.366 GB in 2 files" \
    "$random" --preset 2b --dry-run 1 "$TMP/x"
check_says "random: the published 9B" "8579977216 parameters, 17.160 GB in 4 files" \
    "$random" --preset 9b --dry-run "$TMP/x"
refuses "no folder" "no folder to write to"
refuses "two folders" "two folders" "$TMP/x" "$TMP/y"
fails "a folder with a model" "exists already: remove it" "$TMP/odd"
refuses "an unknown preset" "give 2b, 9b or tiny" --preset 7b "$TMP/x"
refuses "an unknown dtype" "give bf16, f32 or f16" --dtype f8 "$TMP/x"
refuses "an unknown option" "unknown option --depth" --depth 3 "$TMP/x"
refuses "an option without its value" "--seed needs a value" "$TMP/x" --seed
refuses "heads that do not divide" "do not divide" --heads 3 --kv-heads 2 --channels 36 "$TMP/x"
refuses "gates that do not divide" "do not make 4 gate blocks" --recurrent 66 "$TMP/x"
refuses "unknown blocks" "layers 'rx'" --blocks rx "$TMP/x"
refuses "an odd head" "even number" --head-dim 7 "$TMP/x"
refuses "a model too large" "too large" --channels 100000000 --head-dim 16 --recurrent 64 "$TMP/x"
fails "a place that cannot be written" "annot" /proc/x
check "random: what was refused leaves nothing" test ! -e "$TMP/x"
full() { # FILES: the disk is full before all is written
    (ulimit -f 400; "$random" ${1:-} --dtype f32 --vocab 9000 "$TMP/full" >"$TMP/said" 2>&1) && return 1
    cat "$TMP/said"
    [ "$(wc -l <"$TMP/said")" = 1 ] && grep -q "File too large" "$TMP/said" && [ -z "$(ls "$TMP/full")" ]
}
check "random: a full disk: one line, and nothing stays" full
check "random: nor of several files" full "--shards 4"
stopped() {
    "$random" --preset 2b "$TMP/stopped" >"$TMP/said" 2>&1 &
    local pid=$! n=0
    until [ -s "$(ls "$TMP"/stopped/model-00001-of-00002.*.tmp 2>/dev/null)" ] || [ $((n += 1)) -gt 200 ]; do
        sleep 0.05
    done
    kill -INT $pid
    wait $pid
    [ $? = 130 ] && [ -z "$(ls "$TMP/stopped")" ]
}
check "random: Ctrl-C ends it, and nothing stays" stopped
check_says "random: help" "--kv-heads N" "$random" --help

# --- the loader -------------------------------------------------------------------------
"$PYTHON" tests/recurrentgemma/loading.py "$B" "$TMP" || tap_failed=1
tap_done
