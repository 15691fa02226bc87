"""loading.py PROGRAMS FOLDER - model folders of every kind through the loader, as TAP.

PROGRAMS is the back end's build folder; FOLDER holds the random models that suite_loading.sh
made. What lies on the device is compared, bit for bit, with a packing made here; every
mistake must end in one line that has certain words.
"""

import json
import os
import shutil
import struct
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

    put("emb", table(weight["model.embed_tokens.weight"]))
    if "lm_head.weight" in weight:
        put("head", table(weight["lm_head.weight"]))
    put("nf", weight["model.final_norm.weight"])
    for i in range(config["num_hidden_layers"]):
        at = {
            name[len(f"model.layers.{i}.") :]: w
            for name, w in weight.items()
            if name.startswith(f"model.layers.{i}.")
        }
        t = {n[len("temporal_block.") :]: w for n, w in at.items() if n.startswith("temporal")}
        put(f"{i}.n1", at["temporal_pre_norm.weight"])
        put(f"{i}.n2", at["channel_pre_norm.weight"])
        for place, kind in ("wgu", "weight"), ("bgu", "bias"):
            put(f"{i}.{place}", *(at[f"mlp_block.{b}_proj.{kind}"] for b in ("gate", "up")))
        put(f"{i}.wd", at["mlp_block.down_proj.weight"])
        put(f"{i}.bd", at["mlp_block.down_proj.bias"])
        if "q_proj.weight" in t:
            put(f"{i}.wqkv", *(grow(t[f"{n}_proj.weight"], 0, D, full) for n in "qkv"))
            put(f"{i}.wo", grow(t["o_proj.weight"], 1, D, full))
            put(f"{i}.bo", t["o_proj.bias"])
            continue
        put(f"{i}.wo", t["linear_out.weight"])
        put(f"{i}.bo", t["linear_out.bias"])
        put(f"{i}.wxy", t["linear_x.weight"], t["linear_y.weight"])
        put(f"{i}.bxy", t["linear_x.bias"], t["linear_y.bias"])
        put(f"{i}.cw", t["conv_1d.weight"][:, 0])
        put(f"{i}.cb", t["conv_1d.bias"])
        put(f"{i}.ap", t["rg_lru.recurrent_param"])
        for place, gate in ("x", "input"), ("a", "recurrent"):
            put(f"{i}.w{place}", t[f"rg_lru.{gate}_gate_weight"])
            put(f"{i}.b{place}", t[f"rg_lru.{gate}_gate_bias"].reshape(-1))
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


# --- mistakes ---------------------------------------------------------------------------


def refused(what, words, where):
    r = load(where)
    said = r.stderr
    good = r.returncode == 1 and words in said and said.count("\n") == 1
    report(good, f"refused: {what}", f"exit {r.returncode}, should say '{words}':\n{said[:900]}")


def bad_configs():
    config, base = read(f"{TMP}/odd")
    where = write("bad", config, base)
    whole = "is not a whole number from 1 to 1073741824"
    part = "rope_parameters"
    cases = [
        ("a config that ends early", "not valid JSON", '{"hidden_size": 3'),
        ("an empty config", "not valid JSON", ""),
        ("a list", "not a JSON object", "[1]"),
        ("ten thousand brackets", "not valid JSON", "[" * 10000),
        ("a key twice", "not valid JSON", '{"a": 1, "a": 1}'),
        ("an integer beyond 64 bits", "not valid JSON", '{"hidden_size": 1%s}' % ("0" * 30)),
        ("a number beyond doubles", "not valid JSON", '{"rope_theta": 1e999}'),
        ("a config above a megabyte", "more than the limit", " " * (1 << 20) + "{}"),
        ("another architecture", 'model_type is not "recurrent_gemma"', {"model_type": "gemma"}),
        ("another activation", "hidden_activation is not", {"hidden_activation": "silu"}),
        ("biases of the attention", "attention_bias is true", {"attention_bias": True}),
        ("scaled positions", "rope_type is not", {part: {"rope_type": "linear"}}),
        ("rope_parameters as a list", "rope_parameters is not an object", {part: [1]}),
        ("a third of a rotation", "not a number from 0 to 1", {part: {"partial_rotary_factor": -3}}),
        ("an odd number of rotated channels", "an even number", {part: {"partial_rotary_factor": 0.26}}),
        ("no size", "hidden_size is missing", {"hidden_size": None}),
        ("a size of 0", "num_hidden_layers " + whole, {"num_hidden_layers": 0}),
        ("a negative size", "vocab_size " + whole, {"vocab_size": -4}),
        ("a size that is too large", "lru_width " + whole, {"lru_width": 1 << 40}),
        ("a fraction for a size", "num_attention_heads " + whole, {"num_attention_heads": 3.0}),
        ("a word for a size", "conv1d_width " + whole, {"conv1d_width": "4"}),
        ("a matrix that is too large", "too large", {"hidden_size": 1 << 29, "lru_width": 69}),
        ("an odd intermediate_size", "intermediate_size is not even", {"intermediate_size": 41}),
        ("no window", "attention_window_size is missing", {"attention_window_size": None}),
        ("a long filter", "a convolution of 9 taps", {"conv1d_width": 9}),
        ("heads that do not divide", "do not divide", {"num_key_value_heads": 2}),
        ("a large head", "a head of 300 channels", {"head_dim": 300}),
        ("an odd head", "a head of 13 channels", {"head_dim": 13}),
        ("gates that do not divide", "70 recurrent channels do not make 3", {"lru_width": 70}),
        ("an unknown block", "block_types is no list", {"block_types": ["mamba"]}),
        ("no block", "block_types is no list", {"block_types": []}),
        ("a word for blocks", "block_types is no list", {"block_types": "recurrent"}),
        ("a word for a number", "rms_norm_eps is not a number", {"rms_norm_eps": "1e-6"}),
        ("an epsilon of 0", "rms_norm_eps 0 must be above 0", {"rms_norm_eps": 0}),
        ("a soft cap below 0", "a soft cap of -1", {"logits_soft_cap": -1}),
        ("a number beyond floats", "rope_theta is not a number", {"rope_theta": 1e300, part: None}),
        ("a word for a flag", "neither true nor false", {"tie_word_embeddings": "no"}),
        ("a word for a token", "eos_token_id is not a token id", {"eos_token_id": ["</s>"]}),
        ("nine ends", "eos_token_id has over 8", {"eos_token_id": list(range(9))}),
    ]  # fmt: skip
    for what, words, change in cases:
        with open(where + "/config.json", "w", encoding="utf-8") as f:
            f.write(change if isinstance(change, str) else json.dumps(config | change))
        refused(what, words, where)
    os.remove(where + "/config.json")
    refused("no config", "config.json: No such file", where)


def bad_tensors():
    config, base = read(f"{TMP}/odd")
    layer = "model.layers.0."

    def changed(name, new):
        return base | {name: new}

    def without(*names):
        return {n: t for n, t in base.items() if n not in names}

    wide = ("f32", np.zeros((36, 41), np.float32))
    norm, embedding = layer + "channel_pre_norm.weight", "model.embed_tokens.weight"
    gates = layer + "temporal_block.rg_lru.input_gate_weight"
    mixed = {n: t for n, t in official(base).items() if "ffw_up.b" not in n or "s.0." not in n}
    for what, words, tensors, change in [
        ("a missing norm", f"tensor '{norm}' is missing", without(norm), {}),
        ("a missing official bias", "tensor 'blocks.0.mlp_block.ffw_up.b' is missing", mixed, {}),
        ("no embedding", f"tensor '{embedding}' is missing, and 'embedder", without(embedding), {}),
        ("no tensor", f"tensor '{embedding}' is missing", {}, {}),
        ("a tensor too many", "tensor 'model.normalizer' belongs to nothing",
         changed("model.normalizer", ("f32", np.ones(1, np.float32))), {}),
        ("a tensor under both names", "tensor 'final_norm.scale' belongs to nothing",
         changed("final_norm.scale", base["model.final_norm.weight"]), {}),
        ("a layer less in the config", "belongs to nothing", base, {"num_hidden_layers": 3}),
        ("a layer more in the config", "'model.layers.4.temporal_pre_norm.weight' is missing",
         base, {"num_hidden_layers": 5}),
        ("other kinds of layers", "is missing", base, {"block_types": ["attention"]}),
        ("another width", "is (301,36), but config.json makes it (301,48) (vocab_size, hidden_size)",
         base, {"hidden_size": 48}),
        ("another MLP", "but config.json makes it (22,36) (half of intermediate_size, hidden_size)",
         base, {"intermediate_size": 44}),
        ("another number of heads", "is (3,23,23), but config.json makes it (1,69,69)",
         base, {"num_attention_heads": 1}),
        ("another recurrent width", "(lru_width", base, {"lru_width": 72}),
        ("another head", "(num_attention_heads * head_dim, hidden_size)", base, {"head_dim": 16}),
        ("another filter", "(lru_width, 1, conv1d_width)", base, {"conv1d_width": 4}),
        ("a turned matrix", "is (23,3,23)",
         changed(gates, ("f32", base[gates][1].transpose(1, 0, 2).copy())), {}),
        ("a misshaped matrix", "down_proj.weight': is (36,41)",
         changed(layer + "mlp_block.down_proj.weight", wide), {}),
        ("a misshaped head", "'lm_head.weight': is (36,41)", changed("lm_head.weight", wide), {}),
        ("an embedding of one dimension", f"'{embedding}': is (36)",
         changed(embedding, ("f32", np.zeros(36, np.float32))), {}),
        ("an official filter of Hugging Face's shape", "(conv1d_width, lru_width)",
         {n: (E, b.T.copy() if n.endswith("conv_1d.w") else b)
          for n, (E, b) in official(base).items()}, {}),
        ("integers", f"'{norm}': is I64: weights are F32, F16 or BF16",
         changed(norm, ("i64", np.zeros(36, np.int64))), {}),
        ("doubles", "is F64: weights are", changed(norm, ("f64", np.zeros(36))), {}),
        ("no head where the config wants one", "tensor 'lm_head.weight' is missing",
         base, {"tie_word_embeddings": False}),
    ]:  # fmt: skip
        refused(what, words, write("bad", config | change, tensors))


def bad_files():
    config, base = read(f"{TMP}/odd")

    def file(name, change):
        where = write("bad", config, base)
        path = f"{where}/model.safetensors"
        with open(path, "rb") as f:
            data = f.read()
        with open(path, "wb") as f:
            f.write(change(data))
        refused(name[0], name[1], where)

    file(("a file that ends early", "it is truncated"), lambda d: d[:-1])
    file(("a file that ends in its header", "it is truncated"), lambda d: d[:100])
    file(("a file that goes on", "belong to no tensor"), lambda d: d + b"0")
    file(("an empty file", "is empty"), lambda d: b"")
    file(("noise", "not a safetensors file"), lambda d: bytes(range(256)) * 9)
    file(("a header that is no JSON", "not valid JSON"), lambda d: struct.pack("<Q", 5) + b"{[}  ")
    where = write("bad", config, base)
    os.remove(where + "/model.safetensors")
    refused("no weights", "holds no model.safetensors", where)
    os.mkdir(where + "/model.safetensors")
    refused("a folder for a file", "not a regular file", where)
    refused("no folder", "config.json: No such file", TMP + "/none")


def bad_shards():
    config, base = read(f"{TMP}/odd")
    one, two = (f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
    norm = "model.final_norm.weight"

    def case(what, words, change):
        where = write("bad", config, base, 2)
        path = where + "/model.safetensors.index.json"
        with open(path, encoding="utf-8") as f:
            index = json.load(f)
        index = change(where, index) or index
        with open(path, "w", encoding="utf-8") as f:
            f.write(index if isinstance(index, str) else json.dumps(index))
        refused(what, words, where)

    def put(shard):
        return lambda where, index: index["weight_map"].update({norm: shard})

    def add_to_one(where, index):
        part = {n: (E, np.array(b)) for n, (E, b) in model_folder.raw(f"{where}/{one}")[1].items()}
        part |= {n: base[n] for n, shard in index["weight_map"].items() if shard == two}
        dump.save(f"{where}/{one}", part, {})

    case("a missing shard", f"{two}: No such file or directory (a shard that",
         lambda where, index: os.remove(f"{where}/{two}"))
    case("a shard that ends early", f"{two}: ", lambda w, i: os.truncate(f"{w}/{two}", 3000))
    case("a tensor in two shards", "is both in ", add_to_one)
    case("a tensor that is not in its shard", f"'{norm}' should be in '", lambda w, i: put(
        one if i["weight_map"][norm] == two else two)(w, i))
    case("a tensor that is nowhere", "'ghost' should be in", lambda w, i: i["weight_map"].update(
        {"ghost": one}))
    case("a tensor that the index forgets", f"says nothing of tensor '{norm}'",
         lambda w, i: i["weight_map"].pop(norm) and None)
    for shard in "../" + one, "/etc/passwd", "..", "a/b", "", 7, None, "x\n/y":
        case(f"a shard called {shard!r}", f"'{norm}': its file is no name of a file", put(shard))
    case("no map", "weight_map is no object", lambda w, i: {"metadata": {}})
    case("a list for a map", "weight_map is no object", lambda w, i: {"weight_map": [one]})
    case("an empty map", "weight_map is no object", lambda w, i: {"weight_map": {}})
    case("an index that ends early", "not valid JSON", lambda w, i: '{"weight_map": {')
    case("a list for an index", "weight_map is no object", lambda w, i: "[]")


for name in "odd", "groups", "wide", "attention":
    good_folders(name)
heads_and_vocabularies()
config_keys()
bad_configs()
bad_tensors()
bad_files()
bad_shards()
sys.exit(failed)
