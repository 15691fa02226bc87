"""source.py - the annotated source of the page: at each line its findings, and bars for what
its accesses ask of the memory system."""
from html import escape

from . import draw
from .advice import WORTH
from .values import place_text, plural, size

AROUND, FOLDED = 4, 10  # lines that are shown around an interesting one; fewer stay open
WHOLE = 3000  # lines of a file that is shown as a whole


class Links:
    """Where a line of source is on this page."""

    def __init__(self, files):
        self.number = {file: i for i, file in enumerate(sorted(files))}
        self.shown = set()

    def id(self, file, line):
        return f"s{self.number[file]}l{line}"

    def to(self, file, line):
        text = escape(place_text(file, line))
        if file in self.number and line:
            return f'<a href="#{self.id(file, line)}">{text}</a>'
        return f"<span>{text}</span>"


def meter(space, access, c, most):
    """One row of bars: an access of a line."""
    name = access if space == "global" else f"shared {access}"
    if space == "shared":
        ways = c.ratio()
        text = f"{ways:.1f}-way" if ways > 1.005 else "none"
        return (f'<div class="meter"><span class="access">{name}</span><span class="cell sectors"></span>'
                f'<span class="cell bytes"></span><span class="cell conflicts">'
                f'{draw.bar(1 / draw.FULL, (ways - 1) / draw.FULL)}<span class="unit">conflict </span>{text}</span></div>')
    per, ideal = c.per_request(), c.ideal_per_request()
    share, useful = c.moved() / most, min(c.ideal * 32, c.moved()) / most
    return (f'<div class="meter"><span class="access">{name}</span><span class="cell sectors">'
            f'{draw.bar(ideal / draw.FULL, (per - ideal) / draw.FULL)}{per:.1f} / {ideal:.1f}'
            f'<span class="unit"> sectors</span></span>'
            f'<span class="cell bytes">{draw.bar(useful, share - useful)}{size(c.moved())}</span>'
            f'<span class="cell conflicts"></span></div>')


def meters(line, most):
    if not line:
        return ""
    out = "".join(meter(space, access, c, most) for space, access, c in line.counts())
    if line.barriers or line.collectives:
        texts = [plural(line.barriers, "barrier")] if line.barriers else []
        texts += [plural(line.collectives, "warp collective")] if line.collectives else []
        out += f'<div class="meter"><span class="events">{", ".join(texts)}</span></div>'
    return f'<div class="meters">{out}</div>' if out else ""


def source_row(file, n, text, line, found, most, links):
    bad = " error" if any(f.error for _, f in found) else " note" if found else ""
    hot = " hot" if line and any(c.ratio() > WORTH for _, _, c in line.counts()) else ""
    notes = "".join(
        f'<a class="inline {"error" if f.error else "note"}" href="#f{i}">{escape(f.kind)}: '
        f"{escape(f.message)}</a>" for i, f in found)
    return (f'<div class="row{bad}{hot}" id="{links.id(file, n)}"><span class="n">{n}</span>'
            f'<code>{escape(text) or " "}</code>{meters(line, most)}{notes}</div>')


def source(file, lines, report, links):
    text = report.sources.lines(file)
    found = {}
    for i, f in enumerate(report.findings):
        for place in [(f.file, f.line)] + ([(f.other["file"], f.other["line"])] if f.other else []):
            if place[0] == file and (i, f) not in found.setdefault(place[1], []):
                found[place[1]].append((i, f))
    known = {n for n in {*lines, *found} if n > 0}
    here = len(text) > 1
    all_lines = range(1, len(text) + 1) if here and len(text) <= WHOLE else ()
    every = sorted({*all_lines, *known})
    most = max([c.moved() for line in lines.values() for _, _, c in line.counts() if not c.shared] + [1])
    near = {m for n in known for m in range(n - AROUND, n + AROUND + 1)}
    out, folded = "", []

    def unfold():
        nonlocal folded
        rows = "".join(folded)
        if len(folded) > FOLDED:
            rows = f"<details><summary>{len(folded)} more lines</summary>{rows}</details>"
        folded = []
        return rows

    for n in every:
        line = text[n - 1] if here and n <= len(text) else "(not available)"
        row = source_row(file, n, line, lines.get(n), found.get(n, []), most, links)
        if n in near:
            out += unfold() + row
        else:
            folded.append(row)
    out += unfold()
    return (f'<section class="file"><h3><code>{escape(file)}</code></h3><div class="source">'
            '<div class="row head" aria-hidden="true"><span class="n">line</span><span>source</span>'
            '<div class="meters"><div class="meter"><span class="access">access</span><span class="cell">'
            'sectors / ideal</span><span class="cell">bytes moved</span><span class="cell">bank conflicts'
            f'</span></div></div></div>{out}</div></section>')
