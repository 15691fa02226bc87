#!/usr/bin/env bash
# The engine compared with others on the same weights: the float64 reference on models of
# odd sizes, TinyLM on a Griffin that it has trained, and, with TORCH_PYTHON, Hugging Face
# transformers on all of them.
. "$(dirname "$0")/../tap.sh"
engine=$B/recurrentgemma

printf '5 6 7\n8\n' >"$TMP/tokens"
check "the reference as a command" "$PYTHON" reference/recurrentgemma.py \
    tests/recurrentgemma/tiny "$TMP/tokens" "$TMP/answers" --hf-window --greedy 3
"$B/recurrentgemma-random" --layers 4 --channels 96 --heads 6 --kv-heads 2 --head-dim 24 \
    --hidden 70 --vocab 211 --recurrent 66 --conv-width 5 --window 9 --tied 0 --shards 3 \
    --dtype f16 "$TMP/shards" >/dev/null || tap_failed=1
"$PYTHON" tests/recurrentgemma/parity.py "$engine" "$TMP" "$TMP/shards" || tap_failed=1

verses 150 >"$TMP/text"
griffin() { # DTYPE
    "$B/tinylm" train --data "$TMP/text" --arch griffin --layers 3 --channels 32 --heads 2 \
        --recurrent 48 --hidden 40 --window 9 --context 32 --batch 4 --warmup 5 --steps 20 \
        --dtype "$1" --quiet 1 --out "$TMP/griffin_$1" &&
        "$PYTHON" tests/recurrentgemma/griffin.py \
            "$engine" "$B/tests/tinylm/logits" "$TMP/griffin_$1/best"
}
check "a Griffin that TinyLM trained: the logits that TinyLM gives, f32" griffin f32
check "a Griffin that TinyLM trained: the logits that TinyLM gives, bf16" griffin bf16
[ "$BACKEND" = cuda ] || check "the same with kernels for tensor cores, emulated" \
    env WBCPU_ARCH=80 "$PYTHON" tests/recurrentgemma/griffin.py \
    "$engine" "$B/tests/tinylm/logits" "$TMP/griffin_bf16/best"

others=$(ls -d "$TMP"/*/ | grep -v griffin)
if [ -n "${TORCH_PYTHON:-}" ]; then
    check "transformers: equal logits in f32; in bf16 errors at most 1.2 times as large" \
        "$TORCH_PYTHON" tools/check_recurrentgemma.py "$engine" tests/recurrentgemma/tiny \
        $others "$TMP/griffin_f32/best"
    grep -E 'Recurrent|f32|ratio' "$TMP/.out" | sed 's/^/# /'
fi
tap_done
