#!/usr/bin/env bash
# recurrentgemma --chat, on the tiny model with a small SentencePiece tokenizer: every
# turn equals that of one prompt with the whole history; contexts that fill up; Ctrl-C.
# Also BOS before prompts.
. "$(dirname "$0")/program.sh"
if ! "$PYTHON" -c 'import sentencepiece' 2>/dev/null || [ -z "$(cat "$B/objects/recurrentgemma/text/sentencepiece.libs" 2>/dev/null)" ]; then
    skip "--chat" "no SentencePiece library"
    tap_done
fi

folder chat
cli train "$TMP/chat"
printf 'The miller counts 3 sacks, and the birds sit: é\n\n' >"$TMP/text"
predicted() { "$rg" --model "$TMP/chat" --quiet --perplexity "$TMP/text" >"$TMP/said" && cli perplexity "$TMP/said" "$TMP/chat" "$TMP/text"; }
check "--perplexity with BOS and pieces of several bytes" predicted
chat() { "$rg" --model "$TMP/chat" --chat --max-new-tokens 30 --temperature 0 "$@"; }
greedy() { "$rg" --model "$TMP/chat" --max-new-tokens 30 --temperature 0 --quiet "$@"; }
answer() { greedy --tokens "$1" "${@:2}"; }
# Each turn as the library encodes it, and the model's ids after all earlier turns.
history() {
    : >"$TMP/history" && : >"$TMP/answers" && : >"$TMP/counts"
    local last=-1
    for line in "a bird" "<end_of_turn> sacks" "the miller"; do
        cli turns "$TMP/chat" $last "$line" >"$TMP/turn"
        wc -w <"$TMP/turn" >>"$TMP/counts"
        tr '\n' ' ' <"$TMP/turn" >>"$TMP/history"
        answer "$TMP/history" >>"$TMP/answers"
        answer "$TMP/history" --ids >"$TMP/said"
        tr '\n' ' ' <"$TMP/said" >>"$TMP/history"
        last=$(awk '{print $NF}' "$TMP/said")
    done
}
history
turns='a bird\n<end_of_turn> sacks\nthe miller\n'
remembered() { printf "$turns" | chat 2>"$TMP/stderr" | cmp - "$TMP/answers"; }
check "--chat answers as if the whole history were one prompt" remembered
costs() { sed -n 's/^\[prefill \([0-9]*\) tokens.*/\1/p' "$TMP/stderr" | cmp - "$TMP/counts"; }
check "--chat prefills only the new tokens" costs
chunked() { printf "$turns" | chat --quiet --chunk 3 | cmp - "$TMP/answers"; }
check "--chat --chunk" chunked
cleared() {
    printf 'sacks\n/clear\n\na bird\n/exit\nthe miller' | chat --quiet | tail -1 |
        cmp - <(head -1 "$TMP/answers")
}
check "/clear and /exit" cleared
full() { printf "$turns" | chat --context 50; }
check_says "a full conversation says so and continues" "/clear starts over" full
brim() { # full in a turn, in an answer or between the two, but no error
    for context in 20 47 48 67 68 75 76 77; do
        printf "$turns" | chat --quiet --context $context >"$TMP/answered" || return 1
        [[ $(head -1 "$TMP/answers") = "$(head -1 "$TMP/answered")"* ]] || return 1
    done
}
check "a context that fills up anywhere ends the answer, not the chat" brim
check "a chat at a terminal: Ctrl-C stops the answer, then the program" cli terminal \
    "$rg" --model "$TMP/chat" --chat --max-new-tokens 1000000 --context 1000000
bos() { # --no-bos is the prompt without it
    "$PYTHON" -c "import sentencepiece as s
print(*s.SentencePieceProcessor(model_file='$TMP/chat/tokenizer.model').encode('the bird'))" >"$TMP/plain"
    sed 's/^/2 /' "$TMP/plain" >"$TMP/begun"
    cmp <(answer "$TMP/plain") <(greedy --prompt 'the bird' --no-bos) &&
        cmp <(answer "$TMP/begun") <(greedy --prompt 'the bird')
}
check "BOS before a prompt, and --no-bos" bos
tap_done
