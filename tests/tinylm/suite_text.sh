#!/usr/bin/env bash
# TinyLM, its texts and the files of other programs: stop tokens, shards.
. "$(dirname "$0")/../tap.sh"
tinylm=$B/tinylm
text=$TMP/text
for i in $(seq 60); do
    printf 'The miller counts %d sacks of meal,\nand %d birds sit on his wheel.\n' $((i % 7)) $((i * i % 11))
done >"$text"
train() { # FOLDER OPTIONS...
    "$tinylm" train --data "$text" --out "$TMP/$1" --layers 2 --channels 32 --heads 2 --hidden 40 \
        --context 16 --batch 4 --warmup 5 --steps 60 --lr 1e-2 --eval-every 0 --quiet "${@:2}" >"$TMP/.said"
}
train chars || cat "$TMP/.said"
model=$TMP/chars/last
write() { "$tinylm" generate --model "$model" --quiet "$@"; }
one_line() { # WHAT WORDS COMMAND...
    check_fails "$1" "$2" "${@:3}"
    [ "$(wc -l <"$TMP/.out")" = 1 ] || { echo "not ok - $1: more than one line"; tap_show; tap_failed=1; }
}

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
one_line "a stop token that is no id" "generation_config.json: eos_token_id is not a token id" \
    long "$edited"

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
check "a model cut into three shards" cut_in_three
check "gives the same text" eval 'long "$shards" | cmp - "$TMP/whole"'
loss=$("$tinylm" eval --model "$TMP/chars/last" --data "$text" --quiet)
check_says "and the same loss" "${loss:-no loss}" "$tinylm" eval --model "$shards" --data "$text" --quiet
rm "$shards/model-00002-of-00003.safetensors"
one_line "a shard that is missing" "(a shard that model.safetensors.index.json names; get that" \
    long "$shards"
rm "$shards"/model*
one_line "a folder without weights" "holds no model.safetensors, and no model.safetensors.index" \
    long "$shards"
tap_done
