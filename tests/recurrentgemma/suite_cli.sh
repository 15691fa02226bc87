#!/usr/bin/env bash
# The program recurrentgemma: every option, every error, every way to end. The model is
# tests/recurrentgemma/tiny, whose tokens and logits are known.
. "$(dirname "$0")/program.sh"

greedy() { # SUFFIX: what the two prompts must give
    cli ids $fixture "long.greedy${1-}" && cli ids $fixture "short.greedy${1-}"
}

# --- token ids in and out ---------------------------------------------------------------
gives() { # WANTED ARGUMENTS...
    cmp <(ids "${@:2}") "$1"
}
greedy >"$TMP/want"
greedy _hfwin >"$TMP/want_hf"
sed -n 1p "$TMP/want" >"$TMP/want_long"
sed -n 2p "$TMP/want" >"$TMP/want_short"
check "two prompts of 45 and 5 tokens as a batch: every token" gives "$TMP/want" --tokens "$TMP/both"
check "--ids says the same" gives "$TMP/want" --tokens "$TMP/both" --ids
check "the long prompt alone" gives "$TMP/want_long" --tokens "$TMP/long"
check "the short prompt alone" gives "$TMP/want_short" --tokens "$TMP/short"
check "--hf-window" gives "$TMP/want_hf" --tokens "$TMP/both" --hf-window
for n in 1 3 16; do
    check "--chunk $n" gives "$TMP/want" --tokens "$TMP/both" --chunk $n
done
check "--no-graph" gives "$TMP/want" --tokens "$TMP/both" --no-graph
check "--context of just enough" gives "$TMP/want" --tokens "$TMP/both" --context 85
check "--dtype f32" gives "$TMP/want" --tokens "$TMP/both" --dtype f32
check "--temperature with --top-k 1" gives "$TMP/want" --tokens "$TMP/both" --temperature 9 --top-k 1
check "--top-p of next to nothing" gives "$TMP/want" --tokens "$TMP/both" --temperature 2 --top-p 1e-6
bf16() { ids --dtype bf16 --tokens "$TMP/both" | awk 'NF != 40 {exit 1} END {exit NR != 2}'; }
check "--dtype bf16" bf16
seeded() { ids --temperature 1.5 "$@"; }
sequences_of_seeds() {
    { seeded --tokens "$TMP/long" --seed 7; seeded --tokens "$TMP/short" --seed 8; } >"$TMP/singles"
    cmp <(seeded --tokens "$TMP/both" --seed 7) "$TMP/singles" &&
        cmp <(seeded --tokens "$TMP/both" --seed 7 --chunk 4) "$TMP/singles" &&
        ! cmp -s <(seeded --tokens "$TMP/both" --seed 9) "$TMP/singles"
}
check "--seed: sequence b is that of seed + b, alone or not" sequences_of_seeds
penalty() { ! cmp -s <(ids --tokens "$TMP/both" --repetition-penalty 5) "$TMP/want"; }
check "--repetition-penalty" penalty
"$PYTHON" tests/recurrentgemma/min_p.py "$rg" $tiny || tap_failed=1
folder eos
sed -i 's/"eos_token_id": 1/"eos_token_id": [18, 200]/' "$TMP/eos/config.json"
stops() { # SED of the wanted line, ARGUMENTS
    cmp <("$rg" --model "$TMP/eos" --quiet --max-new-tokens 40 --temperature 0 --tokens "$TMP/both" "${@:2}") \
        <(sed -E "$1" "$TMP/want")
}
check "end-of-sequence tokens, each sequence its own" stops 's/ (18|200) .*/ \1/'
check "--ignore-eos" stops '' --ignore-eos
mv "$TMP/eos/config.json" "$TMP/ends.json" && cp $tiny/config.json "$TMP/eos"
echo '{"eos_token_id": [18, 200], "max_length": 9}' >"$TMP/eos/generation_config.json"
check "end-of-sequence tokens of generation_config.json alone" stops 's/ (18|200) .*/ \1/'
cp "$TMP/ends.json" "$TMP/eos/config.json"
echo '{"eos_token_id": 18}' >"$TMP/eos/generation_config.json"
check "they replace those of config.json" stops 's/ 18 .*/ 18/'
echo '{"eos_token_id": null}' >"$TMP/eos/generation_config.json"
check "a file that lists none replaces nothing" stops 's/ (18|200) .*/ \1/'
nothing() { [ -z "$(ids --tokens "$TMP/both" --max-new-tokens 0)" ]; }
check "--max-new-tokens 0" nothing
last_one() { [ "$(ids --tokens "$TMP/long" --max-new-tokens 1)" = "$(cut -d' ' -f1 "$TMP/want_long")" ]; }
check "--max-new-tokens 1" last_one
separators() {
    printf ' 5,6\t7 , 8\r\n9\n' >"$TMP/list" && printf '5 6 7 8\n9' >"$TMP/plain" &&
        cmp <(ids --tokens "$TMP/list") <(ids --tokens "$TMP/plain")
}
check "ids separated by commas, spaces, tabs; lines of either kind" separators

# --- logits -----------------------------------------------------------------------------
logits() { ids --max-new-tokens 0 --tokens "$TMP/both" --logits-out "$@"; }
scored() { logits "$TMP/logits" && cli equal "$TMP/logits" $fixture && [ -z "$(ls "$TMP"/logits?*)" ]; }
check "--logits-out: every logit within 1e-4, NaN in padding" scored
in_chunks() { logits "$TMP/chunked" --chunk "$1" && cli near "$TMP/chunked" "$TMP/logits"; }
for n in 1 15 17; do
    check "--logits-out in chunks of $n" in_chunks $n
done
echo 200 >"$TMP/one"
check "--logits-out of one token" ids --max-new-tokens 0 --tokens "$TMP/one" --logits-out "$TMP/x"
again() { logits "$TMP/again" && cli same "$TMP/again" "$TMP/logits"; }
check "--logits-out again: the same bits" again
of_long() { ids --max-new-tokens 0 --tokens "$TMP/long" --logits-out "$@"; }
of_long "$TMP/of_long"
linked() { # the link stays, and what it links to is written, new or not
    rm -f "$TMP/target" && ln -sf target "$TMP/link" && of_long "$TMP/link" &&
        of_long "$TMP/link" && [ -L "$TMP/link" ] && cmp "$TMP/target" "$TMP/of_long"
}
check "--logits-out to a symbolic link" linked
device() { ln -sf "/dev/$1" "$TMP/device" && of_long "$TMP/device"; }
check "--logits-out to a device" device null
check "  which stays a device" test -L "$TMP/device" -a -c "$TMP/device"
check_fails "--logits-out to a device that is full" "device: cannot write: No space left" device full
to_pipe() { of_long /dev/stdout | cmp - "$TMP/of_long"; }
check "--logits-out to a pipe" to_pipe
to_open_file() { # PATH: an open file keeps its content, and takes what is written later
    { echo before && of_long "$1" && echo after; } >"$TMP/open" 2>&1 7>&1 &&
        cmp "$TMP/open" <(echo before; cat "$TMP/of_long"; echo after)
}
for path in /dev/stdout /dev/stderr /dev/fd/7 /proc/self/fd/1; do
    check "--logits-out to $path" to_open_file $path
done
appended() {
    echo before >"$TMP/open" && of_long /dev/stdout >>"$TMP/open" &&
        cmp "$TMP/open" <(echo before; cat "$TMP/of_long")
}
check "--logits-out to /dev/stdout, appended to a file" appended
check_fails "--logits-out in chunks of two sequences to /dev/stdout" "only be written in order" \
    sh -c "'$rg' $model --quiet --tokens '$TMP/both' --chunk 3 --logits-out /dev/stdout >'$TMP/open'"
mixed_to_pipe() (set -o pipefail; logits /dev/fd/3 --chunk 3 3>&1 >/dev/null | tail -c 1 >/dev/null)
check_fails "--logits-out in chunks of two sequences to a pipe" "only be written in order" \
    mixed_to_pipe
keys_said() { # WANTED MODEL OPTIONS...
    "$rg" --model "$2" --quiet --tokens "$TMP/one" --logits-out "$TMP/x" "${@:3}" &&
        head -c 500 "$TMP/x" | grep -qF "\"keys\":\"$1\""
}
check "the file says that a token saw W+1 keys" keys_said "window + 1" $tiny
check "or W, by --hf-window" keys_said window $tiny --hf-window
"$B/recurrentgemma-random" --hf-window "$TMP/hf" >/dev/null
check "or by the model's config.json" keys_said window "$TMP/hf"
check "--logits-out and new tokens" gives "$TMP/want" --tokens "$TMP/both" --logits-out "$TMP/x"
quiet() { [ -z "$("$rg" --model $tiny --tokens "$TMP/both" --logits-out "$TMP/x" --quiet 2>&1)" ]; }
check "--logits-out alone writes no text" quiet
check "the metadata of the file" grep -q '"window":"16"' "$TMP/logits"

# --- text -------------------------------------------------------------------------------
with_bytes
write --prompt "The miller" >"$TMP/streamed"
check "a text" test -s "$TMP/streamed"
piped() { cmp <(printf 'The miller' | write) "$TMP/streamed" && cmp <(echo 'The miller' | write) "$TMP/streamed"; }
check "stdin instead of --prompt, with a newline or without" piped
echoed() { cmp <(write --prompt "The miller" --echo) <(printf 'The miller' && cat "$TMP/streamed"); }
check "--echo: the prompt in front" echoed
printf 'The miller\n' >"$TMP/prompt"
given() { # WANTED ARGUMENTS...: the prompt from stdin or a file
    cmp <(write "${@:2}" <"$TMP/prompt") "$TMP/streamed"
}
check "--prompt -: from stdin" given "$TMP/streamed" --prompt -
check "--prompt-file" given "$TMP/streamed" --prompt-file "$TMP/prompt"
from_pipe() { cmp <(write --prompt-file <(cat "$TMP/prompt")) "$TMP/streamed"; }
check "--prompt-file of a pipe" from_pipe
echoed_file() { cmp <(write --prompt-file "$TMP/prompt" --echo) <(printf 'The miller' && cat "$TMP/streamed"); }
check "--echo of a file" echoed_file
printf 'The miller\nA bird\r\nThe mill\n' >"$TMP/prompts"
headed() {
    write --prompts "$TMP/prompts" >"$TMP/batch" && {
        echo "--- 1: The miller" && cat "$TMP/streamed" &&
            printf '\n--- 2: A bird\n' && write --prompt "A bird" &&
            printf '\n--- 3: The mill\n' && write --prompt "The mill"
    } | cmp - "$TMP/batch"
}
check "--prompts: each as alone, in order" headed
shared() { # ARGUMENTS: as on one device
    write "$@" >"$TMP/one_device" && for n in 2 3 9; do
        [ $n -gt "$(devices)" ] || write "$@" --devices $n | cmp - "$TMP/one_device" || return 1
    done
}
if [ "$(devices)" -ge 2 ]; then
    check "--devices: prompts shared out, the same output" shared --prompts "$TMP/prompts"
    check "--devices: the same seeds" shared --prompt "The miller" --temperature 1 --seed 4 --batch 5
fi
repeated() {
    write --prompt "The miller" --temperature 1 --seed 4 --batch 3 --ids >"$TMP/batch" &&
        for seed in 4 5 6; do
            write --prompt "The miller" --temperature 1 --seed $seed --ids
        done | cmp - "$TMP/batch"
}
check "--batch: one prompt, a seed for each sequence" repeated
printf 'The miller' | od -An -tu1 >"$TMP/miller"
# Every byte is a token, so these texts begin and end inside a run of tokens.
stopped_by() { # "OPTIONS" STOP...
    local one=() option=() word
    for word in "${@:2}"; do one+=("$word") && option+=(--stop "$word"); done
    write --prompt "The miller" $1 >"$TMP/free" && write --prompt "The miller" $1 "${option[@]}" >"$TMP/cut" &&
        cli cut "$TMP/free" "${one[@]}" | cmp - "$TMP/cut" && ! cmp -s "$TMP/free" "$TMP/cut"
}
check "--stop: the text ends before it" stopped_by "" rAA
check "--stop several times: the text ends before the first" stopped_by "" A22 rrrA none
sampled="--batch 3 --temperature 1 --seed 4"
check "--stop in a batch: each sequence where it must" stopped_by "$sampled" xx LL
check "--stop of tokens" eval 'cmp <(write --tokens "$TMP/miller" --stop rAA) <(write --prompt "The miller" --stop rAA)'
check "--stop of a text that does not come" eval 'write --prompt "The miller" --stop none | cmp - "$TMP/streamed"'
as_tokens() {
    cmp <(write --tokens "$TMP/miller") "$TMP/streamed"
}
check "--tokens with a tokenizer writes text" as_tokens
tokens_from_pipe() { cmp <(write --tokens <(cat "$TMP/miller")) "$TMP/streamed"; }
check "--tokens of a pipe" tokens_from_pipe
prompt_ids() { cmp <(write --prompt "The miller" --ids) <(write --tokens "$TMP/miller" --ids); }
check "--prompt --ids" prompt_ids
long_prompt() {
    head -c 20000 /dev/zero | tr '\0' x >"$TMP/xs" && "$rg" --model "$TMP/bytes" --quiet \
        --max-new-tokens 2 --chunk 512 --ids <"$TMP/xs" | awk 'NF != 2 {exit 1}'
}
check "a prompt of 20000 tokens" long_prompt
spoken() {
    "$rg" --model "$TMP/bytes" --prompt ab --max-new-tokens 9 >"$TMP/stdout" 2>"$TMP/stderr" &&
        for word in 'kernels: [0-9]* of [1-9][0-9]* are yours' 'model .* 5 layers (1 with' \
            '0.27 M parameters, f32' 'memory weights [1-9].* loaded in' 'prefill *2 tokens' \
            'decode *9 tokens.* tokens/s' 'memory *[1-9][0-9.]* MB on the device'; do
            grep -q "$word" "$TMP/stderr" || { echo "no '$word'"; cat "$TMP/stderr"; return 1; }
        done
}
check "kernels, model, memory and speed on stderr" spoken
check "one line about the kernels" test "$(grep -c 'kernels\|_forward' "$TMP/stderr")" = 1
listed() {
    write --prompt ab --kernels 2>&1 >/dev/null | grep -q 'rmsnorm_forward .*\(solution\|yours\)'
}
check "--kernels lists them, --quiet or not" listed
silent() { [ -z "$(write --prompt ab 2>&1 >/dev/null)" ]; }
check "--quiet" silent

# --- chat: more in suite_chat.sh --------------------------------------------------------
fails "a chat with a tokenizer without turns" "--chat" --model "$TMP/bytes" --chat

# --- benchmark --------------------------------------------------------------------------
measured() {
    rm -f "$TMP/json" && "$rg" --model $tiny --bench 1x20x5,3x4x1 --seed 3 --json "$TMP/json" --quiet >"$TMP/table" &&
        grep -q 'random tokens of seed 3' "$TMP/table" && grep -Eq '^1x20x5 ' "$TMP/table" &&
        grep -Eq '^3x4x1 ' "$TMP/table" && "$PYTHON" -c "
import json
a, b = map(json.loads, open('$TMP/json'))
assert (a['rows'], a['read'], a['written'], b['rows']) == (1, 20, 5, 3), a
assert a['step_ms'] > 0 and a['prefill_ms'] > 0 and a['copy_GBs'] > 0 and a['repeats'] >= 1
table, mlp = 256 * 64, 3 * 64 * 192
layers = 20 * (274112 - table) - 19 * mlp
assert 0.9 < (a['prefill_flops'] / 2 - table) / layers < 1.1, a
assert 274112 * 4 < a['step_bytes'] < 274112 * 4 * 1.1, a"
}
check "--bench: a row for each case, lines of JSON, lower bounds by the sizes" measured
shared_bench() {
    "$rg" $model --bench 6x20x5 --devices 2 --json "$TMP/json2" --quiet | grep -Eq '^6x20x5 ' &&
        json "$TMP/json2" "(r['devices'], r['rows']) == (2, 6) and r['step_ms'] > 0"
}
[ "$(devices)" -lt 2 ] || check "--bench on two devices: the row of the whole batch" shared_bench
bench_stopped() { # before the first result
    "$rg" $model --bench 64x20000x2 >"$TMP/stdout" 2>"$TMP/stderr" &
    local pid=$! i=0
    until [ -s "$TMP/stderr" ] || [ $((i += 1)) -gt 400 ]; do sleep 0.05; done
    sleep 0.2; kill -INT $pid; wait $pid
    [ $? = 130 ] && [ ! -s "$TMP/stdout" ] && [ "$(wc -l <"$TMP/stderr")" = 1 ]
}
check "Ctrl-C during --bench: 130 and no error" bench_stopped

# --- every error is one line ------------------------------------------------------------
helps() { "$rg" --help >"$TMP/help" && [ "$(grep -c '^  --' "$TMP/help")" = 33 ]; }
check "--help lists every option" helps
check "-h too, after other options" eval '"$rg" --quiet -h | cmp - "$TMP/help"'
check_says "--version" "recurrentgemma " "$rg" --quiet --version
as_a_value() { # the word after an option is its value
    printf -- -h | write >"$TMP/want_h" && write --prompt -h | cmp - "$TMP/want_h" &&
        write --stop --version --prompt "The miller" | cmp - "$TMP/streamed"
}
check "as the value of an option, neither -h nor --version is an option" as_a_value
check_says "nor is -h for recurrentgemma-random" "--preset -h: give 2b" \
    exits 2 "$B/recurrentgemma-random" --preset -h "$TMP/none"
refuses "no model" "give --model FOLDER"
fails "a folder that does not exist" "no such folder" --model "$TMP/none" --prompt x
fails "a folder without a model" "config.json" --model "$TMP/run" --tokens "$TMP/long"
fails "no tokenizer" "--tokens FILE" $model --prompt x
ends() { # WORDS JSON: a generation_config.json
    echo "$2" >"$TMP/eos/generation_config.json"
    fails "$2" "generation_config.json: $1" --model "$TMP/eos" --tokens "$TMP/long"
}
ends "eos_token_id is not a token id or a list of them" '{"eos_token_id": [1, "x"]}'
ends "eos_token_id lists 9 tokens: up to 8" '{"eos_token_id": [1, 2, 3, 4, 5, 6, 7, 8, 9]}'
ends "not valid JSON" '{"eos_token_id": '
ends "not a JSON object" '[1]'
folder broken && echo '{}' >"$TMP/broken/tokenizer.json"
fails "a broken tokenizer" "broken/tokenizer.json" --model "$TMP/broken" --prompt x
fails "a broken tokenizer, with ids given" "(--ids needs none)" --model "$TMP/broken" --tokens "$TMP/long"
check "--tokens --ids reads no tokenizer" \
    "$rg" --model "$TMP/broken" --tokens "$TMP/long" --ids --max-new-tokens 3
refuses "an unknown option" "unknown option --waaat (see --help)" $model --waaat
refuses "a misspelt option" "unknown option --tempreature; did you mean --temperature?" $model --tempreature 1
refuses "a former name" "unknown option --penalty; did you mean --repetition-penalty?" $model --penalty 2
refuses "an unknown option, with a value" "unknown option --promt; did you mean --prompt?" $model --promt=x
check_says "of recurrentgemma-random" "unknown option --sed; did you mean --seed?" \
    exits 2 "$B/recurrentgemma-random" --sed 1 "$TMP/none"
refuses "a word that is not an option" "'wat' is not an option" $model wat
refuses "a value that is missing" "--prompt needs a value" $model --prompt
for bad in "--max-new-tokens x" "--max-new-tokens -2" "--temperature -1" "--temperature nan" "--top-k -1" \
    "--top-p 0" "--top-p 1.1" "--min-p -1" "--min-p 1.1" "--repetition-penalty 0" "--seed -1" "--chunk -1" "--context 1e3" "--dtype f16"; do
    refuses "$bad" "${bad% *}: '" $model --tokens "$TMP/long" $bad
done
refuses "two texts" "--prompt and --tokens do not go together" $model --prompt x --tokens "$TMP/long"
refuses "a batch of ids" "--batch and --tokens do not go together" $model --batch 2 --tokens "$TMP/long"
refuses "a batch with the prompt in front" "--batch and --echo" $model --batch 2 --prompt x --echo
refuses "a prompt and a file" "--prompt and --prompt-file do not" $model --prompt x --prompt-file x
refuses "devices for one sequence" "--devices shares the sequences of a batch" $model --prompt x --devices 2
refuses "devices and a state" "--devices and --save-state do not go together" \
    $model --tokens "$TMP/both" --devices 2 --save-state "$TMP/x"
fails "sequences that do not divide" "--bench: 3 sequences: give a multiple of --devices 2" \
    $model --bench 3x4x2 --devices 2
printf '1 2\n3 999\n' >"$TMP/beyond"
# The first device may have printed its sequence before.
[ "$(devices)" -lt 2 ] || complains 1 "an error: one of several devices" \
    "GPU 1: $TMP/beyond:2: token id 999" sh -c '"$@" >"$0"' "$TMP/tokens" \
    "$rg" $model --quiet --tokens "$TMP/beyond" --devices 2 </dev/null
refuses "a file of prompts and one" "--prompt-file and --prompts do not" $model --prompt-file x --prompts x
fails "a prompt file that does not exist" "nofile: No such file" --model "$TMP/bytes" --prompt-file "$TMP/nofile"
refuses "the echo of a chat" "leave out --chat" $model --chat --echo
refuses "a chat with a prompt" "do not go together" $model --prompt x --chat
refuses "a chat of ids" "--ids and --chat" $model --ids --chat
refuses "a chat without answers" "--chat and --max-new-tokens 0" $model --chat --max-new-tokens 0
refuses "a chat without BOS" "--no-bos and --chat" $model --chat --no-bos
refuses "a chat without ends" "--ignore-eos and --chat" $model --chat --ignore-eos
refuses "a stop text and ids" "--stop and --ids do not go together" \
    --model "$TMP/bytes" --prompt x --ids --stop y
refuses "a stop text in a chat" "--stop and --chat do not" $model --chat --stop y
refuses "an empty stop text" "--stop is empty" $model --prompt x --stop ""
refuses "65 stop texts" "--stop: given more than 64 times" $model --prompt x $(printf -- '--stop %d ' {1..65})
fails "a stop text without a tokenizer" "no tokenizer.model" $model --tokens "$TMP/long" --stop y
refuses "the echo of ids" "leave out --ids" --model "$TMP/bytes" --prompt x --echo --ids
refuses "the echo of a file" "--echo shows the prompt: leave out --tokens" $model --tokens "$TMP/long" --echo
refuses "logits of a chat" "--logits-out and --chat" $model --chat --logits-out x
refuses "--json of nothing" "--bench" $model --prompt x --json x
for bad in 1 1x2 0x1x1 1x2x0 1x2x3x4 1x2x3,,1x2x3 ax1x1 -1x1x1 1x99999999999x1; do
    refuses "--bench $bad" "is not BxPxG" $model --bench $bad
done
refuses "an empty prompt" "--prompt is empty" --model "$TMP/bytes" --prompt ""
fails "an empty stdin" "stdin: an empty prompt" --model "$TMP/bytes"
printf 'one\n\nthree\n' >"$TMP/gap"
fails "an empty line of prompts" "gap:2: an empty prompt" --model "$TMP/bytes" --prompts "$TMP/gap"
: >"$TMP/empty"
fails "an empty file of prompts" "empty: an empty file" --model "$TMP/bytes" --prompts "$TMP/empty"
fails "an empty file of tokens" "empty: an empty file" $model --tokens "$TMP/empty"
fails "a file that is not there" "nofile: No such file" $model --tokens "$TMP/nofile"
fails "a folder as a file" "not a regular file" $model --tokens "$TMP"
wrong() { # WORDS LINES
    printf -- "$2" >"$TMP/wrong" && fails "tokens '$2'" "$1" $model --tokens "$TMP/wrong"
}
wrong "wrong:2: 'x'" '1 2\nx 3\n'
wrong "wrong:1: '3x'" '1 3x\n'
wrong "wrong:1: '-1'" '-1\n'
wrong "wrong:1: '1.5'" '1.5\n'
wrong "wrong:1: '99999999999'" '99999999999\n'
wrong "wrong:2: a line without token ids" '1\n , \n2\n'
wrong "wrong:3: token id 256 is outside of the model's vocabulary, 0 to 255" '1\n255\n3 256\n'
fails "a prompt longer than --context" "longer than --context 44" $model --tokens "$TMP/long" --context 44
fails "a prompt and an answer longer than --context" "--max-new-tokens 40" \
    $model --tokens "$TMP/long" --max-new-tokens 40 --context 84
folder other
"$PYTHON" -c 'print(*map(chr, range(0x4E00, 0x4F2C)), sep="")' >"$TMP/signs"
for i in 1 2 3 4; do cat "$TMP/signs"; done >"$TMP/text"
"$B/tinylm" train --data "$TMP/text" --out "$TMP/signs_run" --steps 1 --layers 1 --channels 16 --heads 1 \
    --context 8 --quiet >/dev/null && cp "$TMP/signs_run/last/tokenizer.json" "$TMP/other"
fails "a tokenizer of a larger model" "the tokenizer has 301 tokens, the model 256" \
    --model "$TMP/other" --prompt "$(head -c 3 "$TMP/signs")"

# --- endings ----------------------------------------------------------------------------
endless() { exec "$rg" $model --temperature 0 --tokens "$TMP/long" --ignore-eos --max-new-tokens 1000000; }
begins_alike() { # A B: up to the end of the shorter line
    awk '{for (i = 1; i <= NF; i++) if (NR == 1) want[i] = $i; else if (i in want && want[i] != $i) exit 1}
        END {exit NR != 2}' "$1" "$2"
}
stopped() { # SIGNAL EXIT
    rm -f "$TMP/stdout"
    endless >"$TMP/stdout" 2>"$TMP/stderr" &
    local pid=$! i=0
    until [ -s "$TMP/stdout" ] || [ $((i += 1)) -gt 400 ]; do sleep 0.05; done
    kill -"$1" $pid
    wait $pid
    [ $? = "$2" ] && [ "$(tail -c 1 "$TMP/stdout" | od -An -tx1)" = " 0a" ] &&
        grep -q '^decode' "$TMP/stderr" && grep -q '^memory .* at most' "$TMP/stderr" &&
        begins_alike "$TMP/stdout" "$TMP/want_long"
}
check "Ctrl-C: the text so far, a newline, the summary, 130" stopped INT 130
check "SIGTERM: the same, 143" stopped TERM 143
closed() {
    { (endless 2>"$TMP/stderr"); echo $? >"$TMP/status"; } | head -c 5 >/dev/null
    [ "$(cat "$TMP/status")" = 141 ] && ! grep -q 'cannot write' "$TMP/stderr"
}
check "a closed pipe ends it without an error message" closed
to_full() { "$rg" --quiet "$@" >/dev/full; }
check_fails "a full disk is an error" "No space left" to_full $model --tokens "$TMP/long" --max-new-tokens 5
check_fails "of a batch too" "No space left" to_full $model --tokens "$TMP/both" --max-new-tokens 5
check_fails "of a benchmark too" "No space left" to_full $model --bench 1x2x2
check_fails "of --help too" "cannot write" sh -c "'$rg' --help >/dev/full"
check_fails "of recurrentgemma-random --help too" "cannot write" \
    sh -c "'$B/recurrentgemma-random' --help >/dev/full"
small_disk() { (ulimit -f 40; exec "$rg" $model --quiet --tokens "$TMP/both" --logits-out "$1/logits"); }
mkdir "$TMP/room"
check_fails "--logits-out without room" "File too large" small_disk "$TMP/room"
check "  leaves nothing" test -z "$(ls "$TMP/room")"
fails "--logits-out into no folder" "cannot write" $model --quiet --tokens "$TMP/long" --logits-out "$TMP/none/x"
many() { for i in $(seq 40); do cat "$TMP/long"; done | tr '\n' ' '; echo; }
for i in 1 2 3 4 5 6 7 8; do many; done >"$TMP/many"
scoring() {
    "$rg" $model --tokens "$TMP/many" --chunk 1 --logits-out "$TMP/room/x" --quiet &
    local pid=$! i=0
    until [ -s "$(ls "$TMP"/room/x.*.tmp 2>/dev/null)" ] || [ $((i += 1)) -gt 400 ]; do sleep 0.02; done
    kill -INT $pid
    wait $pid
    [ $? = 130 ] && [ -z "$(ls "$TMP/room")" ]
}
check "Ctrl-C while logits are written leaves no file" scoring
tap_done
