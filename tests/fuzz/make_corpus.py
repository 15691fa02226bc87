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


def write_model(name, model):
    text = json.dumps({"version": "1.0", "model": model}, ensure_ascii=False)
    (folder / name).write_text(text, encoding="utf-8")


write_model("characters", {"type": "WordLevel", "vocab": {"\n": 0, "a": 1, "é": 2, "€": 3}})
write_model("unsorted", {"type": "WordLevel", "vocab": {"b": 0, "a": 1}})
write_model("taken", {"type": "WordLevel", "vocab": {"b": 0, "a": 0}})
write_model("two", {"type": "WordLevel", "vocab": {"ab": 0}})
write_model("bpe", {"type": "BPE", "vocab": {"a": 0}, "merges": []})
(folder / "text").write_bytes("To be, or not: é€😀 ".encode() * 2)
(folder / "latin1").write_bytes(b"caf\xe9 and more16b")
