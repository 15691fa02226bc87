"""edit.py [--dtypes LIST] SOURCE... EDIT OUT - applies a mutant to a solution.

The .cu files among the sources are joined into OUT; a .cuh is written next to it under its
own name. An .edit file has comments and header lines (see mutants.sh), which start with `#`,
and hunks: lines `- old text`, then lines `+ new text` that replace them. The old text must
occur exactly once in all sources, so that no mutant silently becomes the right program.
Less to compile: --dtypes f32,bf16 leaves out the functions of other dtypes; --smaller FILE
applies the hunks of FILE whose old text occurs, unless EDIT names what FILE is called
after: hopper.smaller leaves out the kernels for Hopper."""

import argparse
import os
import re
import sys
from pathlib import Path


def hunks(lines, path):
    """[(old, new)] of an edit file"""
    found, old, new = [], [], []
    for at, line in enumerate(lines + [""], 1):
        kind, text = line[:1], line[2:]
        if kind not in ("-", "+", "#", ""):
            sys.exit(f"{path}:{at}: a line starts with '- ', '+ ' or '# '")
        if old and (kind not in "-+" or not kind or (kind == "-" and new)):
            found.append(("\n".join(old), "\n".join(new)))
            old, new = [], []
        if kind == "-":
            old.append(text)
        elif kind == "+":
            new.append(text)
    return found


def only_dtypes(text, dtypes):
    """Without the lines `DEFINE(wb_f16, f16)` of the dtypes that are not in `dtypes`"""
    defines = re.compile(r"^DEFINE\w*\(.*\b(f32|f16|bf16)\)\n", re.MULTILINE)
    return defines.sub(lambda line: line[0] if line[1] in dtypes else "", text)


def read(path):
    return Path(path).read_text(encoding="utf-8")


def replaced(texts, old, new):
    return {source: text.replace(old, new) for source, text in texts.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtypes", type=lambda text: text.split(","))
    parser.add_argument("--smaller")
    parser.add_argument("paths", nargs="+")
    a = parser.parse_args()
    *sources, path, out = a.paths
    texts = {source: read(source) for source in sources}
    changes = hunks(read(path).split("\n"), path)
    if not changes:
        sys.exit(f"{path}: there is no hunk")
    for old, new in changes:
        count = sum(text.count(old) for text in texts.values())
        if count != 1:
            sys.exit(f"{path}: found {count} times in {' '.join(sources)}, expected once: {old!r}")
        texts = replaced(texts, old, new)
    if a.smaller and Path(a.smaller).stem not in read(path) + os.path.basename(path):
        for old, new in hunks(read(a.smaller).split("\n"), a.smaller):
            texts = replaced(texts, old, new)
    headers = {source for source in sources if source.endswith(".cuh")}
    for source in headers:
        beside = os.path.join(os.path.dirname(out), os.path.basename(source))
        open(beside, "w", encoding="utf-8").write(texts[source])
    whole = "\n".join(texts[source] for source in sources if source not in headers)
    whole = only_dtypes(whole, a.dtypes) if a.dtypes else whole
    open(out, "w", encoding="utf-8").write(whole)


main()
