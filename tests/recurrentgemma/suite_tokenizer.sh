#!/usr/bin/env bash
# Text to tokens and back compared with SentencePiece's own binding; broken and missing
# files.
. "$(dirname "$0")/../tap.sh"
text=$B/tests/recurrentgemma/text

corpus=$("$PYTHON" tools/data.py | tail -1)
check "there is a training text" test -s "$corpus"
check "SentencePiece's Python binding is installed (make setup-test)" "$PYTHON" -c 'import sentencepiece'
[ $tap_failed = 0 ] || tap_done
"$PYTHON" tests/recurrentgemma/text.py "$text" "$corpus" "$TMP" || tap_failed=1

# --- files that are wrong: one line, which names the file -------------------------------
good=$TMP/model0/tokenizer.model
mkdir -p "$TMP/bad" "$TMP/none"
refused() { # WHAT WORDS: $TMP/bad is refused with one line and nothing of the library's
    check_fails "refused: $1" "$2" "$text" "$TMP/bad"
    check "  in one line" test "$(wc -l <"$TMP/.out")" = 1
}
bad() { cat >"$TMP/bad/tokenizer.model"; }
: | bad && refused "an empty file" "bad/tokenizer.model: "
head -c 3000 /dev/zero | bad && refused "zeros" "bad/tokenizer.model: "
seq 1000 | bad && refused "another kind of file" "bad/tokenizer.model: "
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 4241003\n' 7 | bad
refused "a pointer of git-lfs" "tokenizer.model: is a Git LFS pointer"
{ cat "$good"; echo rest; } | bad && refused "something after the end" "bad/tokenizer.model: "
size=$(wc -c <"$good")
echo "e $(head -c 3000 "$corpus" | od -An -v -tx1 | tr -d ' \n')" >"$TMP/sample"
wanted=$("$text" "$TMP/model0" <"$TMP/sample")
cut_off() { # refused in one line, unless what is missing does not matter
    for left in $(seq 1 211 $((size - 1))) $(seq $((size - 250)) $((size - 1))); do
        head -c "$left" "$good" | bad
        if said=$("$text" "$TMP/bad" <"$TMP/sample" 2>&1); then
            [ "$said" = "$wanted" ]
        else
            [[ $said == *"bad/tokenizer.model: "* && $said != *$'\n'* ]]
        fi || { echo "$left of $size bytes: $said" | head -3; return 1; }
    done
}
check "refused: cut off anywhere" cut_off
rm "$TMP/bad/tokenizer.model" && mkdir "$TMP/bad/tokenizer.model"
refused "a folder of that name" "bad/tokenizer.model"
rmdir "$TMP/bad/tokenizer.model"
echo '{"model": {"type": "BPE", "vocab": {}}}' >"$TMP/bad/tokenizer.json"
refused "a tokenizer.json of subwords" "a tokenizer.model next to it would be used instead"
check_fails "no tokenizer at all" "no tokenizer.model (SentencePiece) and no tokenizer.json" "$text" "$TMP/none"

no_turns() { echo "c -1 48" | "$text" "$1"; }
check_fails "a model without marks of turns does not chat" "lacks <start_of_turn>" no_turns "$TMP/model2"
check_fails "nor does a character model" "lacks a piece that starts a sequence" no_turns "$TMP/characters"
unknown() { echo "e $(printf '\342\202\254' | od -An -tx1 | tr -d ' ')" | "$text" "$TMP/characters"; }
check_fails "a character that the vocabulary lacks is shown" "'€' (U+20AC)" unknown

# --- a computer without the library -----------------------------------------------------
without=$TMP/build/tests/recurrentgemma/text
reuse_build "$TMP/build"
bare() { make -s BACKEND="$BACKEND" BUILD="$TMP/build" "$without" "$@"; }
check_says "built without SentencePiece, which is said" "no SentencePiece library" bare SENTENCEPIECE=none
check_fails "a tokenizer.model then asks for it" "built without SentencePiece" "$without" "$TMP/model0"
check "characters need none" "$without" "$TMP/characters"
check "the library comes later: built with it" bare
check "and then the model is read" "$without" "$TMP/model0"
tap_done
