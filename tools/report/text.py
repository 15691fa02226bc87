"""text.py - a check report for a terminal."""
from textwrap import wrap

from . import advice
from .counts import title
from .model import Bounds
from .values import count, duration, place_text, plural, size

WIDTH = 90
COLUMNS = "{:>8} {:12} {:>9} {:>7} {:>5} {:>8} {:>8}  "
WORDS = """times: of a warp, or of a block for a barrier; sectors: pieces of 32 bytes that a
request, an access of one warp, moves; ideal: the fewest that hold its bytes. conflict:
passes of shared memory compared with the fewest. Times are lower bounds from a model.
Local memory is not counted."""
HEAD = COLUMNS.format("line", "access", "times", "sectors", "ideal", "moved",
                      "conflict") + "source"


def finding_lines(f, sources):
    kind = f"{'error' if f.error else 'note'}: {f.message} [{f.kind}]"
    yield f"{place_text(f.file, f.line)}: {kind}"
    code = sources.line(f.file, f.line)
    if code:
        yield f"    {f.line:>5} | {code}"
    yield f"    {f.who()}" + (f": {f.what}" if f.what else "")
    if f.other:
        yield f"    {f.with_whom()} {place_text(f.other['file'], f.other['line'])}"
        code = sources.line(f.other["file"], f.other["line"])
        if code and (f.other["file"], f.other["line"]) != (f.file, f.line):
            yield f"    {f.other['line']:>5} | {code}"
    yield from f.detail
    if f.fix:
        yield f"    fix: {f.fix}"
    if f.more():
        yield f"    {f.more()}"


def row(number, access, times, counts, code):
    sectors = ideal = moved = conflict = ""
    if counts and counts.shared:
        conflict = f"{counts.ratio():.1f}-way" if counts.ratio() > 1.005 else "none"
    elif counts:
        sectors = f"{counts.per_request():.1f}"
        ideal = f"{counts.ideal_per_request():.1f}"
        moved = size(counts.moved())
    start = COLUMNS.format(number, access, count(times), sectors, ideal, moved, conflict)
    return (start + code)[:WIDTH].rstrip()


def line_rows(line, sources):
    """One row per access or event; line and source in the first only."""
    code, number = sources.line(line.file, line.line), line.line
    accesses = [(title(space, access), c.requests, c)
                for space, access, c in line.counts()]
    for name, times, counts in [*accesses, *((*e, None) for e in line.events())]:
        yield row(number, name, times, counts, code)
        number = code = ""


def dram_lines(kernel, bounds, gpu):
    read, written = size(kernel.dram_read), size(kernel.dram_written)
    if kernel.dram or kernel.least:
        yield (
            f"    DRAM: {read} read, {written} written; "
            f"{size(kernel.least)} suffice ({kernel.model or 'from a model'})")
    if bounds.time:
        yield (
            f"    takes at least {duration(bounds.time)} on {gpu.name} "
            f"(limit: {bounds.limit}); the ideal kernel {duration(bounds.least)}")


def kernel_lines(kernel, report):
    bounds = Bounds(kernel, report.gpu)
    times = "1 launch" if kernel.launches == 1 else f"{count(kernel.launches)} launches"
    yield (
        f"kernel {kernel.name} ({place_text(kernel.file, kernel.line)}): "
        f"{times}, {plural(kernel.blocks, 'block')} of "
        f"{plural(kernel.threads, 'thread')}")
    yield from dram_lines(kernel, bounds, report.gpu)
    yield from (f"    {compiled}" for compiled in kernel.compiled[:4])
    if kernel.lines:
        yield HEAD
    file = kernel.file
    for line in kernel.lines:
        if line.file != file:
            yield f"  {line.file}"
            file = line.file
        yield from line_rows(line, report.sources)
    for a in advice.of_kernel(kernel, report.gpu.l2):
        advised = f"{a.place()}: {a.text}" if a.place() else a.text
        yield from wrap(advised, WIDTH, initial_indent=" " * 4,
                        subsequent_indent=" " * 8, break_on_hyphens=False)


def text(report):
    out = []
    for f in report.findings:
        out += [*finding_lines(f, report.sources), ""]
    for kernel in report.kernels:
        out += [*kernel_lines(kernel, report), ""]
    if report.kernels:
        out += [*wrap(WORDS, WIDTH), ""]
    return "\n".join([*out, f"{report.program}: {report.verdict()}"])
