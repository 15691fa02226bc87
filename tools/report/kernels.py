"""kernels.py - the kernels on the page: a table of all, and of each its bytes, its lower
bounds, its roofline, advice and drawings of its worst accesses."""
from . import advice, draw
from .markup import join, region, tag
from .model import Bounds
from .values import count, duration, plural, size

DIAGRAMS = 3  # of each kernel
HEADS = ("kernel", "launches", "DRAM", "least", "DRAM / least", "sectors / ideal",
         "conflicts", "barriers", "lower bound")

# --- all kernels ------------------------------------------------------------------------


def figure_cell(text, ratio):
    return tag("td", text, class_="worse" if ratio >= advice.WORTH else None)


def overview_row(i, kernel, bounds):
    memory, shared = kernel.sum_of("global"), kernel.sum_of("shared")
    times = kernel.dram / kernel.least if kernel.least else 0
    sectors = f"{memory.per_request():.1f} / {memory.ideal_per_request():.1f}"
    conflicts = f"{shared.ratio():.1f}-way"
    cells = [tag("th", tag("a", kernel.name, href=f"#k{i}"), scope="row")]
    cells += [tag("td", text) for text in (count(kernel.launches), size(kernel.dram),
                                           size(kernel.least))]
    cells += [figure_cell(f"{times:.2f}" if times else "–", times),
              figure_cell(sectors if memory.requests else "–", memory.ratio()),
              figure_cell(conflicts if shared.requests else "–", shared.ratio())]
    cells += [tag("td", count(kernel.barriers)),
              tag("td", duration(bounds.time) if bounds.time else "–")]
    return tag("tr", *cells)


def overview(report):
    rows = [
        overview_row(i, k, Bounds(k, report.gpu)) for i, k in enumerate(report.kernels)
    ]
    heads = [tag("th", head, scope="col") for head in HEADS]
    return region(
        "all kernels",
        tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows),
            class_="overview"))


# --- one kernel: figures and bars -------------------------------------------------------


def facts(kernel):
    collectives = [f"{count(n)} {name}" for name, n in kernel.collectives.items()]
    found = [("launched",
              "once" if kernel.launches == 1 else f"{count(kernel.launches)} times"),
             ("last grid × block", f"{kernel.grid} × {kernel.block}".replace(",", ", ")),
             ("blocks, warps", f"{count(kernel.blocks)}, {count(kernel.warps)}"),
             ("dynamic shared memory",
              size(kernel.shared_bytes) if kernel.shared_bytes else None),
             ("barriers", count(kernel.barriers) if kernel.barriers else "none"),
             ("warp collectives", ", ".join(collectives) or None),
             *(("compiled", text) for text in kernel.compiled[:4])]
    return tag(
        "dl",
        *(tag("div", tag("dt", name), " ", tag("dd", value)) for name, value in found
          if value), class_="facts")


def scale(name, value, least, most, text):
    """A bar: what suffices, then the excess."""
    bar = draw.bar(min(value, least) / most, max(0, value - least) / most)
    return tag("div", tag("span", name, class_="name"), bar,
               tag("span", text, class_="value"), class_="scale")


def titled(title, parts):
    return join([tag("h4", title), *parts]) if parts else None


def dram_bars(kernel):
    both = (("read", kernel.dram_read, kernel.least_read),
            ("written", kernel.dram_written, kernel.least_written))
    most = max(1, *(max(moved, least) for _, moved, least in both))
    return titled(f"Bytes of DRAM ({kernel.model or 'from a model'})", [
        scale(f"DRAM {verb}", moved, least, most, f"{size(moved)}, {size(least)} suffice")
        for verb, moved, least in both if moved or least
    ])


def buffer_bars(kernel):
    found = [(f"{b.name} {verb}", every, once, times) for b in kernel.buffers
             for verb, every, once, times in (("read", b.read, b.read_distinct, b.reads),
                                              ("written", b.written, b.written_distinct,
                                               b.writes)) if every]
    most = max([1, *(every for _, every, _, _ in found)])
    return titled("How often each buffer is touched", [
        scale(name, every, once, most, f"{times:.1f} times, {size(every)}")
        for name, every, once, times in found
    ])


def time_bars(bounds, gpu):
    if not bounds.time:
        return None
    most = max(bounds.time, bounds.least)
    found = (("DRAM", bounds.dram), ("L1 and shared memory", bounds.chip),
             ("the ideal kernel", bounds.least))
    bars = [scale(name, t, bounds.least, most, duration(t)) for name, t in found if t]
    hint = (
        "A lower bound from a model, not a measurement. Not included: latency, occupancy, "
        "instruction issue, L2 bandwidth, local memory, the launch itself (a few µs).")
    return titled(f"At least this long on {gpu.name}",
                  [*bars, tag("p", hint, class_="hint")])


def roofline(kernel, bounds, gpu):
    if not gpu.copy or not bounds.time or not kernel.least:
        return None
    caption = (
        f"Roofline of {gpu.name}: the dot is this kernel's upper bound, the ring the "
        "ideal kernel's. If the dot lies below the slope, L1 and shared memory are the "
        "limit.")
    return tag("figure", draw.roofline(bounds, gpu),
               tag("figcaption", caption, class_="hint"), class_="roof")


# --- advice and drawings ----------------------------------------------------------------


def advice_list(kernel, report, links):
    found = advice.of_kernel(kernel, report.gpu.l2)
    if found:
        items = [
            tag("li",
                join([links.to(a.file, a.line), ": "]) if a.file else None, a.text)
            for a in found
        ]
        return titled("What to change, the most costly first",
                      [tag("ol", *items, class_="advice")])
    if kernel.lines:
        return tag("p", "No access wastes enough to need a change.", class_="clean")
    return None


STRIPS = (
    "Each strip is a sector of 32 bytes with the lanes that use it; dashed bytes are "
    "moved but not used.")
BANKS = (
    "Columns are banks, rows are 128 bytes of shared memory; a bank serves one row "
    "per pass.")


def diagram(worst, places):
    unit, ending = ("pass", "es") if worst.shared else ("sector", "s")
    lanes = len(worst.active())
    who = "All lanes" if lanes == 32 else plural(lanes, "lane")
    caption = tag(
        "figcaption", join(places,
                           ", "), f": {who} of a warp, {plural(worst.bytes, 'byte')} each"
        f"{' of shared memory' if worst.shared else ''}: ",
        tag("b", f"{worst.units} {unit}{'' if worst.units == 1 else ending}"),
        f" where {worst.ideal} {'suffices' if worst.ideal == 1 else 'suffice'}. ",
        tag("span", BANKS if worst.shared else STRIPS, class_="hint"))
    drawn = draw.banks(worst) if worst.shared else tag("div", *draw.sectors(worst),
                                                       class_="sectors")
    return tag("figure", caption, drawn, class_="lanes")


def diagrams(kernel, links):
    """Of the lines with the worst accesses; lines with equal ones share a diagram."""
    alike = {}
    for line in sorted((v for v in kernel.lines if v.worst),
                       key=lambda v: -v.worst.ratio()):
        w = line.worst
        places = alike.setdefault((w.shared, w.bytes, tuple(w.lanes)), (w, []))[1]
        places.append(join([links.to(line.file, line.line), f" ({w.access})"]))
    known = list(alike.values())
    bad = [(w, places) for w, places in known if w.ratio() >= advice.WORTH]
    shown = bad[:DIAGRAMS] or known[:1]
    title = "The worst accesses" if len(shown) > 1 else "The worst access"
    return titled(title, [diagram(*pair) for pair in shown])


def kernel_article(i, kernel, report, links):
    bounds = Bounds(kernel, report.gpu)
    launched = tag("small", "launched at ", links.to(kernel.file, kernel.line))
    bars = tag("div", dram_bars(kernel), buffer_bars(kernel),
               time_bars(bounds, report.gpu))
    return tag("article", tag("h3", tag("code", kernel.name), " ",
                              launched), facts(kernel),
               tag("div", bars, roofline(kernel, bounds, report.gpu), class_="columns"),
               advice_list(kernel, report, links), diagrams(kernel, links),
               class_="kernel",
               id=f"k{i}")
