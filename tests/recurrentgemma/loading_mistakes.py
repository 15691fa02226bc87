"""loading_mistakes.py - what can be wrong with a model folder, and the words in which the
loader must say so."""

import json
import os
import struct

import numpy as np
from loading_run import TMP, cast, dump, model_folder, official, read, refused, write

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 4995496656\n" % 7


def configs():
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
        ("positions scaled in an older way", "type is not", {part: None,
                                                             "rope_scaling": {"type": "linear"}}),
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
        ("a long filter", "a convolution of width 9", {"conv1d_width": 9}),
        ("heads that do not divide", "do not divide", {"num_key_value_heads": 2}),
        ("a large head", "a head of 300 channels", {"head_dim": 300}),
        ("an odd head", "a head of 13 channels", {"head_dim": 13}),
        ("gates that do not divide", "70 recurrent channels do not make 3", {"lru_width": 70}),
        ("an unknown block", "block_types is not a list", {"block_types": ["mamba"]}),
        ("no block", "block_types is not a list", {"block_types": []}),
        ("a word for blocks", "block_types is not a list", {"block_types": "recurrent"}),
        ("a word for a number", "rms_norm_eps is not a number", {"rms_norm_eps": "1e-6"}),
        ("an epsilon of 0", "rms_norm_eps 0 must be above 0", {"rms_norm_eps": 0}),
        ("a soft cap below 0", "a soft cap of -1", {"logits_soft_cap": -1}),
        ("a number beyond floats", "rope_theta is not a number", {"rope_theta": 1e300, part: None}),
        ("a word for a flag", "neither true nor false", {"tie_word_embeddings": "no"}),
        ("a word for a token", "eos_token_id is not a token id", {"eos_token_id": ["</s>"]}),
        ("nine ends", "eos_token_id lists 9 tokens", {"eos_token_id": list(range(9))}),
    ]  # fmt: skip
    for what, words, change in cases:
        with open(where + "/config.json", "w", encoding="utf-8") as f:
            f.write(change if isinstance(change, str) else json.dumps(config | change))
        refused(what, words, where)
    os.remove(where + "/config.json")
    refused("no config", "config.json: No such file", where)


def tensors():
    config, base = read(f"{TMP}/odd")
    layer = "model.layers.0."

    def changed(name, new):
        return base | {name: new}

    def hurt(name, number):
        bits = base[name][1].copy()
        bits.flat[-1] = number
        return base | {name: ("f32", bits)}

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
        ("a tensor too many", "tensor 'model.normalizer' is not part of a model",
         changed("model.normalizer", ("f32", np.ones(1, np.float32))), {}),
        ("a tensor under both names", "tensor 'final_norm.scale' is not part of a model",
         changed("final_norm.scale", base["model.final_norm.weight"]), {}),
        ("a layer less in the config", "is not part of a model", base, {"num_hidden_layers": 3}),
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
        ("a transposed matrix", "is (23,3,23)",
         changed(gates, ("f32", base[gates][1].transpose(1, 0, 2).copy())), {}),
        ("a misshaped matrix", "down_proj.weight': is (36,41)",
         changed(layer + "mlp_block.down_proj.weight", wide), {}),
        ("a misshaped head", "'lm_head.weight': is (36,41)", changed("lm_head.weight", wide), {}),
        ("an embedding of one dimension", f"'{embedding}': is (36)",
         changed(embedding, ("f32", np.zeros(36, np.float32))), {}),
        ("an official filter of Hugging Face's shape", "(conv1d_width, lru_width)",
         {n: (E, b.T.copy() if n.endswith("conv_1d.w") else b)
          for n, (E, b) in official(base).items()}, {}),
        ("NaN", f"'{norm}': holds inf or NaN", hurt(norm, np.nan), {}),
        ("inf in the last of 301 rows", f"'{embedding}': holds inf", hurt(embedding, -np.inf), {}),
        ("NaN in bf16", f"'{norm}': holds inf or NaN", cast(hurt(norm, np.nan), "bf16"), {}),
        ("integers", f"'{norm}': is I64: weights are F32, F16 or BF16",
         changed(norm, ("i64", np.zeros(36, np.int64))), {}),
        ("doubles", "is F64: weights are", changed(norm, ("f64", np.zeros(36))), {}),
        ("no head where the config wants one", "tensor 'lm_head.weight' is missing",
         base, {"tie_word_embeddings": False}),
    ]:  # fmt: skip
        refused(what, words, write("bad", config | change, tensors))


def files():
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
    file(("a file with bytes after its end", "belong to no tensor"), lambda d: d + b"0")
    file(("an empty file", "is empty"), lambda d: b"")
    file(("a pointer of git-lfs", "model.safetensors: is a Git LFS pointer"), lambda d: POINTER)
    file(("noise", "not a safetensors file"), lambda d: bytes(range(256)) * 9)
    file(("a header that is no JSON", "not valid JSON"), lambda d: struct.pack("<Q", 5) + b"{[}  ")
    where = write("bad", config, base)
    os.remove(where + "/model.safetensors")
    refused("no weights", "holds no model.safetensors", where)
    os.mkdir(where + "/model.safetensors")
    refused("a folder for a file", "not a regular file", where)
    refused("no folder", "config.json: No such file", TMP + "/none")


def shards():
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
    case("a pointer for an index", "index.json: is a Git LFS pointer", lambda w, i: POINTER.decode())
    case("a tensor in two shards", "is both in ", add_to_one)
    case("a tensor that is not in its shard", f"'{norm}' should be in '", lambda w, i: put(
        one if i["weight_map"][norm] == two else two)(w, i))
    case("a tensor that is nowhere", "'ghost' should be in", lambda w, i: i["weight_map"].update(
        {"ghost": one}))
    case("a tensor that the index forgets", f"does not list tensor '{norm}'",
         lambda w, i: i["weight_map"].pop(norm) and None)
    for shard in "../" + one, "/etc/passwd", "..", "a/b", "", 7, None, "x\n/y":
        case(f"a shard called {shard!r}", f"'{norm}': its file is not in this folder", put(shard))
    case("no map", "weight_map is not an object", lambda w, i: {"metadata": {}})
    case("a list for a map", "weight_map is not an object", lambda w, i: {"weight_map": [one]})
    case("an empty map", "weight_map is not an object", lambda w, i: {"weight_map": {}})
    case("an index that ends early", "not valid JSON", lambda w, i: '{"weight_map": {')
    case("a list for an index", "weight_map is not an object", lambda w, i: "[]")
