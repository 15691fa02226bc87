"""table.py - writes the measured ladder into a lab's guide.

    python bench/table.py labs/lab03_rmsnorm/README.md build/cuda/bench/rmsnorm.jsonl \
        build/check/bench/rmsnorm.counted.jsonl

The guide marks the place and the columns:
    <!-- bench: rmsnorm_forward bf16 4096x4096 | counted rmsnorm_forward bf16 64x4096 -->
    <!-- bench end -->
Between these two lines goes a table with one row per rung that has one of these functions
and one column per measurement, followed by the GPU and the command; if the files have lines
of several GPUs, with the rungs that ran on each. A column that begins with "counted" is
several, what check mode counts for this call: counted.py writes the second file. A guide
may have several tables. Of equal lines in the files the last one counts. Standard library
only.
"""

import json
import re
import sys
import textwrap

COUNTED = ["requests", "sectors (ideal)", "moved / least", "conflict", "barriers"]
WORDS = """The rest is what [check mode](../../docs/check.md#reading-the-counts) counts for {}:
requests, sectors per request, bytes moved as a multiple of the fewest that any rung moves,
the worst bank conflict of a line, barriers per block; `make bench-counted-{}`."""

BLOCK = re.compile(r"<!-- bench: (.*?) -->\n(.*?)<!-- bench end -->", re.DOTALL)


def stop(message):
    sys.exit(f"table: {message}")


def what_of(row):
    if "counted" in row:
        return f"counted {row['counted']}"
    return f"{row['function']} {row['dtype']} {row['shape']}"


def read(path):
    """{(code, "function dtype shape"): figures}, in the order of the file"""
    figures = {}
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                figures[row["code"], what_of(row)] = row
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


def counted_cells(row, least):
    if row is None:
        return [""] * len(COUNTED)
    requests, conflict = row["requests"], row["conflict"]
    barriers = row["barriers"] / row["blocks"]
    way = "–" if conflict is None else "none" if conflict < 1.005 else f"{conflict:.1f}-way"
    sectors = f"{row['sectors'] / requests:.1f} ({row['ideal'] / requests:.1f})"
    return [f"{requests:,}", sectors, f"{32 * row['sectors'] / least:.2f}", way,
            f"{barriers:.1f}" if barriers else "0"]


def is_counted(column):
    return column.startswith("counted ")


def headings(columns):
    """Of a table with counts: short, the caption says what is measured"""
    if not any(map(is_counted, columns)):
        return columns
    return ["measured"] + COUNTED


def cells_of(code, column, figures):
    row = figures.get((code, column))
    if not is_counted(column):
        return [cell(row)]
    least = min(r["least"] for (_, what), r in figures.items() if what == column)
    return counted_cells(row, least)


def caption(columns, shown, op):
    counted = [c.removeprefix("counted ") for c in columns if is_counted(c)]
    moved = any("of_copy" in row for row in shown.values())
    words = f"{devices(shown, moved)}: `make bench-{op}`."
    if moved:
        words = ("fraction of the copy bandwidth in the same run (and GB/s, counting the "
                 f"fewest bytes that can move). {words}")
    if counted:
        words = f"Measured: {columns[0]}, {words} {WORDS.format(counted[0], op)}"
    elif moved:
        words = f"Each cell: {words}"
    # no line ends in a command or in the text of a link
    words = re.sub(r"`[^`]*`|\[[^]]*\]", lambda m: m[0].replace(" ", "\0"), words)
    return textwrap.fill(words, 90, break_on_hyphens=False).replace("\0", " ")


def table(columns, figures, op):
    codes = list(dict.fromkeys(code for code, what in figures if what in columns))
    head = headings(columns)
    lines = ["| | " + " | ".join(head) + " |", "|---" * (len(head) + 1) + "|"]
    for code in codes:
        cells = [c for column in columns for c in cells_of(code, column, figures)]
        lines.append(f"| {code} | " + " | ".join(cells) + " |")
    shown = {key: row for key, row in figures.items()
             if key[1] in columns and not is_counted(key[1])}
    return "\n".join(lines) + "\n\n" + caption(columns, shown, op) + "\n"


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
    if len(sys.argv) < 3:
        stop("usage: table.py GUIDE.md FIGURES.jsonl...")
    guide, *paths = sys.argv[1:]
    path = ", ".join(paths)
    figures = {}
    for each in paths:
        figures.update(read(each))
    order = sorted(figures, key=lambda key: (key[0] == "solution", key[0]))
    figures = {key: figures[key] for key in order}
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
            stop(f"{path} has no row `{missing[0]}`: was it measured on a GPU?"
                 if not is_counted(missing[0]) else
                 f"{path} has no row `{missing[0]}`: make bench-counted-{op} writes it")
        count += len(columns)
        made = table(columns, figures, op)
        return f"<!-- bench: {found[1]} -->\n{made}<!-- bench end -->"

    text = BLOCK.sub(fill, text)
    with open(guide, "w", encoding="utf-8") as out:
        out.write(text)
    print(f"{guide}: {count} columns from {path}")


if __name__ == "__main__":
    main()
