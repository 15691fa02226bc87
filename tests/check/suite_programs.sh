#!/usr/bin/env bash
# Check mode reports nothing in programs that are right: a training step of each of
# TinyLM's presets, made small, and RecurrentGemma's prefill and decode, as on a GPU of
# today and as on Hopper.
# limit: 900
. "$(dirname "$0")/../tap.sh"
[ "$BACKEND" = cpu ] || { skip "programs" "check mode is of the CPU back end"; tap_done; }
programs=build/check
check "the programs build in check mode" flock build/lock.check \
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD make -s BACKEND=cpu CHECK=1 \
    BUILD=$programs $programs/tinylm $programs/recurrentgemma $programs/recurrentgemma-random
export WB_BLAS=own # a library is not checked, and its path may be another Python's
verses 60 >"$TMP/text"

# nothing_found KERNELS COMMAND...: exit 0, so many kernels have run, no error and no note
nothing_found() {
    WB_CHECK_JSON=$TMP/check.json "${@:2}" && "$PYTHON" - "$TMP/check.json" "$1" <<'END'
import json, sys
report = json.load(open(sys.argv[1]))
for f in report["findings"]:
    print(f["file"], f["line"], f["kind"], f["message"])
names = {k["name"] for k in report["kernels"]}
print(len(names), "kernels")
sys.exit(bool(report["findings"]) or len(names) < int(sys.argv[2]))
END
}
train() { # PRESET OPTION...
    nothing_found 16 "$programs/tinylm" train --data "$TMP/text" --out "$TMP/$1" --overwrite \
        --quiet 1 --preset "$1" --steps 1 --eval-every 0 --warmup 0 --batch 2 \
        --heads 2 "${@:2}"
}
generate() { # PRESET
    nothing_found 8 "$programs/tinylm" generate --model "$TMP/$1/last" --prompt "the " \
        --max-new-tokens 6 --top-p 0.9
}
answer() { # MODEL TOKENS OPTION...
    nothing_found 12 "$programs/recurrentgemma" --model "$1" --tokens <(echo "$2") \
        --max-new-tokens 4 "${@:3}"
}
tiny=tests/recurrentgemma/tiny
for arch in 80 90; do
    export WBCPU_ARCH=$arch WBCPU_SMS=8
    gpu="GPU $arch"
    check "$gpu: a step of laptop" train laptop --layers 2 --channels 64
    check "$gpu:   in f16, 3 micro-batches, grouped heads" train laptop --layers 2 \
        --channels 80 --heads 4 --kv-heads 2 --head-dim 24 --dtype f16 --accum 3 --context 37
    check "$gpu:   its samples" generate laptop
    check "$gpu: a step of baby, in bf16 with dropout" train baby --layers 1 \
        --channels 128 --hidden 96 --context 80
    check "$gpu: a step of laptop-griffin" train laptop-griffin --layers 3 --channels 64 \
        --recurrent 80
    check "$gpu:   its samples" generate laptop-griffin
    check "$gpu: a step of baby-griffin, in bf16" train baby-griffin --layers 3 \
        --channels 128 --hidden 96 --recurrent 128 --context 80 --window 32
    check "$gpu: RecurrentGemma, one sequence" answer $tiny 5,6,7,8,9,10,11,12,13
    check "$gpu:   in bf16, chunks of 7, top-k" answer $tiny "$(seq -s, 1 40)" \
        --dtype bf16 --chunk 7 --temperature 1 --top-k 5
    check "$gpu:   a batch whose caches wrap, without graphs" answer $tiny \
        "$(seq -s, 1 30; seq -s, 9 13)" --no-graph --temperature 1 --top-p 0.9
done
random() {
    "$programs/recurrentgemma-random" --layers 4 --channels 256 --heads 2 --hidden 320 \
        --vocab 500 --window 24 --tied 0 "$TMP/random"
}
check "a random model is written" nothing_found 0 random
check "RecurrentGemma, heads of 128 in bf16" answer "$TMP/random" "$(seq -s, 1 60)"
check "  as a batch" answer "$TMP/random" "$(seq -s, 1 60; seq -s, 2 50; seq -s, 3 9)"
tap_done
