# program.sh - sourced by the suites of the program recurrentgemma, in place of tap.sh.
. "$(dirname "$0")/../tap.sh"
rg=$B/recurrentgemma
tiny=tests/recurrentgemma/tiny
fixture=$tiny/fixture.safetensors
cli() { "$PYTHON" tests/recurrentgemma/cli.py "$@"; }
folder() { # NAME: $TMP/NAME has the tiny model, without a tokenizer
    mkdir -p "$TMP/$1" && cp $tiny/config.json "$TMP/$1" &&
        ln -sf "$PWD/$tiny/model.safetensors" "$TMP/$1"
}
# WHAT WORDS ARGUMENTS...: refuses: a wrong option, exit 2; fails: another error, exit 1
refuses() { complains 2 "refused: $1" "$2" "$rg" "${@:3}" </dev/null; }
fails() { complains 1 "an error: $1" "$2" "$rg" "${@:3}" </dev/null; }

# Two prompts, whose tokens and logits fixture has.
cli ids $fixture long.input_ids >"$TMP/long"
cli ids $fixture short.input_ids | tr ' ' , >"$TMP/short"
cat "$TMP/long" "$TMP/short" >"$TMP/both"
model="--model $tiny"
ids() { "$rg" --model $tiny --quiet --max-new-tokens 40 --temperature 0 --ignore-eos "$@"; }

with_bytes() { # $TMP/bytes: the tiny model with a tokenizer of bytes, and $TMP/text
    folder bytes
    for i in 1 2 3 4 5 6 7 8 9; do echo "the miller counts $i sacks of meal"; done >"$TMP/text"
    "$B/tinylm" train --data "$TMP/text" --out "$TMP/run" --steps 1 --layers 1 --channels 16 \
        --heads 1 --context 8 --tokenizer bytes --quiet >/dev/null &&
        cp "$TMP/run/last/"tokenizer*.json "$TMP/bytes"
}
write() { "$rg" --model "$TMP/bytes" --quiet --max-new-tokens 60 --temperature 0 --ignore-eos "$@"; }
