"""folder.py - reads safetensors files and Hugging Face model folders, with shards too.

It does not use the safetensors package, which does not support bf16 in NumPy. dump.save
writes such files.
"""

import json
import os
import struct

import numpy as np

import wb

TYPES = {spec["file"]: E for E, spec in wb.TYPES.items()}


def raw(path):
    """metadata, {name: (element type, array of its bits)}; memory-mapped"""
    with open(path, "rb") as f:
        (n,) = struct.unpack("<Q", f.read(8))
        header = json.loads(f.read(n))
    data = np.memmap(path, np.uint8, "r", offset=8 + n)
    tensors, meta = {}, header.pop("__metadata__", {})
    for name, t in header.items():
        E, (begin, end) = TYPES[t["dtype"]], t["data_offsets"]
        bits = data[begin:end].view(wb.TYPES[E]["numpy"])
        tensors[name] = (E, bits.reshape(t["shape"]))
    return meta, tensors


def read(path):
    """metadata, {name: array}; bf16, which NumPy lacks, as bits"""
    meta, tensors = raw(path)
    return meta, {name: bits for name, (_, bits) in tensors.items()}


def shards(folder):
    """the safetensors files of a model"""
    index = folder + "/model.safetensors.index.json"
    if not os.path.exists(index):
        return [folder + "/model.safetensors"]
    with open(index, encoding="utf-8") as f:
        names = set(json.load(f)["weight_map"].values())
    return [f"{folder}/{name}" for name in sorted(names)]


def load(folder):
    """the contents of config.json, {name: weight in float64}"""
    with open(folder + "/config.json", encoding="utf-8") as f:
        config = json.load(f)
    weights = {}
    for path in shards(folder):
        for name, (E, bits) in raw(path)[1].items():
            weights[name] = wb.decode(np.array(bits), E)
    return config, weights
