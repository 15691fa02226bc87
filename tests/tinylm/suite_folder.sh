#!/usr/bin/env bash
# The folder of a TinyLM run: no run is lost by accident, even if a training is killed,
# the disk is full, the folder is locked, or another file is in the way.
. "$(dirname "$0")/../tap.sh"
tinylm=$B/tinylm
text=$TMP/text
verses 150 >"$text"
small="--layers 2 --channels 32 --heads 4 --hidden 40 --context 16 --batch 4 --warmup 5 --quiet 1"
train() { "$tinylm" train --data "$text" $small "$@"; }
start() { exec "$tinylm" train --data "$text" $small "$@"; } # with &: $! is the program
refuse() { # WORDS COMMAND...: one line with the words
    exits 1 "${@:2}" && [ "$(wc -l <"$TMP/.last")" = 1 ] && grep -qF -- "$1" "$TMP/.last"
}
check "a run" train --out "$TMP/a" --steps 12 --eval-every 4 --save-every 4 --log-every 3
copy() { rm -rf "$TMP/o" && cp -r "$TMP/a" "$TMP/o"; }
same() { diff -r -x previous "$TMP/a" "$1"; } # FOLDER: holds the run
no_temporary() { [ -z "$(find "$TMP/o" -name '*.tmp')" ]; }

# --- replacing a run --------------------------------------------------------------------
copy
holds() {
    refuse "/o: holds a run: continue it with --resume, replace it with --overwrite, or" \
        train --out "$TMP/o" --steps 3 && same "$TMP/o"
}
check "a folder that holds a run is refused" holds
alone() { # PART
    mkdir "$TMP/o" && cp -r "$TMP/a/$1" "$TMP/o" &&
        refuse "/o: holds a run" train --out "$TMP/o" --steps 3 && diff -r "$TMP/a/$1" "$TMP/o/$1"
}
for part in best last train.csv train.tfevents; do
    rm -rf "$TMP/o"
    check "and one that holds only $part" alone $part
done
copy
kept() {
    exits 2 train --out "$TMP/o" --overwrite --kv-heads 3 && same "$TMP/o" &&
        train --out "$TMP/o" --overwrite --steps 3 && same "$TMP/o/previous" &&
        [ "$(tail -1 "$TMP/o/train.csv" | cut -d, -f1)" = 3 ] &&
        "$PYTHON" tests/tinylm/events.py "$TMP/o" "$TMP/o/previous"
}
check "--overwrite keeps the run as previous/, and only if the new one starts" kept
replaced() {
    cp "$TMP/o/last/training.safetensors" "$TMP/third" &&
        train --out "$TMP/o" --overwrite --steps 4 &&
        cmp "$TMP/third" "$TMP/o/previous/last/training.safetensors"
}
check "the next one replaces what was kept" replaced
check "--resume and --overwrite exclude each other" \
    exits 2 train --out "$TMP/o" --resume --overwrite
tidied() {
    copy && touch "$TMP"/o/{last/model.safetensors,train.csv}.9-0.tmp &&
        train --out "$TMP/o" --resume && no_temporary
}
check "temporary files of a killed training are removed" tidied
replaced_killed() { # temporary files in previous/ too: older versions moved them there
    copy && cp -r "$TMP/a" "$TMP/o/previous" &&
        touch "$TMP"/o/{,previous/}last/model.safetensors.9-0.tmp &&
        train --out "$TMP/o" --overwrite --steps 3 && same "$TMP/o/previous" && no_temporary
}
check "killed trainings can be replaced, in previous/ too" replaced_killed
without_checkpoint() {
    copy && cp -r "$TMP/a" "$TMP/o/previous" && rm -r "$TMP"/o/{best,last} &&
        train --out "$TMP/o" --overwrite --steps 3 && same "$TMP/o/previous"
}
check "a new run killed before its first checkpoint does not replace previous/" without_checkpoint
in_the_way() {
    copy && cp -r "$TMP/a" "$TMP/o/previous" && touch "$TMP/o/previous/last/notes" &&
        refuse "/o/previous/last: cannot remove it: Directory not empty: move it" \
            train --out "$TMP/o" --overwrite --steps 3 && same "$TMP/o"
}
check "another file in previous/last: refused, and the run stays whole" in_the_way
half_moved() { # PART...: by a replacement that was killed
    copy && mkdir "$TMP/o/previous" && (cd "$TMP/o" && mv "$@" previous) &&
        train --out "$TMP/o" --overwrite --steps 3 && same "$TMP/o/previous"
}
check "a replacement killed after best/: the next one completes it" half_moved best
check "  after last/" half_moved best last
check "  after train.csv" half_moved best last train.csv

# --- locks ------------------------------------------------------------------------------
"$B/tests/tinylm/run_folder" || tap_failed=1
locked() { # FOLDER OPTION: the utility locks the folder as a training does
    refuse "$1: another training is running in this folder: wait for it, or" \
        flock "$TMP/$1" "$tinylm" train --data "$text" --out "$TMP/o" $2 && same "$TMP/o"
}
copy
for how in --resume --overwrite; do
    check "a folder in which a training runs is refused: $how" locked o $how
done
mkdir "$TMP/o/previous"
check "and one in whose previous/ a training runs" locked o/previous --overwrite
running() { # the lock of a training itself
    start --out "$TMP/two" --steps 1000000 --save-every 4 >/dev/null 2>&1 &
    local pid=$! n=0 rc
    until [ -s "$TMP/two/last/training.safetensors" ] || [ $((n += 1)) -gt 200 ]; do sleep 0.05; done
    refuse "another training is running" train --out "$TMP/two" --overwrite
    rc=$?
    kill -9 $pid
    wait $pid 2>/dev/null
    return $rc
}
check "a training locks its folder" running

# --- files that cannot be read or written -----------------------------------------------
unreadable() { # FILE: a sparse file of 2 GiB
    copy && truncate -s 2G "$TMP/o/$1" &&
        refuse "o/$1: 2147483648 bytes, more than the limit" train --out "$TMP/o" --resume --steps 16 &&
        [ "$(stat -c %s "$TMP/o/$1")" = 2147483648 ]
}
for file in train.csv train.tfevents; do check "a $file that cannot be read stays" unreadable $file; done
updated() { # FOLDER OPTIONS...: in a run whose JSON files another version wrote
    copy && for file in config generation_config tokenizer_config tokenizer; do
        echo >>"$TMP/o/$1/$file.json"
    done
    (ulimit -f 40; exits 1 train --out "$TMP/o" --resume "${@:2}") && no_temporary &&
        cmp "$TMP/a/$1/model.safetensors" "$TMP/o/$1/model.safetensors" &&
        cmp "$TMP/a/$1/config.json" "$TMP/o/$1/config.json" &&
        "$tinylm" generate --model "$TMP/o/$1" --max-new-tokens 3 --quiet
}
check "a full disk when config.json is rewritten: the old weights stay, in best/" updated best --steps 16
check "  in last/" updated last --steps 16 --eval-every 100 --stop-at 13
full() { # a checkpoint exceeds the limit
    copy
    (ulimit -f 40; train --out "$TMP/o" --resume --steps 16 >/dev/null 2>"$TMP/said") && return 1
    cat "$TMP/said"
    [ "$(wc -l <"$TMP/said")" = 1 ] && grep -q 'File too large' "$TMP/said" &&
        diff -r "$TMP/a/last" "$TMP/o/last" && diff -r "$TMP/a/best" "$TMP/o/best" && no_temporary
}
check "a full disk: one line, and the old checkpoint stays" full
check "and the run resumes from it" train --out "$TMP/o" --resume --steps 16
tap_done
