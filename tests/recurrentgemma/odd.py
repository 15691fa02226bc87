"""odd.py - random RecurrentGemmas of sizes that no kernel was written for.

    python tests/recurrentgemma/odd.py NAME FOLDER [bf16]     writes one
    python tests/recurrentgemma/odd.py                        their names

Hugging Face folders, without a tokenizer. Weights are scaled so that every part of a layer
shows in the logits, whose standard deviation is about 2.
"""

import json
import os
import sys
import zlib

import numpy as np

sys.path.insert(0, "reference")
import dump  # noqa: E402
import wb  # noqa: E402
from tinylm_config import Config  # noqa: E402

MODELS = {
    "blocks_of_23": dict(
        layers=8, channels=120, heads=6, head_dim=20, hidden=50, vocab=301, recurrent=138,
        before=13,
    ),
    "window_of_1": dict(
        layers=3, channels=36, heads=3, head_dim=12, hidden=31, vocab=67, recurrent=27,
        before=1, taps=2, blocks="ra",
    ),
    "one_attention_layer": dict(
        layers=1, channels=42, heads=5, head_dim=8, hidden=7, vocab=19, recurrent=5, before=2,
        blocks="a",
    ),
    "one_recurrent_layer": dict(
        layers=1, channels=33, heads=1, head_dim=16, hidden=9, vocab=258, recurrent=7,
        before=4, taps=3, blocks="r", softcap=0.0,
    ),
    "attention_first": dict(
        layers=5, channels=88, heads=2, head_dim=44, hidden=130, vocab=97, recurrent=22,
        before=20, taps=3, blocks="arr", rope_base=500.0, softcap=12.0,
    ),
}  # fmt: skip


def config(name):
    common = dict(arch="griffin", kv_heads=1, eps=1e-6, softcap=30.0, taps=4)
    return Config(**common | MODELS[name])


def to_json(c, E):
    """every other model has the keys of newer versions"""
    kinds = {"r": "recurrent", "a": "attention"}
    rope = {"rope_theta": c.rope_base, "partial_rotary_factor": 0.5}
    new = c.layers % 2
    return {
        "model_type": "recurrent_gemma", "architectures": ["RecurrentGemmaForCausalLM"],
        "torch_dtype": {"f32": "float32", "bf16": "bfloat16"}[E],
        "hidden_size": c.channels, "intermediate_size": 2 * c.hidden,
        "num_hidden_layers": c.layers, "num_attention_heads": c.heads,
        "num_key_value_heads": 1, "head_dim": c.head_dim, "lru_width": c.recurrent,
        "attention_window_size": c.before, "conv1d_width": c.taps,
        "logits_soft_cap": c.softcap, "rms_norm_eps": c.eps, "vocab_size": c.vocab,
        "block_types": [kinds[b] for b in c.blocks], "attention_bias": False,
        "hidden_activation": "gelu_pytorch_tanh", "tie_word_embeddings": True,
        "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 2,
    } | ({"rope_parameters": rope | {"rope_type": "default"}} if new else rope)  # fmt: skip


def spread(name, shape):
    """mean and standard deviation of a weight's numbers"""
    if "recurrent_param" in name:
        return -3.0, 1.0  # a near 0.9, as trained models have it
    if "norm" in name:
        return 0.0, 0.2
    if "bias" in name:
        return 0.0, 0.3 if "gate" in name else 0.1
    if "embed" in name:
        return 0.0, 2 / shape[1] ** 0.5
    if "conv" in name:
        return 0.0, 0.6
    if "gate_weight" in name:
        return 0.0, 1 / shape[1] ** 0.5
    size = 3.0 if any(out in name for out in ("linear_out", "o_proj", "down")) else 1.2
    return 0.0, size / shape[-1] ** 0.5


def write(name, folder, E="f32"):
    c, tensors = config(name), {}
    for weight, shape in c.shapes().items():
        rng = np.random.default_rng(zlib.crc32(f"{name} {weight}".encode()))
        mean, sd = spread(weight, shape)
        tensors[weight] = (E, wb.encode(mean + sd * rng.standard_normal(shape), E))
    os.makedirs(folder, exist_ok=True)
    with open(folder + "/config.json", "w", encoding="utf-8") as f:
        json.dump(to_json(c, E), f, indent=1)
    dump.save(folder + "/model.safetensors", tensors, {"format": "pt"})


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print("\n".join(MODELS))
    else:
        write(*sys.argv[1:])
