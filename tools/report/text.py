"""text.py - a check report for a terminal."""
from . import advice
from .model import Bounds
from .values import count, duration, place_text, plural, size

CODE = 38  # letters of a line of source in the table
HEAD = f"{'line':>9} {'':6} {'sectors':>9} {'ideal':>6} {'moved':>8} {'conflict':>9} {'barriers':>9}  source"


def finding_lines(f, sources):
    kind = f"{'error' if f.error else 'note'}: {f.message} [{f.kind}]"
    yield f"{place_text(f.file, f.line)}: {kind}"
    code = sources.line(f.file, f.line)
    if code:
        yield f"    {f.line:>5} | {code}"
    yield f"    {f.who()}" + (f": {f.what}" if f.what else "")
    if f.other:
        yield f"    {f.with_whom()}: {place_text(f.other['file'], f.other['line'])}"
        code = sources.line(f.other["file"], f.other["line"])
        if code and (f.other["file"], f.other["line"]) != (f.file, f.line):
            yield f"    {f.other['line']:>5} | {code}"
    yield from f.detail
    if f.fix:
        yield f"    fix: {f.fix}"
    if f.more():
        yield f"    {f.more()}"


def row(number, access, counts, barriers, code):
    shared = counts and counts.shared
    sectors = ideal = moved = conflict = ""
    if counts and shared:
        conflict = f"{counts.ratio():.1f}-way" if counts.ratio() > 1.005 else "none"
    elif counts:
        sectors, ideal = f"{counts.per_request():.1f}", f"{counts.ideal_per_request():.1f}"
        moved = size(counts.moved())
    line = (f"{number:>9} {access:6} {sectors:>9} {ideal:>6} {moved:>8} {conflict:>9} "
            f"{count(barriers) if barriers else '':>9}  {code[:CODE]}")
    return line.rstrip()


def line_rows(line, sources):
    """One row per access; the source in the first only."""
    code, number, barriers = sources.line(line.file, line.line), line.line, line.barriers
    for space, access, counts in line.counts():
        yield row(number, access if space == "global" else f"s.{access}"[:6], counts, barriers, code)
        number = code = barriers = ""
    if number and (barriers or line.collectives):
        yield row(number, "", None, barriers, code)


def dram_lines(kernel, bounds, gpu):
    if kernel.model or kernel.dram:
        yield (f"    DRAM: {size(kernel.dram_read)} read, {size(kernel.dram_written)} written; "
               f"{size(kernel.least)} suffice ({kernel.model or 'by a model'})")
    if bounds.time:
        yield (f"    takes at least {duration(bounds.time)} on {gpu.name} (limit: {bounds.limit}); "
               f"the ideal kernel {duration(bounds.least)}. A model, not a measurement.")


def kernel_lines(kernel, report):
    bounds = Bounds(kernel, report.gpu)
    yield (f"kernel {kernel.name} ({place_text(kernel.file, kernel.line)}): "
           f"{plural(kernel.launches, 'launch') if kernel.launches == 1 else count(kernel.launches) + ' launches'}"
           f", {plural(kernel.blocks, 'block')} of {plural(kernel.threads, 'thread')}")
    yield from dram_lines(kernel, bounds, report.gpu)
    for compiled in kernel.compiled[:4]:
        yield f"    {compiled.described(kernel)}"
    if kernel.lines:
        yield HEAD
    file = kernel.file
    for line in kernel.lines:
        if line.file != file:
            yield f"  {line.file}"
            file = line.file
        yield from line_rows(line, report.sources)
    for a in advice.of_kernel(kernel):
        yield f"    {a.place()}: {a.text}" if a.place() else f"    {a.text}"


def text(report):
    out = []
    for f in report.findings:
        out += [*finding_lines(f, report.sources), ""]
    for kernel in report.kernels:
        out += [*kernel_lines(kernel, report), ""]
    if report.kernels:
        out += ["sectors: 32-byte pieces of memory per request, the access of a warp; ideal: the "
                "fewest that hold its bytes.",
                "conflict: passes of shared memory per request compared with the fewest. Local "
                "memory is not counted.", ""]
    return "\n".join([*out, f"{report.program}: {report.verdict()}"])
