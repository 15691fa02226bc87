"""page.py - opens the pages of a check report in a browser, and checks what they show:
`page.py FOLDER SHOTS`. FOLDER has the pages of samples.py; SHOTS gets a picture of each.
Prints one TAP line for each check."""
import sys
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser import Browser, Missing  # noqa: E402

VOID = {"meta", "link", "img", "br", "hr", "input"}
# rect, circle ... may also close themselves.
SIZES = [(360, False), (360, True), (1400, False), (1400, True)]
failed = False


def check(what, good, seen=""):
    global failed
    print(f"ok - {what}" if good else f"not ok - {what} ({seen})", flush=True)
    failed |= not good


# --- the file ---------------------------------------------------------------------------


class Markup(HTMLParser):
    """Faults of an HTML file: elements that are not closed, ids used twice, links to
    nothing, and what could run or load something."""
    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.faults = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]
        self.faults += [f"id {i} twice" for i in set(self.ids) if self.ids.count(i) > 1]
        self.faults += [f"link to {to}" for to in self.links if to[1:] not in self.ids]

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        names = [name for name, _ in attributes]
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name.startswith("on") or name in ("src", "srcdoc", "action", "xlink:href"):
                self.faults.append(f"attribute {name}={value}")
            if name == "href" and tag != "link":
                self.links.append(value)
                if not value.startswith("#"):
                    self.faults.append(f"link to {value}")
        if len(names) != len(set(names)):
            self.faults.append(f"an attribute twice in <{tag}>")
        if tag in ("script", "iframe", "object", "embed", "img", "base", "form"):
            self.faults.append(f"<{tag}>")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at line {self.getpos()[0]} closes nothing")


def check_markup(folder, name):
    path = Path(folder, f"{name}.html")
    faults = Markup(path.read_text()).faults
    check(f"{name}: valid HTML, which neither runs nor loads anything", not faults,
          faults[:3])


# --- what a browser makes of it ---------------------------------------------------------

# Elements that stick out of the window, and are not in a region that scrolls.
OUTSIDE = """[...document.querySelectorAll('body *')].filter(e => !e.closest('.scroll') &&
    !e.closest('.skip') && e.getBoundingClientRect().right > innerWidth + 1)
    .map(e => e.tagName + '.' + e.getAttribute('class')).slice(0, 3)"""
# Regions that scroll and that a keyboard cannot reach.
UNREACHED = """[...document.querySelectorAll('*')].filter(
    e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0 &&
    ['auto', 'scroll'].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0
    ).length"""
# Cells whose text is cut or runs into the next one.
CUT = """[...document.querySelectorAll('.cell, .scale .value, td, .facts dd')].filter(
    e => !e.closest('.scroll') && e.scrollWidth > e.clientWidth + 1).length"""
BRIGHT = """(c => { const v = c.match(/\\d+/g).map(Number); return v[0] + v[1] + v[2]; })
    (getComputedStyle(document.body).backgroundColor)"""


def number_of(page, selector):
    return page.run(f"document.querySelectorAll({selector!r}).length")


def check_quiet(name, page, url):
    said = page.complaints()
    check(f"{name}: the console is empty", not said, str(said)[:300])
    check(f"{name}: nothing else is loaded", page.requests() == [url], page.requests())


def check_layout(name, page, dark):
    wide = page.run("document.documentElement.scrollWidth - innerWidth")
    check(f"{name}: does not scroll sideways", wide <= 0, wide)
    outside = page.run(OUTSIDE)
    check(f"{name}: nothing sticks out of the window", not outside, outside)
    check(f"{name}: no figure is cut", page.run(CUT) == 0, page.run(CUT))
    check(f"{name}: a keyboard reaches what scrolls",
          page.run(UNREACHED) == 0, page.run(UNREACHED))
    bright = page.run(BRIGHT)
    check(f"{name}: the colours are {'dark' if dark else 'light'}",
          (bright < 200) == dark, bright)


SAMPLE = {  # of sample.json
    ".finding": 4, ".finding.error": 3, ".finding .fix": 4, ".inline": 4, ".kernel": 4,
    ".overview tbody tr": 4, "svg.roofline": 4, "svg.roofline .dot": 4,
    "#k0 svg.sector": 32, "#k2 svg.sector": 5, "svg.banks": 1,
    "#k1 svg.banks rect.bad": 32,
    ".source .bar": 23, ".source .row.hot": 4, ".source .row.error": 3, ".advice li": 6,
}


def check_sample(name, page):
    seen = {selector: number_of(page, selector) for selector in SAMPLE}
    wrong = {s: n for s, n in seen.items() if n != SAMPLE[s]}
    check(f"{name}: findings, bars and drawings are all there", not wrong, wrong)
    # norm_rows moves 32 sectors where 4 suffice: an eighth of its bar is the ideal.
    widths = page.run("""[...document.querySelector('.row.hot .sectors .bar').children]
        .map(e => e.getBoundingClientRect().width)""")
    check(f"{name}: a bar shows the ideal and the rest",
          abs(widths[1] / widths[0] - 7) < 0.2, widths)
    lower = page.run("""(svg => svg.querySelector('.dot').cy.baseVal.value
        - svg.querySelector('.ideal').cy.baseVal.value)(
            document.querySelector('#k1 .roofline'))"""
                     )
    check(f"{name}: a kernel with conflicts lies below the roof", lower > 5, lower)


def check_keyboard(page):
    page.key("Tab")
    seen = page.run("""(e => [e.className, e.getBoundingClientRect().left >= 0])
        (document.activeElement)""")
    check("the first Tab shows the link that skips to the findings",
          seen == ["skip", True], seen)
    page.run("document.querySelector('.finding .where a').focus()")
    page.key("Enter")
    check("a finding's link leads to its line",
          page.run("location.hash") == "#s0l35", page.run("location.hash"))
    check("a page can be printed", page.pdf().startswith(b"%PDF"))


def check_hostile(page):
    seen = page.run("""[document.title.includes('hostile'),
        document.querySelectorAll('script, img, iframe, b > b').length,
        [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(
            a => a.name.startsWith('on'))).length,
        document.body.innerText.includes("</script><script>document.title='hostile'"),
        /root:[x*]?:0/.test(document.body.innerText)]""")
    check("hostile names and source stay text", seen[1:] == [0, 0, True, False], seen)
    check("the page's title is the hostile name, as text",
          page.run("document.title").startswith("script>"), page.run("document.title"))


def look(browser, folder, shots):
    for name in ("sample", "kinds", "clean", "hostile"):
        url = Path(folder, f"{name}.html").resolve().as_uri()
        for width, dark in SIZES if name == "sample" else SIZES[:1] + SIZES[3:]:
            page = browser.open(url, width, dark=dark)
            shown = f"{name}, {width} px, {'dark' if dark else 'light'}"
            check_layout(shown, page, dark)
            check_quiet(shown, page, url)
            if name == "sample":
                check_sample(shown, page)
            if name == "hostile":
                check_hostile(page)
            page.screenshot(
                Path(shots,
                     shown.replace(", ", "-").replace(" px", "") + ".png"))
        if name == "sample":
            check_keyboard(page)
        if name == "kinds":
            check("each kind of finding has its place",
                  number_of(page, ".finding") == 34, number_of(page, ".finding"))


def main():
    folder, shots = sys.argv[1:]
    Path(shots).mkdir(parents=True, exist_ok=True)
    for name in ("sample", "kinds", "clean", "hostile"):
        check_markup(folder, name)
    try:
        with Browser() as browser:
            look(browser, folder, shots)
    except (Missing, RuntimeError) as e:
        check("a browser opens the pages", False, e)
    return failed


sys.exit(main())
