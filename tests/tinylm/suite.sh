#!/usr/bin/env bash
# TinyLM as a whole: gradients against float64, runs that are killed, wrong input,
# sequences with and without a cache, transformers.
. "$(dirname "$0")/../tap.sh"
tinylm=$B/tinylm
programs=$B/tests/tinylm
text=$TMP/text
verses 150 >"$text"

# --- the model --------------------------------------------------------------------------
check "reference/tinylm.py: gradients by finite differences" "$PYTHON" reference/tinylm.py
gradients() { # DTYPE VOCAB OPTIONS
    "$programs/gradients" "$TMP/g" "$2" --dtype "$1" "${@:3}" &&
        "$PYTHON" tests/tinylm/gradients.py "$TMP/g"
}
sizes() { # LAYERS CHANNELS HEADS KV_HEADS HIDDEN CONTEXT BATCH ACCUM: as options
    echo "--layers $1 --channels $2 --heads $3 --kv-heads $4 --hidden $5 --context $6" \
        "--batch $7 --accum $8"
}
check "loss and gradients, f32, tied" gradients f32 37 $(sizes 2 64 4 4 24 9 2 1)
check "loss and gradients, f32, grouped heads, own head, 3 micro-batches" \
    gradients f32 70 $(sizes 2 96 6 2 20 12 2 3) --tied 0
check "loss and gradients, f32, attention by GEMMs, one key head, odd sizes" \
    gradients f32 5 $(sizes 3 30 5 1 17 7 3 2) --attention gemm
check "loss and gradients, f32, heads wider than the channels" \
    gradients f32 37 $(sizes 2 40 4 2 24 9 2 1) --head-dim 24
check "loss and gradients, bf16" gradients bf16 37 $(sizes 2 64 4 2 24 9 2 2)
check "loss and gradients, f16 with a loss scale" \
    gradients f16 37 $(sizes 2 64 4 2 24 9 2 1) --tied 0 --loss-scale 1024
griffin() { gradients "$@" --arch griffin; }
check "griffin: loss and gradients, f32" griffin f32 37 $(sizes 3 64 4 1 24 9 2 1)
check "griffin: f32, more recurrent channels than others, odd gate blocks, window of 2" \
    griffin f32 11 $(sizes 4 48 3 1 17 13 2 2) --recurrent 69 --window 2 --conv-width 3
check "griffin: f32, attention first, fewer recurrent channels, no soft cap" \
    griffin f32 70 $(sizes 2 64 2 2 20 7 3 1) --blocks ar --recurrent 26 --softcap 0
check "griffin: bf16" griffin bf16 37 $(sizes 3 64 4 1 24 9 2 2) --recurrent 76
check "griffin: f16 with a loss scale" \
    griffin f16 37 $(sizes 3 64 4 1 24 9 2 1) --recurrent 76 --loss-scale 1024
"$programs/start" || tap_failed=1
"$programs/loss_scale" || tap_failed=1
"$programs/allocations" $([ "$BACKEND" = cpu ] && echo host) || tap_failed=1

# --- training ---------------------------------------------------------------------------
small="--layers 2 --channels 32 --heads 4 --hidden 40 --context 16 --batch 4 --warmup 5 --quiet 1"
train() { "$tinylm" train --data "$text" $small "$@"; }
start() { exec "$tinylm" train --data "$text" $small "$@"; } # with &: $! is the program

for i in $(seq 60); do printf 'Tick, tock, says the old oak clock.\n'; done >"$TMP/lines"
overfit() {
    "$tinylm" train --data "$TMP/lines" $small --out "$TMP/overfit" --steps 150 --lr 1e-2 \
        --eval-every 0 --overwrite "$@" >"$TMP/said" && awk '/^best/{exit !($4 < 0.15)}' "$TMP/said"
}
check "overfits a line" overfit
check "overfits it in bf16 too" overfit --dtype bf16
check "overfits it in f16 with a growing loss scale" overfit --dtype f16 --growth 20
check "the loss scale has grown" awk -F, 'END {exit !($7 > 65536)}' "$TMP/overfit/train.csv"
check "overfits it in f16 after a loss scale that overflows" overfit --dtype f16 --loss-scale 1e15
check "skipped steps are reported" grep -q '^scale .* [1-9][0-9]* of 150 steps skipped' "$TMP/said"
check "the loss scale has fallen" awk -F, 'END {exit !($7 < 1e15)}' "$TMP/overfit/train.csv"
check "overfits it with dropout, grouped heads and accumulation" \
    overfit --dropout 0.05 --kv-heads 2 --accum 2 --batch 2 --tied 0
griffin="--arch griffin --heads 2 --layers 3 --recurrent 48"
check "griffin overfits it" overfit $griffin
check "griffin overfits it in bf16, with dropout and accumulation" \
    overfit $griffin --dtype bf16 --dropout 0.05 --accum 2 --batch 2
check "griffin overfits it in f16" overfit $griffin --dtype f16
check "bytes as tokens" train --out "$TMP/bytes" --steps 5 --tokenizer bytes
check "schedules: constant" train --out "$TMP/x" --steps 12 --schedule constant --log-every 1
check "schedules: constant stays" awk -F, 'NR>6 && $4!=0.001{exit 1}' "$TMP/x/train.csv"
check "schedules: linear" train --out "$TMP/x" --overwrite --steps 12 --schedule linear --log-every 1
check "schedules: warm-up by equal steps, then down to a tenth" awk -F, '
    NR>1 && NR<7 && sprintf("%.6f",$4) != sprintf("%.6f",(NR-1)*0.0002) {exit 1}
    NR>7 && !($4 < before) {exit 1} {before=$4} END {exit !($4 > 0.0001 && $4 < 0.0003)}' \
    "$TMP/x/train.csv"

# One uninterrupted run; all others must end with the same bits.
whole="--steps 40 --eval-every 10 --save-every 4 --log-every 3 --dropout 0.1 --accum 2"
check "a run of 40 steps" train --out "$TMP/a" $whole
same() { # FOLDER [WHOLE]: as the run without a stop
    local whole=${2:-$TMP/a}
    cmp "$whole/last/training.safetensors" "$1/last/training.safetensors" &&
        cmp "$whole/last/model.safetensors" "$1/last/model.safetensors" &&
        cmp "$whole/best/model.safetensors" "$1/best/model.safetensors" &&
        cmp <(cut -d, -f1-5,7 "$whole/train.csv") <(cut -d, -f1-5,7 "$1/train.csv")
}
train --out "$TMP/again" $whole >/dev/null
check "the same run again: the same bits" same "$TMP/again"
train --out "$TMP/calls" $whole --no-graph >/dev/null
check "launch by launch instead of as a graph: the same bits" same "$TMP/calls"
halves() {
    train --out "$TMP/b" $whole --stop-at 17 && train --out "$TMP/b" --resume && same "$TMP/b"
}
check "stopped at step 17 and resumed: the same bits" halves
check "TensorBoard's events are the CSV's, also after a stop" \
    "$PYTHON" tests/tinylm/events.py "$TMP/a" "$TMP/b" "$TMP/x"
griffin_halves() { # DTYPE
    local options="$griffin --dtype $1 --growth 6 --loss-scale 1e12"
    rm -rf "$TMP/ga" "$TMP/gb"
    train --out "$TMP/ga" $whole $options && train --out "$TMP/gb" $whole $options --stop-at 17 &&
        "$tinylm" train --data "$text" --out "$TMP/gb" --resume --quiet &&
        same "$TMP/gb" "$TMP/ga"
}
griffin_calls() {
    train --out "$TMP/gc" $whole $griffin --growth 6 --loss-scale 1e12 --no-graph &&
        same "$TMP/gc" "$TMP/ga"
}
check "griffin, f32: stopped and resumed: the same bits" griffin_halves f32
check "griffin, launch by launch instead of as a graph: the same bits" griffin_calls
check "griffin, f16: with the loss scale of before the stop" griffin_halves f16
killed() {
    local kills=0 resume=--overwrite
    for delay in 0.15 0.25 0.1 0.3 0.2; do
        start --out "$TMP/k" $whole $resume >/dev/null 2>&1 &
        local pid=$!
        sleep $delay
        kill -9 $pid 2>/dev/null && kills=$((kills + 1))
        wait $pid 2>/dev/null
        [ -f "$TMP/k/last/training.safetensors" ] && resume=--resume
    done
    train --out "$TMP/k" $whole $resume && echo "$kills kills" && same "$TMP/k"
}
check "killed again and again, resumed each time: the same bits" killed
check "and the events are the CSV's" "$PYTHON" tests/tinylm/events.py "$TMP/k"
without_events() { # as a run of an older version
    cp -r "$TMP/b" "$TMP/older" && rm "$TMP/older/train.tfevents" &&
        train --out "$TMP/older" --resume --steps 44 && [ -s "$TMP/older/train.tfevents" ]
}
check "a run without events gets them on resume" without_events
interrupted() { # SIGNAL
    rm -rf "$TMP/i"
    start --out "$TMP/i" $whole --steps 100000 >"$TMP/said" 2>&1 &
    local pid=$! n=0
    until [ -s "$TMP/i/last/training.safetensors" ] || [ $((n += 1)) -gt 200 ]; do sleep 0.05; done
    kill -s "$1" $pid
    wait $pid
    local rc=$?
    [ $rc = "$2" ] || { echo "exit $rc, not $2"; cat "$TMP/said"; return 1; }
    grep -q 'stopped at step [0-9]* and saved' "$TMP/said" &&
        "$tinylm" generate --model "$TMP/i/last" --max-new-tokens 3 --quiet
}
check "Ctrl-C saves and ends" interrupted INT 130
check "SIGTERM saves and ends" interrupted TERM 143

check "the progress bar fits the terminal" "$PYTHON" tests/tinylm/terminal.py \
    "$tinylm" train --data "$text" $small --quiet 0 --steps 60 --eval-every 2
check "the plot" "$PYTHON" tools/plot_training.py "$TMP/a/train.csv" "$TMP/loss.png"
val=$(awk -F, '$3 != "" {v=$3} END {printf "%.4f", v}' "$TMP/a/train.csv")
check_says "eval gives the loss that training gave" "val loss $val " \
    "$tinylm" eval --model "$TMP/a/last" --data "$text"
check_says "and so does the other architecture" "val loss " \
    "$tinylm" eval --model "$TMP/ga/last" --data "$text" --hf-window

# --- generation -------------------------------------------------------------------------
"$programs/generation" || tap_failed=1
logits() { # FOLDER
    "$programs/logits" "$1" "The miller count" "$TMP/l" &&
        "$PYTHON" tests/tinylm/logits.py "$1" "$TMP/l"
}
train --out "$TMP/half" --steps 30 --dtype bf16 --kv-heads 2 --tied 0 >/dev/null
check "logits with a cache, without, and in float64: f32" logits "$TMP/a/best"
check "logits with a cache, without, and in float64: bf16, grouped heads" logits "$TMP/half/best"
train --out "$TMP/griffin" --steps 30 $griffin --window 5 >/dev/null
train --out "$TMP/griffin16" --steps 30 $griffin --dtype bf16 --window 5 --recurrent 20 >/dev/null
check "griffin: logits, the same, of a text longer than the window: f32" logits "$TMP/griffin/best"
check "griffin: logits, the same: bf16" logits "$TMP/griffin16/best"
model=$TMP/a/best
write() { "$tinylm" generate --model "$model" --quiet --prompt "The " "$@"; }
cached_equals() {
    write --max-new-tokens 100 "$@" >"$TMP/with" && write --max-new-tokens 100 --no-cache "$@" >"$TMP/without" &&
        [ "$(wc -c <"$TMP/with")" -gt 100 ] && cmp "$TMP/with" "$TMP/without"
}
check "greedy text, six times the context: with a cache as without" cached_equals --temperature 0
check "sampled text: with a cache as without" cached_equals --temperature 1 --top-k 9 --top-p 0.9
check "sampled text with --min-p too" cached_equals --temperature 2 --top-p 0.9 --min-p 0.3
min_p_of_one() { cmp <(write --temperature 2 --min-p 1) <(write --temperature 0); }
check "--min-p 1 leaves the most likely token" min_p_of_one
model=$TMP/griffin/best
check "griffin: greedy text, six times the context" cached_equals --temperature 0
check "griffin: sampled text" cached_equals --temperature 0.8 --repetition-penalty 1.1
model=$TMP/half/best
check "launch by launch as a graph, in bf16" sh -c "
    '$tinylm' generate --model '$model' --quiet --max-new-tokens 90 >'$TMP/with' &&
        '$tinylm' generate --model '$model' --quiet --max-new-tokens 90 --no-graph | cmp - '$TMP/with'"
model=$TMP/a/best
three() {
    write --max-new-tokens 60 --batch 3 --seed 5 >"$TMP/with" && write --max-new-tokens 60 --seed 7 >"$TMP/one" &&
        sed '1,/^--- seed 7/d' "$TMP/with" | cmp - "$TMP/one"
}
check "a batch of three: the third is that of its seed alone" three
lines() {
    printf 'The miller\nThe 3\n' >"$TMP/prompts"
    write_none() { "$tinylm" generate --model "$model" --quiet --max-new-tokens 20 "$@"; }
    write_none --prompts "$TMP/prompts" --seed 5 >"$TMP/with" &&
        write_none --prompt "The 3" --seed 6 >"$TMP/one" &&
        sed '1,/^--- seed 6/d' "$TMP/with" | cmp - "$TMP/one"
}
check "--prompts: each line a sequence, the second as alone" lines
# Its only vocabulary: o, n, e.
printf 'one%.0s' $(seq 1000) >"$TMP/ones"
make_train() { # twice: the second replaces the first
    for round in 1 2; do
        make -s tinylm-train BACKEND="$BACKEND" OUT="$TMP/ones_run" DATA="$TMP/ones" \
            ARGS="$small --steps $((round + 2))" || return 1
    done
    [ -d "$TMP/ones_run/previous/best" ] && tail -1 "$TMP/ones_run/train.csv" | grep -q ^4,
}
check "make tinylm-train of a text without a newline, twice" make_train
make_generate() {
    make -s tinylm-generate BACKEND="$BACKEND" OUT="$TMP/ones_run" ARGS="--max-new-tokens 9" "$@"
}
check_says "make tinylm-generate without a prompt" "tokens/s" make_generate
check_says "and with one" noon make_generate PROMPT=noon
seeds_differ() { [ "$(write --seed 1)" = "$(write --seed 1)" ] && [ "$(write --seed 1)" != "$(write --seed 2)" ]; }
check "one seed gives one text, another another" seeds_differ
check "a prompt longer than the context" write --max-new-tokens 5 --prompt "$(head -c 300 "$text")"
for run in ${TORCH_PYTHON:+a half griffin griffin16}; do
    check "transformers opens it, with equal logits and tokens: $run" \
        "$TORCH_PYTHON" tools/check_transformers.py "$programs/logits" "$TMP/$run/best" \
        "The miller counts 3 sacks"
done

# --- every error is one line ------------------------------------------------------------
# WHAT WORDS COMMAND...: one_line: an error, exit 1; usage: a wrong option, exit 2
one_line() { complains 1 "$@"; }
usage() { complains 2 "$@"; }
wrong() { usage "$1" "$2" "$tinylm" train --quiet --out "$TMP/bad" "${@:3}"; }
bad() { one_line "$1" "$2" "$tinylm" train --quiet --out "$TMP/bad" "${@:3}"; }
: >"$TMP/empty"
printf 'a\000b' >"$TMP/zero"
head -c 5000 /dev/urandom >"$TMP/noise"
head -c 300 "$text" >"$TMP/short"
wrong "no text" "give --data"
bad "a missing text" "$TMP/none: No such file" --data "$TMP/none"
bad "an empty text" "is empty" --data "$TMP/empty"
bad "a binary text" "is not UTF-8 text" --data "$TMP/noise"
bad "a zero byte" "byte 0x00 at 1 is not UTF-8" --data "$TMP/zero"
bad "a folder for a text" "not a regular file" --data "$TMP"
bad "a context longer than the text" "too short for --context 64" --data "$TMP/short"
wrong "an unknown preset" "no preset 'nope': there are" --preset nope --data "$text"
wrong "an unknown option" "unknown option --nope (see --help)" --nope 3 --data "$text"
wrong "a misspelt option" "unknown option --wramup; did you mean --warmup?" --wramup 3
wrong "an option of another command" "unknown option --top-k" --top-k 3 --data "$text"
wrong "an option without its value" "--steps needs a value" --data "$text" --steps
wrong "a word that is not an option" "'steps' is not an option" steps 3
wrong "no number" "--steps: 'ten' is not a whole number" --steps ten --data "$text"
wrong "a number outside of its limits" "--dropout: '1' is not a number from" --dropout 1
wrong "NaN as a number" "--lr: 'nan' is not" --lr nan
wrong "heads that do not divide" "--heads 3 does not divide --channels 32" \
    --data "$text" --heads 3 --channels 32
wrong "key heads that do not divide" "3 key/value heads do not divide 4" --data "$text" --kv-heads 3
wrong "odd heads" "RoPE needs an even number" --data "$text" --channels 36 --heads 4
wrong "a model that is too large" "too large" --data "$text" --channels 1000000000 --heads 1
wrong "an unknown schedule" "--schedule step: give" --data "$text" --schedule step
wrong "an unknown architecture" "--arch gru: give" --data "$text" --arch gru
wrong "an unknown attention" "--attention lab5: give" --data "$text" --attention lab5
wrong "heads that lab 05 does not take" "lab 05 takes heads of 16 to 256" \
    --data "$text" --attention lab05 --channels 32
wrong "griffin with heads that lab 05 does not take" "lab 05 takes heads of 16 to 256" \
    --data "$text" --arch griffin --channels 32
wrong "griffin by GEMMs" "--attention gemm has none" --data "$text" $griffin --attention gemm
wrong "griffin with an output matrix of its own" "tied = 1" --data "$text" $griffin --tied 0
wrong "blocks of an unknown kind" "layers 'rxa': give r" --data "$text" $griffin --blocks rxa
wrong "gates that do not divide" "33 recurrent channels do not make 2" \
    --data "$text" $griffin --recurrent 33
wrong "an unknown dtype" "--dtype f8: give" --data "$text" --dtype f8
wrong "an unknown tokenizer" "--tokenizer words: give" --data "$text" --tokenizer words
bad "nothing to resume" "there is no run to resume" --data "$text" --resume
printf 'layers = 2\nfoo = 3\n' >"$TMP/preset"
wrong "a preset with an unknown line" "$TMP/preset:2: foo: not a line" --preset "$TMP/preset"
one_line "a folder that cannot be made" "cannot create folder" \
    "$tinylm" train --data "$text" $small --out "$text/run"
one_line "an unwritable place" "annot" "$tinylm" train --data "$text" $small --out /proc/run
one_line "another text on resume" "not the text that this run is training on" \
    "$tinylm" train --data "$TMP/lines" --out "$TMP/a" --resume --quiet
usage "another model on resume" "--resume cannot change --layers" \
    "$tinylm" train --data "$text" --out "$TMP/a" --resume --layers 3
usage "another architecture on resume" "--resume cannot change --arch" \
    "$tinylm" train --data "$text" --out "$TMP/a" --resume --arch griffin
usage "an unknown option" "unknown option --tempreature; did you mean --temperature?" \
    "$tinylm" generate --tempreature 1
for old in "checkpoint model" "tokens max-new-tokens" "texts batch" "penalty repetition-penalty" \
    "graph no-graph" "cache no-cache"; do
    usage "the former --${old% *}" "unknown option --${old% *}; did you mean --${old#* }?" \
        "$tinylm" generate "--${old% *}" 1
done
usage "an unknown command" "no command 'sing'" "$tinylm" sing
usage "no model" "give --model" "$tinylm" generate
usage "no new tokens" "--max-new-tokens 0: nothing to generate" \
    "$tinylm" generate --model "$model" --max-new-tokens 0
usage "two prompts" "--prompt and --prompts do not go together" \
    "$tinylm" generate --model "$model" --prompt a --prompts "$TMP/prompts"
one_line "a missing checkpoint" "config.json: No such file" "$tinylm" generate --model "$TMP"
usage "an empty prompt" "--prompt is empty" write --prompt ""
one_line "an unknown character" "'#' (U+0023) is not in the model's vocabulary" \
    write --prompt "#"
damage() { # NAME: a copy of the checkpoint to break
    rm -rf "$TMP/broken" && cp -r "$TMP/a/last" "$TMP/broken"
}
broken() { one_line "$1" "$2" "$tinylm" "${3:-generate}" --model "$TMP/broken" --quiet "${@:4}"; }
damage; truncate -s 5000 "$TMP/broken/model.safetensors"
broken "a truncated checkpoint" "model.safetensors: tensor"
damage; : >"$TMP/broken/model.safetensors"
broken "an empty checkpoint" "model.safetensors: is empty"
damage; echo '{' >"$TMP/broken/config.json"
broken "a broken config" "config.json: not valid JSON"
damage; sed -i 's/"hidden_size": 32/"hidden_size": 64/' "$TMP/broken/config.json"
broken "a config of another model" "is F32 (31,32), not F32 (31,64)"
damage; sed -i 's/"llama"/"gpt2"/' "$TMP/broken/config.json"
broken "a config of another architecture" "model_type is not llama or"
damage; rm "$TMP/broken/tokenizer.json"
broken "no tokenizer" "tokenizer.json: No such file"
damage; mkdir "$TMP/broken/last"; head -c 3000 "$TMP/broken/training.safetensors" >"$TMP/broken/last/training.safetensors"
one_line "a truncated training state" "training.safetensors:" \
    "$tinylm" train --resume --out "$TMP/broken" --data "$text"
damage_tensor() { # FILE TENSOR VALUE [KEY]: its element 3; or KEY=VALUE of the metadata
    "$PYTHON" - "$TMP/broken/$1" "${@:2}" <<'END'
import json, struct, sys
path, name, value, key = sys.argv[1:] + [None] * (5 - len(sys.argv))
data = bytearray(open(path, "rb").read())
n, = struct.unpack_from("<Q", data)
head = json.loads(data[8:8 + n])
if key:
    head["__metadata__"][key] = value
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    data[:8 + n] = struct.pack("<Q", len(text)) + text
else:
    at = 8 + n + head[name]["data_offsets"][0] + 3 * 4
    if value == "flip":
        data[at] ^= 1
    else:
        struct.pack_into("<f", data, at, float(value))
open(path, "wb").write(data)
END
}
for value in nan inf -inf; do
    damage; damage_tensor model.safetensors model.norm.weight $value
    broken "a weight that is $value" "tensor 'model.norm.weight': element 3 is NaN or infinite"
done
broken "the same by eval" "tensor 'model.norm.weight': element 3 is" eval --data "$text"
for run in half griffin16; do # all ones in the last 2 bytes: NaN in bf16
    rm -rf "$TMP/broken" && cp -r "$TMP/$run/last" "$TMP/broken" && truncate -s -2 "$TMP/broken/model.safetensors" &&
        printf '\377\377' >>"$TMP/broken/model.safetensors"
    broken "a weight that is NaN in bf16: $run" "is NaN or infinite"
done
resume_broken() { # WHAT WORDS ARGUMENTS of damage_tensor...
    rm -rf "$TMP/broken" && mkdir "$TMP/broken" && cp -r "$TMP/a/last" "$TMP/broken/"
    damage_tensor last/training.safetensors "${@:3}"
    one_line "$1" "$2" "$tinylm" train --resume --out "$TMP/broken" --data "$text"
}
for tensor in weights adam_m adam_v train; do
    resume_broken "a flipped bit on resume: $tensor" "the checksum is wrong: the file is damaged" \
        $tensor flip
done
for bad in best=nan best= best=1x best_step=-1 best_step=x text=12; do
    resume_broken "$bad on resume" "metadata ${bad%=*}='${bad#*=}': the file is damaged" \
        - "${bad#*=}" "${bad%=*}"
done
resume_broken "another best on resume" "the checksum is wrong" - 0.5 best
check_says "help" "--accum N" "$tinylm" train --help
full_disk() { # WHAT ARGUMENTS...
    one_line "stdout on a full disk: $1" "tinylm: stdout: cannot write: No space left" \
        sh -c '"$@" >/dev/full' sh "$tinylm" "${@:2}"
}
full_disk "help" --help
full_disk "help of a command" train --help
full_disk "a text" generate --model "$model" --quiet
full_disk "texts" generate --model "$model" --quiet --batch 2
full_disk "a loss" eval --model "$model" --data "$text" --quiet
full_disk "a training" train --data "$text" $small --quiet 0 --out "$TMP/bad"
tap_done
