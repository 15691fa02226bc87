"""edit.py SOURCE EDIT OUT - applies a mutant to a solution.

An .edit file has header lines (see mutants.sh) and other comments, all behind `#`, and
hunks: lines `- old text`, then lines `+ new text` that replace them. The old text must be
found exactly once, so that a mutant never quietly stops being one."""
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


def main():
    source, path, out = sys.argv[1:]
    text = open(source, encoding="utf-8").read()
    changes = hunks(open(path, encoding="utf-8").read().split("\n"), path)
    if not changes:
        sys.exit(f"{path}: no hunk")
    for old, new in changes:
        if text.count(old) != 1:
            sys.exit(f"{path}: {text.count(old)} times in {source}, not once: {old!r}")
        text = text.replace(old, new)
    open(out, "w", encoding="utf-8").write(text)


main()
