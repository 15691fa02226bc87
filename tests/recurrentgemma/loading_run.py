"""loading_run.py - model folders for the loader's tests, and the loader's answers as TAP.

What lies on the device is compared, bit for bit, with a packing made here."""

import json
import os
import shutil
import subprocess
import sys

import numpy as np

sys.path.insert(0, "reference")
import dump  # noqa: E402
import folder as model_folder  # noqa: E402
import wb  # noqa: E402

PROGRAMS, TMP = sys.argv[1:3]
failed = False


def report(good, what, details=""):
    global failed
    failed |= not good
    print("ok" if good else "not ok", "-", what, flush=True)
    if not good:
        print("".join(f"# {line}\n" for line in str(details).splitlines()), end="")


def load(where, dtype="auto"):
    command = [f"{PROGRAMS}/tests/recurrentgemma/weights", where, dtype, f"{TMP}/out"]
    return subprocess.run(command, capture_output=True, text=True, errors="replace")


# --- model folders ----------------------------------------------------------------------


def read(where):
    """config, {name: (element type, bits)}"""
    with open(where + "/config.json", encoding="utf-8") as f:
        config = json.load(f)
    tensors = {}
    for path in model_folder.shards(where):
        tensors |= {name: (E, np.array(bits)) for name, (E, bits) in model_folder.raw(path)[1].items()}
    return config, tensors


def write(name, config, tensors, shards=1):
    """the folder of a model; returns its path"""
    where = f"{TMP}/{name}"
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    with open(where + "/config.json", "w", encoding="utf-8") as f:
        json.dump(config, f)
    if shards == 1:
        dump.save(where + "/model.safetensors", tensors, {"format": "pt"})
        return where
    places = {}
    for i in range(shards):
        file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        part = {n: t for k, (n, t) in enumerate(tensors.items()) if k % shards == i}
        dump.save(f"{where}/{file}", part, {"format": "pt"})
        places |= {n: file for n in part}
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    with open(where + "/model.safetensors.index.json", "w", encoding="utf-8") as f:
        json.dump(index, f)
    return where


OFFICIAL = [
    ("model.embed_tokens.weight", "embedder.input_embedding"),
    ("model.final_norm.weight", "final_norm.scale"),
    ("model.layers.", "blocks."),
    ("_pre_norm.weight", "_pre_norm.scale"),
    ("temporal_block.q_proj", "attention_block.proj_q"),
    ("temporal_block.k_proj", "attention_block.proj_k"),
    ("temporal_block.v_proj", "attention_block.proj_v"),
    ("temporal_block.o_proj", "attention_block.proj_final"),
    ("temporal_block", "recurrent_block"),
    ("conv_1d.weight", "conv_1d.w"),
    ("conv_1d.bias", "conv_1d.b"),
    ("recurrent_param", "a_param"),
    ("input_gate_weight", "input_gate.w"),
    ("input_gate_bias", "input_gate.b"),
    ("recurrent_gate_weight", "a_gate.w"),
    ("recurrent_gate_bias", "a_gate.b"),
    ("down_proj", "ffw_down"),
]


def official(tensors):
    """the same as the official torch checkpoint names and stores them"""
    out = {}
    for name, (E, bits) in tensors.items():
        if "up_proj" in name:
            continue
        if "gate_proj" in name:
            both = np.stack([bits, tensors[name.replace("gate_proj", "up_proj")][1]])
            weight = name.endswith("weight")
            bits = both.transpose(0, 2, 1) if weight else both[:, None, None, :]
            name = name.replace("gate_proj.weight", "ffw_up.w")
            name = name.replace("gate_proj.bias", "ffw_up.b")
        if "conv_1d.weight" in name:
            bits = bits[:, 0, :].T
        for ours, theirs in OFFICIAL:
            name = name.replace(ours, theirs)
        out[name] = (E, np.ascontiguousarray(bits))
    return out


def cast(tensors, *types):
    """as these element types, by turns"""
    return {
        name: (types[i % len(types)], wb.encode(wb.decode(bits, E), types[i % len(types)]))
        for i, (name, (E, bits)) in enumerate(tensors.items())
    }


# --- what must lie on the device --------------------------------------------------------


def grow(w, axis, D, full):
    """each head of D rows (columns) filled up with zeros to `full`"""
    shape = list(w.shape)
    shape[axis : axis + 1] = [shape[axis] // D, D]
    pad = [(0, 0)] * len(shape)
    pad[axis + 1] = (0, full - D)
    shape[axis + 1] = full
    w = np.pad(w.reshape(*shape[: axis + 1], D, *shape[axis + 2 :]), pad)
    return w.reshape(*w.shape[:axis], -1, *w.shape[axis + 2 :])


def packed(config, tensors, E):
    """{place: matrix as element type E}"""
    weight = {name: wb.decode(bits, kind) for name, (kind, bits) in tensors.items()}
    D = config["head_dim"]
    full = max(16, -(-D // 8) * 8)
    out = {}

    def put(place, *parts):
        w = np.concatenate(parts) if len(parts) > 1 else parts[0]
        out[place] = wb.encode(w.reshape(-1, w.shape[-1]) if w.ndim > 1 else w[None], E)

    def table(w):
        return np.pad(w, [(0, -len(w) % 64), (0, 0)])

    put("embedding", table(weight["model.embed_tokens.weight"]))
    if "lm_head.weight" in weight:
        put("head", table(weight["lm_head.weight"]))
    put("final_norm", weight["model.final_norm.weight"])
    for i in range(config["num_hidden_layers"]):
        at = {
            name[len(f"model.layers.{i}.") :]: w
            for name, w in weight.items()
            if name.startswith(f"model.layers.{i}.")
        }
        t = {n[len("temporal_block.") :]: w for n, w in at.items() if n.startswith("temporal")}
        put(f"{i}.norm1", at["temporal_pre_norm.weight"])
        put(f"{i}.norm2", at["channel_pre_norm.weight"])
        for place, kind in ("gate_up", "weight"), ("gate_up_bias", "bias"):
            put(f"{i}.{place}", *(at[f"mlp_block.{b}_proj.{kind}"] for b in ("gate", "up")))
        put(f"{i}.down", at["mlp_block.down_proj.weight"])
        put(f"{i}.down_bias", at["mlp_block.down_proj.bias"])
        if "q_proj.weight" in t:
            put(f"{i}.qkv", *(grow(t[f"{n}_proj.weight"], 0, D, full) for n in "qkv"))
            put(f"{i}.out", grow(t["o_proj.weight"], 1, D, full))
            put(f"{i}.out_bias", t["o_proj.bias"])
            continue
        put(f"{i}.out", t["linear_out.weight"])
        put(f"{i}.out_bias", t["linear_out.bias"])
        put(f"{i}.xy", t["linear_x.weight"], t["linear_y.weight"])
        put(f"{i}.xy_bias", t["linear_x.bias"], t["linear_y.bias"])
        put(f"{i}.conv", t["conv_1d.weight"][:, 0])
        put(f"{i}.conv_bias", t["conv_1d.bias"])
        put(f"{i}.a_param", t["rg_lru.recurrent_param"])
        for place, gate in ("x", "input"), ("a", "recurrent"):
            put(f"{i}.gate_{place}", t[f"rg_lru.{gate}_gate_weight"])
            put(f"{i}.gate_{place}_bias", t[f"rg_lru.{gate}_gate_bias"].reshape(-1))
    return out


def differences(got, want, E):
    if got.keys() != want.keys():
        return f"places differ: {sorted(got.keys() ^ want.keys())}"
    for place, bits in want.items():
        kind, have = got[place]
        if kind != E or have.shape != bits.shape or have.tobytes() != bits.tobytes():
            return f"{place}: {kind} {have.shape}, not {E} {bits.shape}, or other numbers"
    return None


def lands(what, where, config, tensors, E="f32", ask=None, words=""):
    """the folder must load, as if it held these tensors under Hugging Face's names"""
    r = load(where, ask or E)
    if r.returncode:
        return report(False, what, r.stdout + r.stderr)
    why = differences(model_folder.raw(f"{TMP}/out")[1], packed(config, tensors, E), E)
    if not why and words not in r.stdout:
        why = f"does not say '{words}': {r.stdout}"
    report(not why, what, why)


def refused(what, words, where):
    r = load(where)
    said = r.stderr
    good = r.returncode == 1 and words in said and said.count("\n") == 1
    report(good, f"refused: {what}", f"exit {r.returncode}, should say '{words}':\n{said[:900]}")
