#!/usr/bin/env bash
# recurrentgemma --perplexity, --save-state and --load-state: texts of any length.
. "$(dirname "$0")/program.sh"
with_bytes
write --prompt "The miller" >"$TMP/streamed"
echo 200 >"$TMP/one"
printf 'The miller\nA bird\n' >"$TMP/prompts"

# --- perplexity -------------------------------------------------------------------------
perplexity() { "$rg" --model "$TMP/bytes" --quiet --perplexity "$@"; }
predicted() { # FILE OPTIONS...
    perplexity "$@" >"$TMP/said" && cli perplexity "$TMP/said" "$TMP/bytes" "$1"
}
printf 'é' >"$TMP/two"
check "--perplexity as by the float64 reference" predicted "$TMP/text"
check "the same in chunks" predicted "$TMP/text" --chunk 7
check "of two bytes" predicted "$TMP/two"
check "of a pipe" eval 'perplexity <(cat "$TMP/text") | cmp - <(perplexity "$TMP/text")'
for i in $(seq 40); do cat "$TMP/text"; done >"$TMP/long_text"
check_says "of a text beyond every default" "over 12239 tokens" perplexity "$TMP/long_text" --chunk 1000
interrupted() { # the sum so far, 130
    for i in $(seq 30); do cat "$TMP/long_text"; done >"$TMP/longer_text"
    "$rg" --model "$TMP/bytes" --chunk 64 --perplexity "$TMP/longer_text" >"$TMP/stdout" 2>"$TMP/stderr" &
    local pid=$! i=0
    until grep -q memory "$TMP/stderr" || [ $((i += 1)) -gt 400 ]; do sleep 0.02; done
    sleep 0.1; kill -INT $pid; wait $pid
    [ $? = 130 ] && { [ ! -s "$TMP/stdout" ] || grep -q '^perplexity .* tokens$' "$TMP/stdout"; }
}
check "Ctrl-C: the perplexity so far, 130" interrupted
check_fails "to a full disk" "cannot write" sh -c "'$rg' --model '$TMP/bytes' --quiet --perplexity '$TMP/two' >/dev/full"
printf x >"$TMP/letter"
fails "the perplexity of one token" "letter: a text of one token predicts nothing" \
    --model "$TMP/bytes" --perplexity "$TMP/letter"
fails "of nothing" "an empty prompt" --model "$TMP/bytes" --perplexity /dev/null
fails "of a file that does not exist" "nofile: No such file" --model "$TMP/bytes" --perplexity "$TMP/nofile"
fails "without a tokenizer" "no tokenizer" $model --perplexity "$TMP/text"
fails "with a shorter context" "more than --context 20" --model "$TMP/bytes" --perplexity "$TMP/text" --context 20
for other in "--prompt x" --ids "--batch 2" "--stop x" "--save-state x" "--logits-out x"; do
    refuses "a perplexity and $other" "do not go together" $model --perplexity "$TMP/text" $other
done

# --- states -----------------------------------------------------------------------------
state=$TMP/state
free_ids() { # tokens that every earlier one and the seed matter for
    "$rg" --model $tiny --quiet --ids --ignore-eos --temperature 1.1 --repetition-penalty 1.3 \
        --seed 5 "$@"
}
free_ids --tokens "$TMP/long" --max-new-tokens 40 >"$TMP/unbroken"
in_parts() { # N: new tokens of the first part, then 17, then the rest
    { free_ids --tokens "$TMP/long" --max-new-tokens "$1" --save-state "$state" &&
        free_ids --load-state "$state" --max-new-tokens 17 --save-state "$state" &&
        free_ids --load-state "$state" --max-new-tokens $((23 - $1)); } | xargs | cmp - "$TMP/unbroken"
}
for n in 1 9; do check "--save-state, --load-state: $n, 17, $((23 - n)) tokens as 40" in_parts $n; done
only_prompt() { # the prompt in two parts, without a sample
    local chunk="--chunk 7"
    cut -d' ' -f1-"$1" "$TMP/long" >"$TMP/part1" && cut -d' ' -f"$(($1 + 1))"- "$TMP/long" >"$TMP/part2" &&
        free_ids --tokens "$TMP/part1" --max-new-tokens 0 --save-state "$state" $chunk &&
        free_ids --load-state "$state" --tokens "$TMP/part2" --max-new-tokens 0 --save-state "$state" &&
        free_ids --load-state "$state" --max-new-tokens 40 | cmp - "$TMP/unbroken"
}
for n in 1 2 30; do check "a prompt in two parts: $n tokens and the rest" only_prompt $n; done
same_size() {
    for i in $(seq 70); do cat "$TMP/long"; done | xargs >"$TMP/longer"
    for text in one long longer; do
        ids --tokens "$TMP/$text" --max-new-tokens 0 --save-state "$TMP/state_$text" || return 1
    done
    [ "$(stat -c %s "$TMP"/state_* | sort -u | wc -l)" = 1 ] && ids --load-state "$TMP/state_longer" --ids
}
check "the state of 3150 tokens is as large as that of 1" same_size
as_text() {
    write --prompt "The mil" --max-new-tokens 0 --save-state "$state" && cmp "$TMP/streamed" \
        <(write --load-state "$state" --prompt ler)
}
check "a text continues a state: no BOS between" as_text
stop_state() { # the stop text is a part of the state
    write --prompt "The miller" --stop rAA --save-state "$state" >"$TMP/one" &&
        write --load-state "$state" >"$TMP/two" && head -c -1 "$TMP/one" | cat - <(printf rAA) "$TMP/two" >"$TMP/got" &&
        cmp -n 60 "$TMP/got" "$TMP/streamed"
}
check "--save-state after --stop: the state ends with the stop text" stop_state
said_size() { grep -q "^state .* 46 tokens in 7\.3 kB" <(free_ids --quiet 0 --tokens "$TMP/long" --max-new-tokens 1 --save-state "$state" 2>&1 >/dev/null); }
check "the size is said" said_size
free_ids --tokens "$TMP/long" --max-new-tokens 3 --save-state "$state" >/dev/null
refuse_state() { fails "a state: $1" "$2" --quiet --ids --model "${3:-$tiny}" --load-state "$TMP/bad" "${@:4}"; }
damaged() { # PYTHON on the bytes d
    "$PYTHON" -c "d = bytearray(open('$state', 'rb').read()); $1; open('$TMP/bad', 'wb').write(d)"
}
folder others
"$PYTHON" - "$TMP/others/model.safetensors" <<'END'
import os, sys
data = bytearray(open(sys.argv[1], "rb").read())
data[-9] ^= 1
os.remove(sys.argv[1])
open(sys.argv[1], "wb").write(data)
END
cp "$state" "$TMP/bad"
refuse_state "of weights that differ in one bit" "bad: the state was saved with other weights" "$TMP/others"
refuse_state "of another dtype" "another dtype" $tiny --dtype bf16
refuse_state "of another window" "another dtype or another hf_window" $tiny --hf-window
refuse_state "that the context does not hold" "raise it" $tiny --context 20
damaged 'd = d[:-1]'; refuse_state "truncated" "bad: cut off: "
damaged 'd = d[:30]'; refuse_state "of 30 bytes" "bad: not a state that --save-state has written"
damaged 'd += b"x"'; refuse_state "longer than it is" "bad: the checksum is wrong: the file is damaged"
for at in 16 40 60 5000; do
    damaged "d[$at] ^= 4"; refuse_state "damaged at byte $at" "bad: the checksum is wrong"
done
damaged 'd[8] = 9'; refuse_state "of another version" "a state of version 9"
cp $tiny/config.json "$TMP/bad"; refuse_state "that is another file" "bad: not a state that --save-state"
rm "$TMP/bad"; refuse_state "that does not exist" "bad: No such file"
for other in --chat "--bench 1x2x2" "--prompts $TMP/prompts" "--logits-out $TMP/x" "--prompt x --batch 2"; do
    refuses "a state and $other" "do not go together: a state is that of one text" $model --save-state "$TMP/x" $other
done
fails "a state of two sequences" "2 lines, but a state is that of one" $model --tokens "$TMP/both" --save-state "$TMP/x"
fails "a state into no folder" "cannot write" $model --quiet --tokens "$TMP/long" --save-state "$TMP/none/x" --max-new-tokens 0
tap_done
