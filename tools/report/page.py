"""page.py - a check report as one HTML page that loads nothing: style and drawings are in
it, and it has no script. Everything that comes from a report or a source is escaped."""
from html import escape
from pathlib import Path

from . import advice, draw
from .model import Bounds
from .source import Links, source
from .values import count, duration, plural, size

STYLE = Path(__file__).with_name("page.css")
DIAGRAMS = 3  # of each kernel
# Nothing may be loaded, whatever the text of a program turns out to contain.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


# --- findings ---------------------------------------------------------------------------

def excerpt(sources, file, line, around=1):
    lines = sources.lines(file)
    if not 0 < line <= len(lines) or not lines[line - 1].strip():
        return ""
    shown = ""
    for n in range(max(1, line - around), min(len(lines), line + around) + 1):
        mark = ' class="at"' if n == line else ""
        shown += f"<span{mark}><b>{n}</b>{escape(lines[n - 1]) or ' '}</span>"
    return (f'<pre class="scroll" tabindex="0" role="region" '
            f'aria-label="source, line {line}">{shown}</pre>')


def finding(number, f, report, links):
    rank = "error" if f.error else "note"
    out = [f'<article class="finding {rank}" id="f{number}">',
           f'<h3><span class="tag {rank}">{rank}</span> <span class="kind">{escape(f.kind)}</span></h3>',
           f'<p class="message">{escape(f.message)}</p>',
           f'<p class="where">{links.to(f.file, f.line)} · {escape(f.who())}'
           + (f" · {escape(f.what)}" if f.what else "") + "</p>",
           excerpt(report.sources, f.file, f.line)]
    if f.other:
        file, line = f.other["file"], f.other["line"]
        out.append(f'<p class="where other">{escape(f.with_whom())} {links.to(file, line)}</p>')
        if (file, line) != (f.file, f.line):
            out.append(excerpt(report.sources, file, line))
    if f.detail:
        out.append(f'<pre class="detail scroll" tabindex="0">{escape(chr(10).join(f.detail))}</pre>')
    if f.fix:
        out.append(f'<p class="fix"><b>Fix:</b> {escape(f.fix)}</p>')
    if f.more():
        out.append(f'<p class="more">{escape(f.more())}</p>')
    return "".join(out) + "</article>"


def findings(report, links):
    if not report.findings:
        return '<p class="clean">Nothing was found.</p>'
    return '<div class="findings">' + "".join(
        finding(i, f, report, links) for i, f in enumerate(report.findings)) + "</div>"


# --- kernels ----------------------------------------------------------------------------

def overview_row(i, kernel, bounds):
    memory, shared = kernel.sum_of("global"), kernel.sum_of("shared")
    moved = kernel.dram / kernel.least if kernel.least else 0
    cells = [f'<th scope="row"><a href="#k{i}">{escape(kernel.name)}</a></th>',
             f"<td>{count(kernel.launches)}</td>",
             f"<td>{size(kernel.dram)}</td><td>{size(kernel.least)}</td>",
             f'<td class="{"worse" if moved > 1.1 else ""}">{moved:.2f}</td>' if moved else "<td>–</td>",
             f'<td class="{"worse" if memory.ratio() > 1.1 else ""}">{memory.per_request():.1f} / '
             f"{memory.ideal_per_request():.1f}</td>" if memory.requests else "<td>–</td>",
             f'<td class="{"worse" if shared.ratio() > 1.1 else ""}">{shared.ratio():.1f}-way</td>'
             if shared.requests else "<td>–</td>",
             f"<td>{count(kernel.barriers)}</td>",
             f"<td>{duration(bounds.time)}</td>" if bounds.time else "<td>–</td>"]
    return f'<tr>{"".join(cells)}</tr>'


def overview(report):
    heads = ("kernel", "launches", "DRAM", "least", "DRAM / least", "sectors / ideal",
             "conflicts", "barriers", "at least")
    rows = "".join(overview_row(i, k, Bounds(k, report.gpu)) for i, k in enumerate(report.kernels))
    return ('<div class="scroll" tabindex="0" role="region" aria-label="all kernels"><table class="overview">'
            f'<thead><tr>{"".join(f"<th scope=col>{h}</th>" for h in heads)}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>")


def facts(kernel):
    found = [("launched", f"{count(kernel.launches)} times" if kernel.launches != 1 else "once"),
             ("last grid × block", f"{kernel.grid} × {kernel.block}".replace(",", ", ")),
             ("blocks, warps", f"{count(kernel.blocks)}, {count(kernel.warps)}"),
             ("dynamic shared memory", size(kernel.shared_bytes) if kernel.shared_bytes else ""),
             ("barriers", count(kernel.barriers) if kernel.barriers else "none"),
             ("warp collectives", ", ".join(f"{count(n)} {name}" for name, n in kernel.collectives.items()))]
    found += [("compiled", c.described(kernel)) for c in kernel.compiled[:4]]
    return '<dl class="facts">' + "".join(
        f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in found if value) + "</dl>"


def scale_row(name, value, good, bad, text, kind=""):
    return (f'<div class="scale {kind}"><span class="name">{escape(name)}</span>'
            f'{draw.bar(good, bad)}<span class="value">{escape(text)}</span></div>')


def buffer_rows(kernel):
    most = max([max(b.read, b.written) for b in kernel.buffers] + [1])
    out = ""
    for b in kernel.buffers:
        for verb, all_bytes, least, times in (("read", b.read, b.read_distinct, b.reads),
                                              ("written", b.written, b.written_distinct, b.writes)):
            if all_bytes:
                out += scale_row(f"{b.name} {verb}", all_bytes, least / most, (all_bytes - least) / most,
                                 f"{times:.1f} times, {size(all_bytes)}", "buffer")
    return f"<h4>How often each buffer is touched</h4>{out}" if out else ""


def dram_rows(kernel):
    most = max(kernel.dram_read, kernel.dram_written, kernel.least_read, kernel.least_written, 1)
    out = ""
    for verb, moved, least in (("read", kernel.dram_read, kernel.least_read),
                               ("written", kernel.dram_written, kernel.least_written)):
        if moved or least:
            out += scale_row(f"DRAM {verb}", moved, min(moved, least) / most, max(0, moved - least) / most,
                             f"{size(moved)}, {size(least)} suffice", "dram")
    title = f"Bytes of DRAM ({escape(kernel.model)})" if kernel.model else "Bytes of DRAM, by a model"
    return f"<h4>{title}</h4>{out}" if out else ""


def time_rows(bounds, gpu):
    if not bounds.time:
        return ""
    most = max(bounds.time, bounds.least)
    rows = [("DRAM", bounds.dram), ("L1 and shared memory", bounds.chip)]
    out = "".join(scale_row(name, t, min(t, bounds.least) / most, max(0, t - bounds.least) / most,
                            duration(t), "time") for name, t in rows if t)
    out += scale_row("the ideal kernel", bounds.least, bounds.least / most, 0, duration(bounds.least), "time")
    return (f"<h4>At least this long on {escape(gpu.name)}</h4>{out}"
            '<p class="hint">A lower bound by a model, not a measurement: latency, occupancy, '
            "instruction issue, L2 bandwidth, local memory and the launch itself (a few µs) come "
            "on top.</p>")


def advice_list(kernel, links):
    found = advice.of_kernel(kernel)
    if not found:
        return '<p class="clean">Every access is within 10% of its ideal.</p>' if kernel.lines else ""
    items = "".join(
        f"<li>{links.to(a.file, a.line) + ': ' if a.file else ''}{escape(a.text)}</li>" for a in found)
    return f'<h4>What to change, the most costly first</h4><ol class="advice">{items}</ol>'


def diagram(worst, places):
    unit = "pass" if worst.shared else "sector"
    ending = "" if worst.units == 1 else "es" if worst.shared else "s"
    lanes = len(worst.active())
    who = "All lanes" if lanes == 32 else plural(lanes, "lane")
    caption = (f"{', '.join(places)}: {who} of a warp, {plural(worst.bytes, 'byte')} each"
               f"{' of shared memory' if worst.shared else ''}: <b>{worst.units} {unit}{ending}</b> "
               f"where {worst.ideal} {'suffices' if worst.ideal == 1 else 'suffice'}.")
    legend = ("Columns are banks, rows are 128 bytes of shared memory; a bank serves one row per pass."
              if worst.shared else "Each strip is a sector of 32 bytes with the lanes that use it; dashed "
              "bytes are moved and not used.")
    drawn = draw.banks(worst) if worst.shared else f'<div class="sectors">{draw.sectors(worst)}</div>'
    return (f'<figure class="lanes"><figcaption>{caption} <span class="hint">{legend}</span>'
            f"</figcaption>{drawn}</figure>")


def diagrams(kernel, links):
    """Of the lines with the worst accesses; lines with equal ones share a diagram."""
    alike = {}
    for line in sorted((v for v in kernel.lines if v.worst), key=lambda v: -v.worst.ratio()):
        w = line.worst
        places = alike.setdefault((w.shared, w.bytes, tuple(w.lanes)), (w, []))[1]
        places.append(f"{links.to(line.file, line.line)} ({escape(w.access)})")
    worst = list(alike.values())
    shown = [(w, p) for w, p in worst if w.ratio() >= advice.WORTH][:DIAGRAMS] or worst[:1]
    title = "The worst accesses" if len(shown) > 1 else "The worst access"
    return f"<h4>{title}</h4>" + "".join(diagram(*v) for v in shown) if shown else ""


def kernel_article(i, kernel, report, links):
    bounds = Bounds(kernel, report.gpu)
    roof = ""
    if bounds.time and kernel.least:
        roof = (f'<figure class="roof">{draw.roofline(bounds, report.gpu)}<figcaption class="hint">'
                f"Roofline of {escape(report.gpu.name)}: the dot is this kernel's upper bound, the ring the "
                "ideal kernel's. Below the slope, L1 and shared memory limit it.</figcaption></figure>")
    return (f'<article class="kernel" id="k{i}"><h3><code>{escape(kernel.name)}</code> '
            f'<small>launched at {links.to(kernel.file, kernel.line)}</small></h3>'
            f'{facts(kernel)}<div class="columns"><div>{dram_rows(kernel)}{buffer_rows(kernel)}'
            f'{time_rows(bounds, report.gpu)}</div>{roof}</div>'
            f'{advice_list(kernel, links)}{diagrams(kernel, links)}</article>')


# --- the whole --------------------------------------------------------------------------

LEGEND = """<dl class="legend">
<div><dt>request</dt><dd>one load or store instruction of a warp</dd></div>
<div><dt>sector</dt><dd>an aligned piece of 32 bytes: the unit in which global memory is moved.
The ideal is the fewest sectors that hold the bytes of the request</dd></div>
<div><dt>n-way conflict</dt><dd>shared memory needs n passes where one suffices, because lanes
use different rows of one bank</dd></div>
<div><dt>least bytes</dt><dd>each byte that a launch touches, once</dd></div>
<div><dt>DRAM bytes</dt><dd>by a model of the L2 cache, which starts empty</dd></div>
<div><dt>not counted</dt><dd>local memory (spilled registers, arrays in local memory), and hits in L1</dd></div>
</dl>"""


def page(report):
    files = report.files()
    links = Links(files)
    kernels = "".join(kernel_article(i, k, report, links) for i, k in enumerate(report.kernels))
    sources = "".join(source(f, files[f], report, links) for f in sorted(files))
    rank = "error" if report.errors else "note" if report.notes else "clean"
    name = report.program.rsplit("/", 1)[-1]
    gpu = f'<p class="gpu">Figures for {escape(report.gpu.described())}</p>' if report.gpu.name else ""
    title = f"{escape(name)}: {report.verdict()}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<a class="skip" href="#findings">Skip to the findings</a>
<header>
<h1>{escape(name)} <span class="verdict {rank}">{report.verdict()}</span></h1>
{gpu}
<nav aria-label="Sections"><a href="#findings">Findings</a> <a href="#kernels">Kernels</a>
<a href="#source">Source</a> <a href="#words">Words</a></nav>
</header>
<main>
<section id="findings"><h2>Findings</h2>{findings(report, links)}</section>
<section id="kernels"><h2>Kernels</h2>
{overview(report) + kernels if kernels else '<p class="hint">No kernel was counted.</p>'}</section>
<section id="source"><h2>Source</h2>
<p class="key"><i class="good"></i> the ideal, or used <i class="bad"></i> more than that</p>
{sources or '<p class="hint">No line was counted.</p>'}</section>
<section id="words"><h2>Words</h2>{LEGEND}</section>
</main>
</body>
</html>
"""
