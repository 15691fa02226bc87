"""Writes the seeds that the fuzzer starts from: python tests/fuzz/make_corpus.py

Small whole files of every dtype and shape, and small broken ones, one per check of the
reader, so that 100,000 runs reach past the header.
"""
import json
import pathlib
import struct

corpus = pathlib.Path(__file__).parent / "corpus"
folder = corpus / "safetensors"


def write(name, header, data=b"", length=None):
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    raw = text.encode()
    size = struct.pack("<Q", len(raw) if length is None else length)
    (folder / name).write_bytes(size + raw + data)


def entry(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


folder.mkdir(parents=True, exist_ok=True)
sizes = dict(F64=8, F32=4, F16=2, BF16=2, I64=8, I32=4, U8=1, BOOL=1)
for dtype, size in sizes.items():
    write(f"one_{dtype.lower()}", {"x": entry(dtype, [3, 2], 0, 6 * size)}, bytes(6 * size))
every, at = {"__metadata__": {"format": "pt", "step": "12"}}, 0
for dtype, size in sizes.items():
    every[f"t.{dtype}"] = entry(dtype, [2], at, at + 2 * size)
    at += 2 * size
write("every", every, bytes(range(at)))
write("empty", {})
write("padded", json.dumps({"x": entry("U8", [1], 0, 1)}) + "      ", b"\x07")
write("scalar", {"x": entry("F32", [], 0, 4)}, bytes(4))
write("no_elements", {"x": entry("F32", [0, 7], 0, 0), "y": entry("U8", [1], 0, 1)}, b"a")
write("overlap", {"a": entry("U8", [3], 0, 3), "b": entry("U8", [2], 2, 4)}, bytes(4))
write("hole", {"a": entry("U8", [1], 0, 1), "b": entry("U8", [1], 2, 3)}, bytes(3))
write("truncated", {"x": entry("F32", [4], 0, 16)}, bytes(9))
write("too_long", {"x": entry("U8", [1], 0, 1)}, bytes(9))
write("overflow", {"x": entry("F64", [2**61, 2**61], 0, 8)}, bytes(8))
write("negative", {"x": entry("U8", [-1], 0, 1)}, bytes(1))
write("dtype", {"x": entry("F8_E4M3", [1], 0, 1)}, bytes(1))
write("mismatch", {"x": entry("F32", [2], 0, 4)}, bytes(4))
write("backwards", {"x": entry("U8", [1], 1, 0)}, bytes(1))
write("nine_dims", {"x": entry("U8", [1] * 9, 0, 1)}, bytes(1))
write("twice", '{"x":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":1}', b"a")
write("metadata", {"__metadata__": {"a": 1}})
write("json", '{"x":')
write("length", "{}", length=2**63)

folder = corpus / "tokenizer"
folder.mkdir(parents=True, exist_ok=True)


def write_model(name, model, **more):
    text = json.dumps({"version": "1.0", "model": model, **more}, ensure_ascii=False)
    (folder / name).write_text(text, encoding="utf-8")


write_model("characters", {"type": "WordLevel", "vocab": {"\n": 0, "a": 1, "é": 2, "€": 3}})
write_model("unsorted", {"type": "WordLevel", "vocab": {"b": 0, "a": 1}})
write_model("taken", {"type": "WordLevel", "vocab": {"b": 0, "a": 0}})
write_model("two", {"type": "WordLevel", "vocab": {"ab": 0}})
write_model("specials", {"type": "WordLevel", "vocab": {"b": 0, "a": 1, "<unk>": 2}},
            added_tokens=[{"id": 2, "content": "<unk>", "special": True}])
write_model("bpe", {"type": "BPE", "vocab": {"a": 0}, "merges": []})
(folder / "text").write_bytes("To be, or not: é€😀 ".encode() * 2)
(folder / "latin1").write_bytes(b"caf\xe9 and more16b")

folder = corpus / "text"
folder.mkdir(parents=True, exist_ok=True)


def number(field, value):
    """A field of a protobuf message that is a number (below 2**14)."""
    return bytes([field << 3, value & 127]) if value < 128 else \
        bytes([field << 3, value & 127 | 128, value >> 7])


def inside(field, data):
    """A field that is text, bytes or a message."""
    return bytes([field << 3 | 2]) + number(0, len(data))[1:] + data


def piece(text, score=0.0, kind=1):
    score = b"\x15" + struct.pack("<f", score) if score else b""
    return inside(1, inside(1, text.encode()) + score + number(3, kind))


UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
SPECIAL = [("<pad>", 0, CONTROL), ("<eos>", 0, CONTROL), ("<bos>", 0, CONTROL),
           ("<unk>", 0, UNKNOWN), ("<start_of_turn>", 0, CONTROL), ("<end_of_turn>", 0, USER)]
LETTERS = [("\u2581", -3), ("a", -4), ("t", -5), ("h", -5), ("th", -1), ("\u2581a", -2),
           ("\u2581\u2581", -2.5), ("\n", -6), ("1", -6), ("é", -7)]
BYTES = [(f"<0x{b:02X}>", 0, BYTE) for b in range(256)]


def write_pieces(name, kind, pieces, prefix=0, squeeze=0, rules=b"", fallback=0, more=b""):
    trainer = number(3, kind)
    # fields above 15 have two bytes of tag: byte_fallback 35; unk, bos, eos, pad 40..43,
    # and the names of bos and eos
    for field, value in (35, fallback), (40, 3), (41, 2), (42, 1), (43, 0):
        trainer += bytes([field << 3 & 127 | 128, field >> 4, value])
    for field, name_of in (46, b"<bos>"), (47, b"<eos>"):
        trainer += bytes([field << 3 & 127 | 130, field >> 4, len(name_of)]) + name_of
    normalizer = inside(1, b"identity") + (inside(2, rules) if rules else b"") + \
        number(3, prefix) + number(4, squeeze) + number(5, 1)
    (folder / name).write_bytes(b"".join(piece(*p) for p in pieces) + inside(2, trainer) +
                                inside(3, normalizer) + more)


# "A" becomes "a": a tree of 256 units, the root's child at 0xC1, its value at 0xC3.
units = [0] * 256
units[0] = 0x80 << 10
units[0xC1] = 0x02 << 10 | 1 << 8 | 0x41
units[0xC3] = 1 << 31
tree = struct.pack("<256I", *units)
rules = struct.pack("<I", len(tree)) + tree + b"a\0"

write_pieces("unigram", UNIGRAM, SPECIAL + LETTERS)
write_pieces("bpe", BPE, SPECIAL + LETTERS)
write_pieces("bpe_prefix", BPE, SPECIAL + LETTERS, prefix=1)
write_pieces("word", WORD, SPECIAL + LETTERS, prefix=1, squeeze=1)
write_pieces("char", CHAR, SPECIAL + LETTERS, squeeze=1)
write_pieces("unused", UNIGRAM, SPECIAL + LETTERS + [("the", -1, UNUSED)])
write_pieces("bytes", BPE, SPECIAL + BYTES + LETTERS, fallback=1)
write_pieces("bytes_unigram", UNIGRAM, SPECIAL + BYTES + LETTERS, prefix=1, fallback=1)
write_pieces("rules", UNIGRAM, SPECIAL + LETTERS, rules=rules)
write_pieces("rules_broken", UNIGRAM, SPECIAL + LETTERS, rules=rules[:40] + b"\xff" * 4 + rules[44:])
write_pieces("decoding_rules", BPE, SPECIAL + LETTERS, more=inside(5, inside(2, rules)))
write_pieces("no_unknown", BPE, LETTERS)
write_pieces("twice", BPE, SPECIAL + LETTERS + LETTERS)
write_pieces("nothing", BPE, [])
for name in "bpe", "characters":
    (folder / f"{name}.json").write_bytes((corpus / "tokenizer" / name).read_bytes())

folder = corpus / "config"
folder.mkdir(parents=True, exist_ok=True)
new = {
    "model_type": "recurrent_gemma", "num_hidden_layers": 3, "hidden_size": 8,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 24,
    "vocab_size": 11, "lru_width": None, "attention_window_size": 4, "conv1d_width": 4,
    "rms_norm_eps": 1e-06, "logits_soft_cap": 30.0, "bos_token_id": 2, "pad_token_id": 0,
    "eos_token_id": [1, 7], "block_types": ["recurrent", "recurrent", "attention"],
    "rope_parameters": {"rope_theta": 1e4, "rope_type": "default", "partial_rotary_factor": 0.5},
    "max_position_embeddings": 64, "hf_window": True, "tie_word_embeddings": False,
}
old = {k: v for k, v in new.items() if k not in ("rope_parameters", "block_types", "hf_window")}
old |= {"rope_theta": 10000.0, "partial_rotary_factor": 0.5, "_block_types": ["attention"],
        "attention_window_size": None, "sliding_window": 7, "eos_token_id": 1,
        "logits_soft_cap": None, "embeddings_scale_by_sqrt_dim": False, "head_dim": 6}
configs = {"new": new, "old": old, "least": {k: 2 for k in (
    "num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size",
    "vocab_size", "attention_window_size", "head_dim")}}
for name, change in {
    "huge": {"hidden_size": 1 << 30}, "float": {"hidden_size": 8.0}, "word": {"vocab_size": "9"},
    "zero": {"num_attention_heads": 0}, "odd": {"intermediate_size": 23},
    "blocks": {"block_types": ["recurrent", 3]}, "rope": {"rope_parameters": []},
    "scaled": {"rope_parameters": {"rope_type": "linear"}}, "eos": {"eos_token_id": [1] * 9},
}.items():
    configs[name] = new | change
for name, config in configs.items():
    (folder / name).write_text(json.dumps(config))
(folder / "nested").write_text("[" * 2000)
(folder / "number").write_text('{"hidden_size": 1' + "0" * 400 + "}")

folder = corpus / "index"
folder.mkdir(parents=True, exist_ok=True)
one, two = (f"model-0000{i}-of-00002.safetensors" for i in (1, 2))
for name, map_ in {
    "two": {"a": one, "b": two, "c": one}, "path": {"a": "../" + one}, "empty": {},
    "dots": {"a": ".."}, "number": {"a": 1}, "list": [one], "feed": {"a\nb": "c\nd"},
}.items():
    (folder / name).write_text(json.dumps({"metadata": {"total_size": 12}, "weight_map": map_}))
(folder / "no_map").write_text("{}")
(folder / "twice").write_text('{"weight_map": {"a": "x", "a": "y"}}')
