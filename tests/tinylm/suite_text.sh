#!/usr/bin/env bash
# TinyLM, its texts and the files of other programs: stop tokens, shards, pipes,
# characters of several bytes, special tokens of the tokenizers.
. "$(dirname "$0")/../tap.sh"
tinylm=$B/tinylm
text=$TMP/text
verses 60 >"$text"
train() { # FOLDER OPTIONS...; data: another text
    "$tinylm" train --data "${data:-$text}" --out "$TMP/$1" --layers 2 --channels 32 --heads 2 --hidden 40 \
        --context 16 --batch 4 --warmup 5 --steps 60 --lr 1e-2 --eval-every 0 --quiet "${@:2}" >"$TMP/.said"
}
train chars || cat "$TMP/.said"
# WHAT WORDS COMMAND...: one_line: an error, exit 1; usage: a wrong option, exit 2
one_line() { complains 1 "$@"; }
usage() { complains 2 "$@"; }

# --- stop tokens: token 0 is the newline, 1 the space -----------------------------------
edited=$TMP/edited
edit() { # FILE JSON: a copy of the model with this key in one of its files
    rm -rf "$edited" && cp -r "$TMP/chars/last" "$edited" && "$PYTHON" - "$edited/$1" "$2" <<'END'
import json, sys
path, change = sys.argv[1:]
content = json.load(open(path)) | json.loads(change)
json.dump(content, open(path, "w"))
END
}
long() { "$tinylm" generate --model "$1" --quiet --prompt "The" --max-new-tokens 100 "${@:2}"; }
long "$TMP/chars/last" >"$TMP/whole"
ends() { # BYTES of the whole text [OPTION]
    long "$edited" ${2-} >"$TMP/got" && cmp "$TMP/got" <(head -c "$1" "$TMP/whole"; echo)
}
line=$(head -1 "$TMP/whole" | wc -c)
edit generation_config.json '{"eos_token_id": 0}'
check "the text goes on after a newline" test "$(wc -l <"$TMP/whole")" -gt 1
check "and ends there if generation_config.json says so" ends $line
check "  but not with --ignore-eos" ends $(($(wc -c <"$TMP/whole") - 1)) --ignore-eos
edit generation_config.json '{"eos_token_id": [0, 1]}'
check "a list of stop tokens" ends "$(tr ' ' '\n' <"$TMP/whole" | head -1 | wc -c)"
edit config.json '{"eos_token_id": 0}'
check "config.json lists the stop token" ends $line
echo '{"eos_token_id": "0"}' >"$edited/generation_config.json"
one_line "a stop token that is not an id" "generation_config.json: eos_token_id is not a token id" \
    long "$edited"

# --- stop texts: of characters, so they begin and end between tokens --------------------
cut_before() { # TEXT...: the whole text without what follows the first of them
    "$PYTHON" - "$TMP/whole" 3 "$@" <<'END'
import sys
text, prompt, stops = open(sys.argv[1]).read(), int(sys.argv[2]), sys.argv[3:]
ends = [(text.index(s, prompt) + len(s), text.index(s, prompt)) for s in stops if s in text[prompt:]]
print(text[: min(ends)[1]])
END
}
stops() { # TEXT...
    local option=() word
    for word in "$@"; do option+=(--stop "$word"); done
    long "$TMP/chars/last" "${option[@]}" >"$TMP/got" && cut_before "$@" | cmp - "$TMP/got"
}
middle=$(head -c 60 "$TMP/whole" | tail -c 7) later=$(head -c 90 "$TMP/whole" | tail -c 5)
check "--stop: the text ends before it" stops "$middle"
check "several: before the first" stops "$later" "$middle" "no such text"
check "a text of the prompt ends nothing" eval \
    'long "$TMP/chars/last" --stop The --max-new-tokens 5 | cmp - <(head -c 8 "$TMP/whole"; echo)'
check "a stop text that is also the name of an option" eval \
    'long "$TMP/chars/last" --stop --help --stop -h | cmp - "$TMP/whole"'
batch_stops() { # each sequence as alone
    long "$TMP/chars/last" --batch 3 --stop e >"$TMP/got" && for seed in 1 2 3; do
        echo "--- seed $seed" && long "$TMP/chars/last" --seed $seed --stop e
    done | cmp - "$TMP/got"
}
check "a batch" batch_stops
usage "an empty stop text" "--stop is empty" long "$TMP/chars/last" --stop ""

# --- shards -----------------------------------------------------------------------------
shards=$TMP/shards
cp -r "$TMP/chars/last" "$shards"
cut_in_three() {
    "$PYTHON" - "$shards" <<'END'
import json, os, sys
from safetensors.numpy import load_file, save_file
folder = sys.argv[1]
tensors = load_file(folder + "/model.safetensors")
names = sorted(tensors)
index = {name: f"model-{1 + i % 3:05}-of-00003.safetensors" for i, name in enumerate(names)}
for file in set(index.values()):
    save_file({n: tensors[n] for n in names if index[n] == file}, f"{folder}/{file}")
json.dump({"metadata": {}, "weight_map": index},
          open(folder + "/model.safetensors.index.json", "w"))
os.remove(folder + "/model.safetensors")
END
}
check "a model split into three shards" cut_in_three
check "gives the same text" eval 'long "$shards" | cmp - "$TMP/whole"'
loss=$("$tinylm" eval --model "$TMP/chars/last" --data "$text" --quiet)
check_says "and the same loss" "${loss:-no loss}" "$tinylm" eval --model "$shards" --data "$text" --quiet
cp -r "$shards" "$TMP/fewer" && rm "$TMP/fewer/model-00002-of-00003.safetensors"
one_line "a shard that is missing" "(a shard that model.safetensors.index.json names; get that" \
    long "$TMP/fewer"
rm "$TMP"/fewer/model*
one_line "a folder without weights" "holds no model.safetensors, and no model.safetensors.index" \
    long "$TMP/fewer"

# --- prompts and texts from anywhere ----------------------------------------------------
# an argument holds at most 131071 bytes
for i in $(seq 300); do cat "$text"; done | head -c 200000 >"$TMP/long"
few() { "$tinylm" generate --model "$TMP/chars/last" --quiet --max-new-tokens 9 "$@"; }
few --prompt-file "$TMP/long" >"$TMP/wanted"
starts_with() { [ "$(wc -c <"$TMP/wanted")" = 200010 ] && cmp -n 200000 "$TMP/wanted" "$TMP/long"; }
check "a prompt of 200000 characters from a file" starts_with
check "the same from stdin" eval 'few --prompt - <"$TMP/long" | cmp - "$TMP/wanted"'
check "from a pipe as stdin" eval 'cat "$TMP/long" | few --prompt - | cmp - "$TMP/wanted"'
check "from a pipe as a file" eval 'few --prompt-file <(cat "$TMP/long") | cmp - "$TMP/wanted"'
few --prompt "The" >"$TMP/wanted"
check "one newline at the end is not a part of it" eval 'echo The | few --prompt - | cmp - "$TMP/wanted"'
one_line "nothing on stdin" "stdin is empty: a sequence needs a first token" few --prompt - </dev/null
one_line "a prompt file that does not exist" "$TMP/none: No such file" few --prompt-file "$TMP/none"
usage "a prompt and a file" "--prompt and --prompt-file do not go together" \
    few --prompt a --prompt-file "$TMP/long"
piped() {
    data=<(cat "$text") train piped &&
        cmp "$TMP/chars/last/training.safetensors" "$TMP/piped/last/training.safetensors"
}
check "--data of a pipe: the same bits" piped
check_says "eval of a pipe" "${loss:-no loss}" \
    "$tinylm" eval --model "$TMP/chars/last" --data <(cat "$text") --quiet
one_line "--data of a folder" "not a regular file" "$tinylm" train --data "$TMP" --quiet

# --- characters of several bytes --------------------------------------------------------
for i in $(seq 400); do printf 'é€😀'; done >"$TMP/wide.txt"
data=$TMP/wide.txt train wide --tokenizer bytes
check "text as it comes never ends inside a character" "$PYTHON" - "$tinylm" "$TMP/wide/last" <<'END'
import os, subprocess, sys
program, model = sys.argv[1:]
command = [program, "generate", "--model", model, "--quiet", "--temperature", "0",
           "--prompt", "é€", "--max-new-tokens", "9"]
pieces = []
with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
    while piece := os.read(run.stdout.fileno(), 1 << 16):
        pieces.append(piece)
text = b"".join(pieces)
print(len(pieces), "pieces,", text[:40])
assert text.decode() == "é€😀é€\n"
for piece in pieces:  # the first ends after the first new token, which begins the emoji
    for n in 1, 2, 3:
        lead = piece[-n] if n <= len(piece) else 0
        assert lead < 0xC0 or n >= (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4), piece[-9:]
        if lead & 0xC0 != 0x80:
            break
END
cut() { # BYTES: the text ends after so many
    "$tinylm" generate --model "$TMP/wide/last" --quiet --temperature 0 --prompt "é€" \
        --max-new-tokens "$1" | cmp - <({ printf 'é€😀é' | head -c $((5 + $1)); echo; })
}
stopped() { # by the first byte of the euro sign
    cp -r "$TMP/wide" "$TMP/euro" && echo '{"eos_token_id": 226}' >"$TMP/euro/last/generation_config.json" &&
        "$tinylm" generate --model "$TMP/euro/last" --quiet --temperature 0 --prompt "é" | cmp - <(printf 'é\342\n')
}
check "a stop token inside a character: its bytes are printed" stopped
for n in 1 2 3 4 5; do check "the end of a text inside a character is printed: $n" cut $n; done

# --- several texts ----------------------------------------------------------------------
head -c 1000 "$text" >"$TMP/first" && tail -c 2000 "$text" >"$TMP/second"
cat <(head -c 900 "$TMP/first") <(head -c 1800 "$TMP/second") <(tail -c 100 "$TMP/first") \
    <(tail -c 200 "$TMP/second") >"$TMP/both"
both="--data $TMP/first --data $TMP/second"
steps() { # FOLDER OPTIONS...: 20 steps
    "$tinylm" train --out "$TMP/$1" --layers 2 --channels 32 --heads 2 --hidden 40 --context 16 --batch 4 \
        --warmup 5 --steps 20 --lr 1e-2 --eval-every 10 --quiet "${@:2}" >"$TMP/.said"
}
several() {
    steps joined --data "$TMP/both" && steps several $both &&
        cmp "$TMP/several/last/model.safetensors" "$TMP/joined/last/model.safetensors" &&
        cmp "$TMP/several/best/model.safetensors" "$TMP/joined/best/model.safetensors"
}
check "two texts: nine tenths of each, then the last tenth of each" several
joined_loss() {
    local want got
    want=$("$tinylm" eval --model "$TMP/joined/last" --data "$TMP/both" --quiet) &&
        got=$("$tinylm" eval --model "$TMP/joined/last" $both --quiet) && echo "$want, $got" &&
        [ "$got" = "$want (of every text its last tenth)" ]
}
check "eval too" joined_loss
again() { steps several $both --resume --steps 22; }
check "and resuming" again
one_line "the same bytes cut in another way" "first and 1 more: not the text that this run" \
    steps several --data "$TMP/first" --data <(cat "$TMP/second" "$TMP/first") --resume --steps 24
printf 'ab\377' >"$TMP/broken"
one_line "the second text is not UTF-8" "broken: byte 0xff at 2 is not UTF-8" \
    steps none --data "$TMP/first" --data "$TMP/broken"
one_line "the second text is missing" "nowhere: No such file" \
    steps none --data "$TMP/first" --data "$TMP/nowhere"
usage "an empty name" "--data is empty" steps none --data ""

# --- fine-tuning ------------------------------------------------------------------------
tune() { # FOLDER MODEL OPTIONS...: 12 steps on the second text
    "$tinylm" train --out "$TMP/$1" --init-from "$TMP/$2" --data "$TMP/second" --batch 4 --warmup 2 \
        --steps 12 --eval-every 4 --lr 2e-3 --decay 0 --quiet "${@:3}" >"$TMP/.said"
}
still="--lr 0 --min-lr 0"
same_model() { # FOLDER MODEL: the weights and the tokenizer
    cmp "$TMP/$1/last/model.safetensors" "$TMP/$2/model.safetensors" &&
        cmp "$TMP/$1/last/tokenizer.json" "$TMP/$2/tokenizer.json"
}
unchanged() { # NAME MODEL
    tune "still_$1" "$2" $still "${@:3}" && same_model "still_$1" "$2"
}
small="--layers 3 --channels 32 --heads 2 --hidden 40 --context 16 --batch 4 --warmup 5 --steps 9 --quiet"
"$tinylm" train --data "$text" --out "$TMP/griffin" $small --arch griffin --window 5 --recurrent 48 \
    --dtype bf16 --tokenizer bytes >"$TMP/.said"
"$tinylm" train --data "$text" --out "$TMP/wide_heads" $small --head-dim 24 --kv-heads 1 --tied 0 \
    --eps 3e-6 --rope-base 5000 >"$TMP/.said"
check "--init-from with a rate of 0: the same weights and tokenizer" unchanged chars chars/last
check "of a model in shards" eval 'tune still_shards shards $still && same_model still_shards chars/last'
check "of a Griffin in bf16, with bytes" unchanged griffin griffin/last
official() { # NAME CHANGE: griffin/last with the official checkpoint's names and orders
    PYTHONPATH=tests/recurrentgemma "$PYTHON" - "$B" "$TMP" "$TMP/griffin/last" "$1" "${2-}" <<'END' &&
import sys
from loading_run import official, read, write
folder, name, change = sys.argv[3:]
config, tensors = read(folder)
tensors = official(tensors)
exec(change)
write(name, config, tensors)
END
        cp "$TMP/griffin/last/tokenizer.json" "$TMP/$1"
}
check "of RecurrentGemma's official names" eval \
    'official official && tune still_official official $still && same_model still_official griffin/last'
check "its text too" eval 'long "$TMP/official" >"$TMP/got" && long "$TMP/griffin/last" | cmp - "$TMP/got"'
official no_filter 'del tensors["blocks.0.recurrent_block.conv_1d.w"]'
one_line "without one of them" "conv_1d.weight' is missing" tune bad no_filter
official turned 'E, bits = tensors["blocks.2.mlp_block.ffw_up.w"]; tensors["blocks.2.mlp_block.ffw_up.w"] = E, bits[:, :, 1:]'
one_line "one of another shape" "ffw_up.w': is BF16 (2,32,39), not BF16 (2,32,40)" tune bad turned --dtype bf16
check "of a Llama with wide, grouped heads" unchanged wide_heads wide_heads/last
loss_of() { "$tinylm" eval --model "$TMP/$1" --data "$TMP/second" --quiet | awk '{print $3}'; }
learns() { # NAME MODEL OPTIONS...
    tune "$@" && echo "$(loss_of "$2") $(loss_of "$1/last")" | awk '{exit !($2 < $1 - 0.05)}'
}
for model in joined griffin wide_heads; do check "$model learns more" learns "more_$model" $model/last; done
mkdir -p "$TMP/tiny/last" && cp tests/recurrentgemma/tiny/{config.json,model.safetensors} "$TMP/tiny/last"
one_line "a RecurrentGemma without a tokenizer" "tiny/last/tokenizer.json: No such file" tune bad tiny/last
cp "$TMP/griffin/last/tokenizer.json" "$TMP/tiny/last"
check "a RecurrentGemma of another program learns" learns more_tiny tiny/last --context 32
check "f32 weights in bf16, in a shorter context" learns other_type joined/last --dtype bf16 --context 8
check "bf16 weights in f32" learns more_f32 griffin/last --dtype f32
tune_halves() {
    tune halves griffin/last --stop-at 6 && "$tinylm" train --out "$TMP/halves" --data "$TMP/second" \
        --resume --quiet && cmp "$TMP/halves/last/training.safetensors" "$TMP/more_griffin/last/training.safetensors"
}
check "stopped and resumed without the folder: the same bits" tune_halves
check_says "the start names the folder" "start  the weights of $TMP/joined/last" "$tinylm" train --quiet 0 \
    --out "$TMP/said_start" --init-from "$TMP/joined/last" --data "$TMP/second" --steps 1
own_folder() { # the run that it starts from moves to previous/
    cp -r "$TMP/joined" "$TMP/own" && tune own own/best --overwrite $still &&
        same_model own own/previous/best
}
check "a run that starts from the one that it replaces" own_folder
usage "another model" "--init-from cannot change --layers: leave it out" tune bad chars/last --layers 3
usage "another tokenizer" "--init-from cannot change --tokenizer" tune bad chars/last --tokenizer bytes
one_line "a character that the model does not know" "'#' (U+0023) is not in the model's vocabulary" \
    tune bad chars/last --data <(cat "$TMP/second"; echo '#')
one_line "no model there" "none/config.json: No such file" tune bad none
usage "fine-tuning and resuming" "--resume and --init-from do not go together" tune more_griffin griffin/last --resume
usage "a tokenizer of no folder" "--tokenizer folder: give characters or bytes" steps bad --data "$text" --tokenizer folder
cp -r "$TMP/chars/last" "$TMP/nan" && truncate -s -4 "$TMP/nan/model.safetensors" &&
    printf '\377\377\377\377' >>"$TMP/nan/model.safetensors"
one_line "a weight that is NaN" "is NaN or infinite" tune bad nan

# --- special tokens ---------------------------------------------------------------------
has_specials() { # RUN VOCAB
    "$PYTHON" - "$TMP/$1/last" "$2" <<'END'
import json, sys
folder, vocab = sys.argv[1], int(sys.argv[2])
read = lambda name: json.load(open(f"{folder}/{name}.json"))
tokenizer, config = read("tokenizer"), read("tokenizer_config")
names = [config[k] for k in ("unk_token", "pad_token", "eos_token")]
assert [(t["content"], t["id"]) for t in tokenizer["added_tokens"] if t["special"]] == list(
    zip(names, range(vocab, vocab + 3))), tokenizer["added_tokens"]
if tokenizer["model"]["type"] == "WordLevel":
    assert tokenizer["model"]["vocab"][tokenizer["model"]["unk_token"]] == vocab
assert read("config")["vocab_size"] == vocab
END
}
vocab=$("$PYTHON" -c "print(len(set(open('$text').read())))")
check "unk, pad and eos follow the characters" has_specials chars "$vocab"
check "and the bytes" has_specials wide 256
check "AutoTokenizer encodes unknown characters and pads batches" \
    "$PYTHON" tests/tinylm/auto_tokenizer.py "$TMP/chars/last" "$TMP/wide/last"
older() { # as files were before
    rm -rf "$TMP/older" && cp -r "$TMP/chars" "$TMP/older" && "$PYTHON" - "$TMP/older/last" <<'END'
import json, sys
path = sys.argv[1] + "/tokenizer.json"
tokenizer = json.load(open(path))
for token in tokenizer["added_tokens"]:
    del tokenizer["model"]["vocab"][token["content"]]
tokenizer["added_tokens"] = []
json.dump(tokenizer, open(path, "w"))
END
}
check "a tokenizer of an older version" older
check "is read" eval 'long "$TMP/older/last" | cmp - "$TMP/whole"'
newer() {
    "$tinylm" train --data "$text" --out "$TMP/older" --resume --steps 61 --quiet &&
        has_specials older "$vocab"
}
check "and gets the special tokens with the next checkpoint" newer

# --- kernels ----------------------------------------------------------------------------
said() { "$tinylm" generate --model "$TMP/chars/last" --max-new-tokens 2 "$@" 2>&1 >/dev/null; }
check "one line about the kernels" test "$(said | grep -c 'kernels\|_forward')" = 1
check_says "  with their number" "are yours (--kernels lists them)" said
check_says "--kernels lists them" "rmsnorm_forward " said --kernels --quiet
check "--quiet says nothing about them" test -z "$(said --quiet)"
check_says "--kernels of a training" "rmsnorm_forward " "$tinylm" train --data "$text" --out "$TMP/listed" \
    --layers 1 --channels 16 --heads 1 --context 8 --steps 1 --quiet --kernels
tap_done
