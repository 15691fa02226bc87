"""compare_backends.py - how much the outputs of two runs of the grader differ.

    BACKEND=cpu  ./grade lab03 --save a
    BACKEND=cuda ./grade lab03 --save b
    python tools/compare_backends.py a b

Prints a Markdown table: per lab, function and output dtype, how many elements there are,
how many differ, the largest difference and where it is. Differences are in ulps (units in
the last place) of the output's dtype: the number of steps from one value to the other.
Integers are subtracted. 0 equals -0, and NaN equals NaN. Exit code 2: the runs cannot be
compared.
"""

import glob
import os
import sys

import numpy as np
from safetensors import SafetensorError, deserialize, safe_open

BITS = {"F32": np.uint32, "F16": np.uint16, "BF16": np.uint16, "I32": np.uint32,
        "I64": np.uint64, "U8": np.uint8}
INFINITY = {"F32": 0x7F800000, "F16": 0x7C00, "BF16": 0x7F80}
NOT_A_NUMBER = 1 << 40  # ulps; larger than any difference of two numbers


def fail(message):
    print(f"compare_backends.py: {message}", file=sys.stderr)
    sys.exit(2)


def load(path):
    """(metadata {key: value}, tensors {name: (dtype, shape, bits)})"""
    try:
        with safe_open(path, "np") as f:
            about = f.metadata() or {}
        with open(path, "rb") as f:
            tensors = dict(deserialize(f.read()))
    except (OSError, SafetensorError) as error:
        fail(f"{path}: {error}")
    missing = {"lab", "case", "function", "dtype", "seed"} - about.keys()
    if missing:
        fail(f"{path}: no '{min(missing)}' in the metadata; ./grade LAB --save writes it")
    for name, t in tensors.items():
        if t["dtype"] not in BITS:
            fail(f"{path}: {name} is {t['dtype']}; use one of {', '.join(BITS)}")
        bits = np.frombuffer(t["data"], BITS[t["dtype"]])
        tensors[name] = t["dtype"], tuple(t["shape"]), bits
    return about, tensors


def ordered(bits, dtype):
    """Integers in the order of the encoded numbers; neighbours differ by 1."""
    values = bits.astype(np.int64)
    sign = np.int64(1) << (8 * bits.itemsize - 1)
    if dtype in ("I64", "U8"):
        return values
    if dtype == "I32":
        return np.where(values >= sign, values - 2 * sign, values)
    return np.where(values >= sign, sign - values, values)


def distance(a, b, dtype):
    """the differences of two arrays of bits in ulps"""
    x, y = ordered(a, dtype), ordered(b, dtype)
    d = np.abs(x - y)
    if dtype in INFINITY:
        nan_x, nan_y = np.abs(x) > INFINITY[dtype], np.abs(y) > INFINITY[dtype]
        d[nan_x != nan_y] = NOT_A_NUMBER
        d[nan_x & nan_y] = 0
    return d


class Row:
    """a row of the table"""

    def __init__(self):
        self.elements = self.differ = self.most = 0
        self.place = ""

    def add(self, where, shape, d):
        self.elements += d.size
        self.differ += np.count_nonzero(d)
        if d.size and d.max() > self.most:
            self.most = int(d.max())
            index = np.unravel_index(int(d.argmax()), shape)
            self.place = f"{where} [{', '.join(map(str, index))}]"

    def text(self):
        most = "NaN in one only" if self.most == NOT_A_NUMBER else f"{self.most} ulps"
        return f"{self.elements} | {self.differ} | {most} | {self.place or '-'} |"


def compare(paths, rows):
    """Adds one case to rows: {(lab, function, dtype): Row}."""
    (about, a), (other, b) = map(load, paths)
    for key in ("lab", "case", "function", "dtype", "seed"):
        if about[key] != other[key]:
            fail(f"{paths[0]} has {key} {about[key]}, {paths[1]} has {other[key]}")
    for name in sorted(a.keys() | b.keys()):
        dtype, shape, x = a.get(name, ("no",) * 3)
        dtype_b, shape_b, y = b.get(name, ("no",) * 3)
        if (dtype, shape) != (dtype_b, shape_b):
            fail(f"{name} is {dtype} {shape} in {paths[0]}, "
                 f"{dtype_b} {shape_b} in {paths[1]}")
        key = about["lab"], f"{about['function']}_{about['dtype']}", dtype
        where = f"{about['case']}: {name}"
        rows.setdefault(key, Row()).add(where, shape, distance(x, y, dtype))


def main():
    if len(sys.argv) != 3:
        fail("give two folders that ./grade LAB --save DIR wrote")
    folders = sys.argv[1:]
    names = [
        {os.path.basename(p) for p in glob.glob(f"{glob.escape(d)}/*.safetensors")}
        for d in folders
    ]
    both = sorted(names[0] & names[1])
    if not both:
        fail(f"{folders[0]} and {folders[1]} have no .safetensors of the same name")
    rows = {}
    for name in both:
        compare([os.path.join(d, name) for d in folders], rows)
    print("| lab | function | dtype | elements | differ | largest difference | where |")
    print("|---|---|---|---:|---:|---:|---|")
    for key in sorted(rows):
        print("| " + " | ".join(key) + " | " + rows[key].text())
    for folder, own, others in zip(folders, names, reversed(names)):
        if own - others:
            print(f"\nOnly in {folder}: {', '.join(sorted(own - others))}")


if __name__ == "__main__":
    main()
