"""source.py - the annotated source of the page: at each line its findings, and bars for
what its accesses ask of the memory system."""
from . import draw
from .advice import WORTH
from .counts import SECTOR, title
from .markup import join, tag
from .values import count, place_text, size

AROUND, FOLDED = 4, 10  # lines that are shown around an interesting one; fewer stay open
WHOLE = 3000  # lines of a file that is shown as a whole


class Links:
    """Where a line of source is on this page."""
    def __init__(self, files):
        self.number = {file: i for i, file in enumerate(sorted(files))}
        self.files = files

    def id(self, file, line):
        return f"s{self.number[file]}l{line}"

    def to(self, file, line):
        text = place_text(file, line)
        shown = file in self.number and line > 0
        return tag("a", text, href=f"#{self.id(file, line)}") if shown else tag(
            "span", text)


# --- bars -------------------------------------------------------------------------------


def cell(kind, *inside):
    return tag("span", *inside, class_=f"cell {kind}")


def meter(space, access, c, most):
    """One row of bars: an access of a line."""
    name = tag("span", title(space, access), " ",
               tag("span", count(c.requests)), class_="access")
    if c.shared:
        ways = c.ratio()
        bar = draw.bar(1 / draw.FULL, (ways - 1) / draw.FULL)
        conflicts = cell("conflicts", bar, tag("span", "conflict ", class_="unit"),
                         f"{ways:.1f}-way" if ways > 1.005 else "none")
        return tag("div", name, cell("sectors"), cell("bytes"), conflicts, class_="meter")
    per, ideal = c.per_request(), c.ideal_per_request()
    useful = min(c.ideal * SECTOR, c.moved())
    return tag(
        "div", name,
        cell("sectors", draw.bar(ideal / draw.FULL, (per - ideal) / draw.FULL),
             f"{per:.1f} / {ideal:.1f}", tag("span", " sectors", class_="unit")),
        cell("bytes", draw.bar(useful / most, (c.moved() - useful) / most),
             size(c.moved())), cell("conflicts"), class_="meter")


def meters(line, most):
    if not line:
        return None
    found = [meter(space, access, c, most) for space, access, c in line.counts()]
    found += [tag("div", tag("span", name, " ", tag("span", count(n)), class_="access"),
                  class_="meter") for name, n in line.events()]
    return tag("div", *found, class_="meters") if found else None


# --- lines ------------------------------------------------------------------------------


def row(file, n, text, line, found, most, links):
    kinds = ["row"]
    if found:
        kinds.append("error" if any(f.error for _, f in found) else "note")
    if line and any(c.ratio() >= WORTH for _, _, c in line.counts()):
        kinds.append("hot")
    notes = [
        tag("a", f"{f.kind}: {f.message}",
            class_=f"inline {'error' if f.error else 'note'}", href=f"#f{i}")
        for i, f in found
    ]
    return tag("div", tag("span", n, class_="n"), tag("code", text or " "),
               meters(line, most), *notes, class_=" ".join(kinds), id=links.id(file, n))


def findings_of(file, report):
    """{line: [(number, finding)]}; a race is at both of its lines."""
    found = {}
    for i, f in enumerate(report.findings):
        places = {(f.file, f.line)
                  } | ({(f.other["file"], f.other["line"])} if f.other else set())
        for at, line in places:
            if at == file and line > 0:
                found.setdefault(line, []).append((i, f))
    return found


def fold(rows):
    """Lines without counts and findings; many of them are folded."""
    if len(rows) <= FOLDED:
        return join(rows)
    return tag("details", tag("summary", f"{len(rows)} more lines"), *rows)


HEAD = tag(
    "div", tag("span", "line", class_="n"), tag("span", "source"),
    tag(
        "div",
        tag("div", tag("span", "access, times", class_="access"), cell("", "sectors / ideal"),
            cell("", "bytes moved"), cell("", "bank conflicts"), class_="meter"),
        class_="meters"), class_="row head", aria_hidden="true")


def source(file, lines, report, links):
    text, found = report.sources.lines(file), findings_of(file, report)
    here = len(text) > 1
    known = {n for n in {*lines, *found} if n > 0}
    near = {m for n in known for m in range(n - AROUND, n + AROUND + 1)}
    shown = {n for n in range(1, len(text) + 1) if n in near or len(text) <= WHOLE}
    most = max([
        1, *(c.moved() for line in lines.values()
             for _, _, c in line.counts() if not c.shared)
    ])
    out, folded = [HEAD], []
    for n in sorted({*(shown if here else ()), *known}):
        code = text[n - 1] if here and n <= len(text) else "(not available)"
        made = row(file, n, code, lines.get(n), found.get(n, []), most, links)
        if n in near:
            out += [fold(folded), made]
            folded = []
        else:
            folded.append(made)
    out.append(fold(folded))
    return tag("section", tag("h3", tag("code", file)), tag("div", *out, class_="source"),
               class_="file")
