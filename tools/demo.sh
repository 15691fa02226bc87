#!/usr/bin/env bash
# demo.sh - `make demo`: from a fresh clone to two models that generate text. Builds the
# programs, trains a small model of each architecture unless one is kept, and lets both
# continue a prompt: the Griffin through the RecurrentGemma engine, the Llama-type through
# TinyLM. After a stop at any point the next call continues from there.
#   OUT         folder of the runs (runs), which are OUT/laptop-griffin and OUT/laptop, or
#               the presets for a GPU, baby-griffin and baby
#   PROMPT      start of both texts (ROMEO: if the text has it, else its first word)
#   LENGTH      new tokens of each (500)
#   DATA, ARGS  a text of your own; more options of `tinylm train`
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BACKEND:=cpu}" "${B:=build/$BACKEND}" "${PYTHON:=build/host/python}" "${MAKE:=make}"
: "${OUT:=runs}" "${LENGTH:=500}" "${DATA:=}" "${ARGS:=}"
case $BACKEND in cuda) size=baby ;; *) size=laptop ;; esac

title() { printf '\n==== %s ====\n' "$*"; }
finished() { printf '(%d s)\n' $((SECONDS - began)); }

start_of() { # TEXT: a prompt from its own vocabulary
    if grep -qF ROMEO: "$1"; then echo ROMEO:; else
        "$PYTHON" -c 'import sys; print(open(sys.argv[1], encoding="utf-8").read().split()[0][:20])' "$1"
    fi
}

build() {
    began=$SECONDS
    title "1 of 6: setting up and compiling (BACKEND=$BACKEND)"
    case " ${MAKEFLAGS:-}" in *jobserver*) jobs= ;; *) jobs=-j$(nproc) ;; esac
    "$MAKE" $jobs BACKEND="$BACKEND" "$B/tinylm" "$B/recurrentgemma"
    text=$("$PYTHON" tools/data.py --data "$DATA")
    text=$(tail -1 <<<"$text")
    prompt=${PROMPT:-$(start_of "$text")}
    finished
}

# at_its_end FOLDER: the steps in the state's header are those of the curve's last line
at_its_end() {
    local steps
    steps=$(head -c 4000 "$1/last/training.safetensors" | grep -ao '\\nsteps=[0-9]*' || true)
    [ "${steps##*=}" = "$(tail -1 "$1/train.csv" | cut -d, -f1)" ]
}

trainer() { # OPTIONS...
    "$B/tinylm" train --out "$@" --data "$text" $ARGS && return
    local rc=$?
    [ $rc -le 128 ] || echo "make demo continues from there"
    return $rc
}

# train FOLDER PRESET: keeps a finished run, continues one that was stopped
train() {
    began=$SECONDS
    if [ -d "$1/best" ] && [ -z "$ARGS" ] && { [ ! -d "$1/last" ] || at_its_end "$1"; }; then
        echo "using the finished $1/best (to train again: rm -r $1)"
    elif [ -f "$1/last/training.safetensors" ]; then
        trainer "$1" --resume
    else
        trainer "$1" --preset "$2" --overwrite
    fi
    finished
}

# generate FOLDER COMMAND...: shows a text as it comes; then generates the same text again
# into a file and counts its words (a pipe to `tee` would mix it with stderr)
generate() {
    local folder=$1
    shift
    began=$SECONDS
    "$@" --prompt "$prompt" --temperature 0.8 --top-p 0.9 --seed 1
    "$@" --prompt "$prompt" --temperature 0.8 --top-p 0.9 --seed 1 --quiet >"$folder/written.txt"
    "$PYTHON" tools/words.py "$text" "$folder/written.txt"
    finished
}

# keep FOLDER COMMAND...: what a Griffin holds of a text is as large for 20,000 characters
# as for 1,000; another process continues from it
keep() {
    local folder=$1 n
    shift
    began=$SECONDS
    for n in 1000 20000; do
        "$PYTHON" -c 'import sys; print(open(sys.argv[1], encoding="utf-8").read()[: int(sys.argv[2])])' \
            "$text" $n >"$folder/start.txt"
        "$@" --prompt-file "$folder/start.txt" --max-new-tokens 0 --save-state "$folder/$n.state" 2>&1 |
            grep '^state\|^prefill'
    done
    echo "... $(tail -c 60 "$folder/start.txt" | tail -1)"
    "$@" --load-state "$folder/20000.state" --max-new-tokens 100 --seed 1 --quiet
    rm "$folder/start.txt"
    finished
}

build
griffin=$OUT/$size-griffin llama=$OUT/$size
title "2 of 6: training a Griffin (RecurrentGemma's architecture) on $text: $griffin"
train "$griffin" "$size-griffin"
title "3 of 6: the RecurrentGemma engine continues \"$prompt\" with $griffin/best"
generate "$griffin" "$B/recurrentgemma" --model "$griffin/best" --max-new-tokens "$LENGTH" --echo
title "4 of 6: its state of a long text, kept in a file, continues in another process"
keep "$griffin" "$B/recurrentgemma" --model "$griffin/best"
title "5 of 6: training TinyLM's Llama-type model on $text: $llama"
train "$llama" "$size"
title "6 of 6: TinyLM continues \"$prompt\" with $llama/best"
generate "$llama" "$B/tinylm" generate --model "$llama/best" --max-new-tokens "$LENGTH"
title "done in $SECONDS s"
cat <<END
Both folders also open in Hugging Face transformers. Generate more:
    $B/recurrentgemma --model $griffin/best --prompt "$prompt"
    $B/tinylm generate --model $llama/best --prompt "$prompt"
END
