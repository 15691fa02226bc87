"""page.py - a check report as one HTML page that loads nothing: style and drawings are in
it, and it has no script."""
from pathlib import Path

from .kernels import kernel_article, overview
from .markup import Html, join, region, tag
from .source import Links, source

STYLE = Path(__file__).with_name("page.css")
# Nothing may be loaded, whatever the text of a program turns out to contain.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'")

# --- findings ---------------------------------------------------------------------------


def excerpt(sources, file, line, around=1):
    lines = sources.lines(file)
    if not 0 < line <= len(lines) or not lines[line - 1].strip():
        return None
    shown = range(max(1, line - around), min(len(lines), line + around) + 1)
    return region(
        f"source, line {line}",
        *(tag("span", tag("b", n), lines[n - 1] or " ",
              class_="at" if n == line else None) for n in shown), kind="pre")


def other_access(f, sources, links):
    file, line = f.other["file"], f.other["line"]
    where = tag("p", f.with_whom(), " ", links.to(file, line), class_="where other")
    same = (file, line) == (f.file, f.line)
    return join([where, None if same else excerpt(sources, file, line)])


def finding(number, f, report, links):
    rank = "error" if f.error else "note"
    title = tag("h3", tag("span", rank, class_=f"tag {rank}"), " ",
                tag("span", f.kind, class_="kind"))
    where = tag("p", links.to(f.file, f.line), f" · {f.who()}",
                f" · {f.what}" if f.what else "", class_="where")
    fix = tag("p", tag("b", "Fix:"), " ", f.fix, class_="fix") if f.fix else None
    detail = region("details", "\n".join(f.detail), kind="pre", class_="detail")
    return tag("article", title, tag("p", f.message, class_="message"), where,
               excerpt(report.sources, f.file, f.line),
               other_access(f, report.sources, links) if f.other else None,
               detail if f.detail else None, fix,
               tag("p", f.more(), class_="more") if f.more() else None,
               class_=f"finding {rank}", id=f"f{number}")


def findings(report, links):
    if not report.findings:
        return tag("p", "Nothing was found.", class_="clean")
    cards = [finding(i, f, report, links) for i, f in enumerate(report.findings)]
    return tag("div", *cards, class_="findings")


# --- the whole --------------------------------------------------------------------------

WORDS = (
    ("request", "one load or store instruction of a warp"),
    ("sector",
     "an aligned piece of 32 bytes: the unit in which global memory is moved. The "
     "ideal is the fewest sectors that hold the bytes of the request"),
    ("n-way conflict",
     "shared memory needs n passes where one suffices, because lanes use "
     "different rows of one bank"),
    ("least bytes", "each byte that a launch touches, once"),
    ("DRAM bytes", "from a model of the L2 cache, which starts empty"),
    ("not modelled",
     "local memory (spilled registers, arrays in local memory), and hits in L1: a sector "
     "that L1 already holds counts as moved again"),
)
NAMES = (("findings", "Findings"), ("kernels", "Kernels"), ("source", "Source"),
         ("words", "Words"))


def header(report, name):
    rank = "error" if report.errors else "note" if report.notes else "clean"
    gpu = f"Figures for {report.gpu.described()}" if report.gpu.name else None
    return tag(
        "header",
        tag("h1", name, " ", tag("span", report.verdict(), class_=f"verdict {rank}")),
        tag("p", gpu, class_="gpu") if gpu else None,
        tag("nav", join([tag("a", text, href=f"#{to}") for to, text in NAMES], " "),
            aria_label="Sections"))


def key():
    return tag("p", tag("i", class_="good"), " ideal, or used ",
               tag("i", class_="bad"), " in excess", class_="key")


def sections(report):
    """The contents of the four sections, in the order of NAMES."""
    files = report.files()
    links = Links(files)
    kernels = [kernel_article(i, k, report, links) for i, k in enumerate(report.kernels)]
    sources = [source(file, files[file], report, links) for file in sorted(files)]
    words = [tag("div", tag("dt", word), tag("dd", text)) for word, text in WORDS]
    return (findings(report, links), join([overview(report), *kernels]) if kernels else
            tag("p", "No kernel was counted.", class_="hint"), join([key(), *sources])
            if sources else tag("p", "No line was counted.", class_="hint"),
            tag("dl", *words, class_="legend"))


def page(report):
    name = report.program.rsplit("/", 1)[-1]
    main = [
        tag("section", tag("h2", title), content, id=to)
        for (to, title), content in zip(NAMES, sections(report))
    ]
    head = [
        Html('<meta charset="utf-8">\n'),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'),
        Html('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Html('<meta name="color-scheme" content="light dark">\n'),
        Html('<link rel="icon" href="data:,">\n'),
        tag("title", f"{name}: {report.verdict()}"),
        tag("style", Html(STYLE.read_text(encoding="utf-8")))
    ]
    skip = tag("a", "Skip to the findings", class_="skip", href="#findings")
    body = tag("body", skip, header(report, name), tag("main", *main))
    return Html("<!doctype html>\n") + tag("html", tag("head", *head), "\n", body, "\n",
                                           lang="en")
