"""ladder.py - the rungs of a lab's ladder as differences, each with what it gained.

    ladder.py OUT.md LAB        LAB: lab03

The page has, for each rung, the comment at its top, the figures that the guide records,
and the lines that differ from the rung before. It is written, not edited: `make
ladder-lab03`, `make handout LADDER=1`. Standard library only."""
import difflib
import re
import sys
from pathlib import Path

import labkit

CONTEXT = 2  # lines around a difference
TABLE = re.compile(r"<!-- bench: (.*?) -->\n(.*?)<!-- bench end -->", re.DOTALL)
ROW = re.compile(r"^\| (\w+) \|(.*)\|$", re.MULTILINE)
COMMENT = re.compile(r"/\*(.*?)\*/\s*", re.DOTALL)
FAILS = re.compile(r"^// fails: .*\n", re.MULTILINE)


def split(path):
    """(the comment at the top of a rung as prose, its code)"""
    text = FAILS.sub("", path.read_text())
    top = COMMENT.match(text)
    if not top:
        labkit.stop(f"{path} has no comment at its top")
    words = re.sub(r"^ ?\* ?", "", top[1], flags=re.MULTILINE).strip()
    return words.partition(" - ")[2] or words, text[top.end():]


def figures(guide):
    """[(what, {code: cell})]: the measured columns of the guide's tables"""
    found = []
    for columns, text in TABLE.findall(guide):
        names = [c.strip() for c in columns.split("|")]
        counted = any(name.startswith("counted ") for name in names)
        for n, name in enumerate(names[:1] if counted else names):
            cells = {code: rest.split("|")[n].strip() for code, rest in ROW.findall(text)}
            found.append((name, cells))
    return found


def number(cell):
    """GB/s or TFLOP/s of a cell: 0.25 (1072), 442 TFLOP/s"""
    value = re.search(r"\((\d+)\)|^([\d.]+) TFLOP", cell or "")
    return float(value[1] or value[2]) if value else None


def fraction(cell):
    value = re.match(r"[\d.]+", cell or "")
    return float(value[0]) if value else None


def gain(cell, before, rung):
    """ "20 times as fast"; the solution may have run on another GPU: by the fraction of the
    copy bandwidth, where there is one"""
    of = number if rung else fraction
    now, then = of(cell), of(before)
    if not now or not then:
        return ""
    return f"{now / then:.3g} times the rung before"


def measured(guide, code, before):
    lines = ["| measured | | gain |", "|---|---|---|"]
    for what, cells in figures(guide):
        if cells.get(code):
            told = gain(cells[code], cells.get(before), code != "solution")
            lines.append(f"| {what} | {cells[code]} | {told} |")
    return lines if len(lines) > 2 else []


def difference(before, code):
    lines = list(difflib.unified_diff(before.splitlines(), code.splitlines(), n=CONTEXT,
                                      lineterm=""))[2:]
    return ["```diff", *("@@" if line.startswith("@@") else line for line in lines), "```"]


def page(name):
    guide = Path("labs", name, "README.md").read_text()
    title = guide.split("\n", 1)[0].lstrip("# ")
    out = [f"# {title}: the ladder", "",
           "Each rung, with the lines that differ from the one before: `-` was removed, `+` is",
           "new. The figures are those of the guide, which names the GPU. A cell such as",
           "`0.9 (2700)` has the fraction of the copy bandwidth and, in parentheses, GB/s.", ""]
    before_code = before = ""
    for rung in sorted(Path("solutions", name, "ladder").glob("*.cu")):
        words, code = split(rung)
        out += [f"## {rung.stem}", "", words, "", *measured(guide, rung.stem, before), ""]
        out += (difference(before_code, code) if before_code else
                ["```c", *code.rstrip("\n").splitlines(), "```"])
        out.append("")
        before_code, before = code, rung.stem
    files = sorted(p.name for p in Path("solutions", name).glob("*.cu*"))
    out += ["## solution", "", f"`solutions/{name}/`: {', '.join(files)}.", "",
            *measured(guide, "solution", before)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def main():
    if len(sys.argv) != 3:
        labkit.stop(__doc__)
    out, lab = Path(sys.argv[1]), labkit.lab_folder(sys.argv[2])
    if not Path("solutions", lab, "ladder").is_dir():
        labkit.stop(f"{lab}: no ladder here: a handout has none")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(page(lab))
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
