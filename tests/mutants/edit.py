"""edit.py [--dtypes LIST] SOURCE... EDIT OUT - applies a mutant to a solution.

The .cu files among the sources are joined into OUT; a .cuh is written next to it under its
own name. An .edit file has comments and header lines (see mutants.sh), which start with `#`,
and hunks: lines `- old text`, then lines `+ new text` that replace them. The old text must
occur exactly once in all sources, so that no mutant silently becomes the right program.
--dtypes f32,bf16 leaves out the functions of other dtypes: less to compile."""

import os
import re
import sys


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


def main():
    arguments, dtypes = sys.argv[1:], None
    if arguments[0] == "--dtypes":
        dtypes, arguments = arguments[1].split(","), arguments[2:]
    *sources, path, out = arguments
    texts = {source: open(source, encoding="utf-8").read() for source in sources}
    changes = hunks(open(path, encoding="utf-8").read().split("\n"), path)
    if not changes:
        sys.exit(f"{path}: there is no hunk")
    for old, new in changes:
        count = sum(text.count(old) for text in texts.values())
        if count != 1:
            sys.exit(f"{path}: found {count} times in {' '.join(sources)}, expected once: {old!r}")
        texts = {source: text.replace(old, new) for source, text in texts.items()}
    headers = {source for source in sources if source.endswith(".cuh")}
    for source in headers:
        beside = os.path.join(os.path.dirname(out), os.path.basename(source))
        open(beside, "w", encoding="utf-8").write(texts[source])
    whole = "\n".join(texts[source] for source in sources if source not in headers)
    whole = only_dtypes(whole, dtypes) if dtypes else whole
    open(out, "w", encoding="utf-8").write(whole)


main()
