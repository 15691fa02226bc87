"""table.py - writes the measured ladder into a lab's guide.

    python bench/table.py labs/lab03_rmsnorm/README.md build/cuda/bench/rmsnorm.jsonl

The guide marks the place and the columns:
    <!-- bench: rmsnorm_forward bf16 4096x4096 | rmsnorm_backward bf16 4096x4096 -->
    <!-- bench end -->
Between these two lines goes a table with one row per rung that has one of these functions
and one column per measurement, followed by the GPU and the command; if the file has lines of
several GPUs, with the rungs that ran on each. A guide may have several tables. Standard
library only.
"""

import json
import re
import sys
import textwrap

BLOCK = re.compile(r"<!-- bench: (.*?) -->\n(.*?)<!-- bench end -->", re.DOTALL)


def stop(message):
    sys.exit(f"table: {message}")


def read(path):
    """{(code, "function dtype shape"): figures}, in the order of the file"""
    figures = {}
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                what = f"{row['function']} {row['dtype']} {row['shape']}"
                figures[row["code"], what] = row
    except (OSError, ValueError, KeyError) as error:
        stop(f"{path}: {error}: make bench-OP writes it")
    if not figures:
        stop(f"{path} is empty: make bench-OP writes it")
    return figures


def cell(row):
    if row is None:
        return ""
    if "TFLOPs" in row:
        return f"{row['TFLOPs']:.0f} TFLOP/s"
    return f"{row['of_copy']:.2f} ({row['GBs']:.0f})"


def table(columns, figures, op):
    codes = list(dict.fromkeys(code for code, what in figures if what in columns))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for code in codes:
        cells = [cell(figures.get((code, column))) for column in columns]
        lines.append(f"| {code} | " + " | ".join(cells) + " |")
    shown = {key: row for key, row in figures.items() if key[1] in columns}
    moved = any("of_copy" in row for row in shown.values())
    words = f"{devices(shown, moved)}: `make bench-{op}`."
    if moved:
        words = (
            "Each cell: fraction of the copy bandwidth in the same run (and GB/s, counting "
            f"the fewest bytes that can move). {words}"
        )
    return "\n".join(lines) + "\n\n" + textwrap.fill(words, 90) + "\n"


def devices(shown, moved):
    """NVIDIA H200, copy 4248 GB/s; several: each with the rungs that ran on it"""
    rungs = {}
    for (code, _), row in shown.items():
        copy = f", copy {row['copy_GBs']:.0f} GB/s" if moved else ""
        ran = rungs.setdefault(row["device"], (row["device"] + copy, {}))
        ran[1][code] = None
    if len(rungs) == 1:
        return next(iter(rungs.values()))[0]
    return "; ".join(f"{', '.join(codes)}: {device}" for device, codes in rungs.values())


def main():
    if len(sys.argv) != 3:
        stop("usage: table.py GUIDE.md FIGURES.jsonl")
    guide, path = sys.argv[1:]
    figures = read(path)
    try:
        text = open(guide, encoding="utf-8").read()
    except OSError as error:
        stop(error)
    if not BLOCK.search(text):
        stop(f"{guide} has no `<!-- bench: ... -->` and `<!-- bench end -->`")
    op = re.sub(r".*/lab\d+_(\w+)/.*", r"\1", guide)
    count = 0

    def fill(found):
        nonlocal count
        columns = [c.strip() for c in found[1].split("|")]
        missing = [c for c in columns if not any(what == c for _, what in figures)]
        if missing:
            stop(f"{path} has no row `{missing[0]}`: was it measured on a GPU?")
        count += len(columns)
        made = table(columns, figures, op)
        return f"<!-- bench: {found[1]} -->\n{made}<!-- bench end -->"

    text = BLOCK.sub(fill, text)
    with open(guide, "w", encoding="utf-8") as out:
        out.write(text)
    print(f"{guide}: {count} columns from {path}")


main()
