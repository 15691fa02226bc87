#!/usr/bin/env bash
# `make demo` with models that train for a few steps: what it makes, keeps and continues.
. "$(dirname "$0")/../tap.sh"
text=$TMP/text
for i in $(seq 90); do
    printf 'ROMEO: the mill has %d stones,\nand %d birds.\n' $((i % 7)) $((i * i % 11))
done >"$text"
case $BACKEND in cuda) size=baby ;; *) size=laptop ;; esac
small="--layers 3 --channels 32 --heads 2 --hidden 40 --recurrent 32 --context 16 --window 8
    --batch 4 --warmup 2 --steps 12 --eval-every 6 --dropout 0"
demo() { # ARGS VARIABLE=VALUE...
    make -s demo BACKEND="$BACKEND" OUT="$TMP/runs" DATA="$text" LENGTH=40 ARGS="$(echo $1)" "${@:2}"
}
both() { # COMMAND: in both folders
    local folder
    for folder in "$TMP/runs/$size-griffin" "$TMP/runs/$size"; do (cd "$folder" && eval "$1") || return 1; done
}


check_says "trainings that stop early: both models generate anyway" \
    "last   step 8 of 12, val" demo "$small --stop-at 8 --eval-every 4"
check_says "the next call continues them to the end" "last   step 12 of 12" demo "$small"
check "both are complete" both '[ "$(tail -1 train.csv | cut -d, -f1)" = 12 ]'
written_whole() { # the prompt, 40 characters and a newline: 47 in all
    [ "$(head -c 6 written.txt)" = ROMEO: ] && [ "$(wc -m <written.txt)" = 47 ]
}
export -f written_whole
check "both texts are the prompt and 40 characters" both written_whole
both 'cp written.txt before.txt && sha256sum best/* last/* >sums'
check_says "a call without options keeps both as they are" "using the finished $TMP/runs/$size/best" demo ""
check "and changes neither" both 'sha256sum --quiet -c sums'
check "and generates the same texts" both 'cmp written.txt before.txt'
sizes() { [ "$(stat -c %s "$TMP/runs/$size-griffin/"*.state | uniq -c | xargs | cut -d' ' -f1)" = 2 ]; }
check "two states, of texts of different length, have one size" sizes
check_says "another prompt" "birds" demo "" PROMPT="and 3 birds"
check_fails "a prompt with an unknown character gives a message" "'#'" \
    demo "" PROMPT="#"
sed 's/ROMEO:/MILLER/' "$text" >"$TMP/other"
check_says "another text: the prompt is its first word" "MILLER" \
    demo "$small" OUT="$TMP/other_runs" DATA="$TMP/other"
printf 'ROMEO: stones birds stons seven\n' >"$TMP/words"
check_says "words are counted between the first and the last" "2 of 3 words (66.7 %)" \
    "$PYTHON" tools/words.py "$text" "$TMP/words"
check_fails "a missing text" "none: No such file" demo "$small" DATA="$TMP/none"
tap_done
