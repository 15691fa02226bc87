"""loading.py PROGRAMS FOLDER - model folders of every kind through the loader, as TAP.

PROGRAMS is the back end's build folder; FOLDER holds the random models that suite_loading.sh
made.
"""

import sys

import loading_mistakes
import loading_run
from loading_run import TMP, cast, lands, official, read, wb, write


def good_folders(name):
    config, base = read(f"{TMP}/{name}")
    lands(f"{name}: as written", f"{TMP}/{name}", config, base, ask="auto")
    for E in "bf16", "f16":
        lands(f"{name}: f32 as {E}", f"{TMP}/{name}", config, base, E)
    for E in "bf16", "f16", "f32":
        stored = cast(base, E)
        where = write("x", config, stored)
        auto = "bf16" if E == "bf16" else "f32"
        lands(f"{name}: {E}, taken as {auto}", where, config, stored, auto, "auto")
        if E != "f32":
            lands(f"{name}: {E} as it is", where, config, stored, E)
        where = write("x", config, official(stored), 3 if E == "f16" else 1)
        lands(f"{name}: official names, {E}", where, config, stored, "f32")
    mixed = cast(base, "f32", "bf16", "f16")
    where = write("x", config, mixed, 3)
    lands(f"{name}: three dtypes in three shards, as bf16", where, config, mixed, "bf16")
    lands(f"{name}: three dtypes in three shards, as f32", where, config, mixed)


def heads_and_vocabularies():
    config, base = read(f"{TMP}/odd")
    embedding = base["model.embed_tokens.weight"]
    other = ("f32", embedding[1][::-1].copy())
    both = base | {"lm_head.weight": embedding}
    where = write("x", config, both)
    lands("a head that is the embedding", where, config, base, words=" tied")
    own = base | {"lm_head.weight": other}
    where = write("x", config | {"tie_word_embeddings": False}, own)
    lands("a head of its own", where, config, own, words=" untied")
    where = write("x", config, own)
    lands("a head of its own that the config denies", where, config, own, words=" untied")
    where = write("x", config | {"vocab_size": 9}, base)
    lands("another vocabulary in the config: the embedding's", where, config, base)
    fewer = base | {"model.embed_tokens.weight": ("f32", embedding[1][:70].copy())}
    where = write("x", config, fewer)
    lands("an embedding cut to 70 rows", where, config, fewer, words="V 70 table 128")
    _, untied = read(f"{TMP}/untied")
    lands("a random model with a head of its own", f"{TMP}/untied", config, untied)


def config_keys():
    config, base = read(f"{TMP}/odd")
    least = {k: v for k, v in config.items() if k not in (
        "rope_theta", "partial_rotary_factor", "rope_parameters", "rms_norm_eps", "dtype",
        "torch_dtype", "model_type", "bos_token_id", "eos_token_id", "pad_token_id")}
    cases = {
        "keys that have defaults left out": (least, "N 6 window 5 "),
        "rope_theta at the top": (least | {"rope_theta": 77, "partial_rotary_factor": 1}, "N 12"),
        "rope_parameters": (least | {"rope_parameters": {"rope_theta": 1e4,
                            "rope_type": "default", "partial_rotary_factor": 1 / 3}}, "N 4 "),
        "no soft cap": (config | {"logits_soft_cap": None}, "softcap 0 "),
        "a soft cap": (config | {"logits_soft_cap": 12.5}, "softcap 12.5 "),
        "no scaled embedding": (config | {"embeddings_scale_by_sqrt_dim": False}, "emb_scale 1 "),
        "a scaled embedding": (config, "emb_scale 6 "),
        "unknown keys": (config | {"_name": {"a": [1]}, "w": None}, "V 301"),
        "end-of-sequence tokens": (config | {"eos_token_id": [1, 107]}, "V 301"),
        "hf_window": (config | {"hf_window": True}, "window 4 "),
        "sliding_window": ({k: v for k, v in config.items() if k != "attention_window_size"}
                           | {"sliding_window": 9}, "window 9 "),
        "_block_types": ({k: v for k, v in config.items() if k != "block_types"}
                         | {"_block_types": config["block_types"]}, "V 301"),
    }  # fmt: skip
    for what, (changed, words) in cases.items():
        lands(what, write("x", changed, base), config, base, words=words)


for name in "odd", "groups", "wide", "attention":
    good_folders(name)
heads_and_vocabularies()
config_keys()
loading_mistakes.configs()
loading_mistakes.tensors()
loading_mistakes.files()
loading_mistakes.shards()
sys.exit(loading_run.failed)
