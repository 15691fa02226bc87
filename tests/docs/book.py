"""book.py - looks at the site of `make book` in a browser.

    book.py SITE [PICTURES]     prints what is wrong; with PICTURES, writes pictures there

Every link of every page leads to a file and an anchor that exist. A guide, the glossary,
the figures of speed and a page with formulas are opened: nothing is loaded from elsewhere,
the console says nothing, no page is wider than a telephone, formulas are set, the search
finds a word, in light and in dark."""
import functools
import http.server
import sys
import threading
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path

sys.path.insert(0, "tests/check")
from browser import Browser  # noqa: E402

LOOKED_AT = ("index.html", "labs/lab00_basics/index.html", "labs/lab03_rmsnorm/index.html",
             "docs/one-click.html", "bench/results/index.html")


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.names = [], set()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found.get("id"), found.get("name") if tag == "a" else None}
        self.links += [found[k] for k in ("href", "src") if found.get(k)]


def links_wrong(site):
    pages, wrong = {}, []
    for path in site.rglob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text())
    for path, page in pages.items():
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc or path.name == "404.html":
                continue
            to = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if to.is_dir():
                to = to / "index.html"
            if not to.is_file():
                wrong.append(f"{path}: {link} does not exist")
            elif parts.fragment and to in pages and parts.fragment not in pages[to].names:
                wrong.append(f"{path}: {link}: no such anchor")
    return wrong, len(pages)


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def serve(site):
    """The address of a server of the site."""
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Handler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/"


def looks_wrong(page, name, home):
    wrong = [f"{name}: the console: {c}" for c in page.complaints()]
    wrong += [f"{name}: loads {url}" for url in page.requests()
              if not url.startswith((home, "data:", "blob:" + home))]
    if page.run("document.documentElement.scrollWidth > innerWidth"):
        wrong.append(f"{name}: wider than the window")
    formulas = page.run("document.querySelectorAll('.arithmatex').length")
    if formulas and not page.run("""(async () => { await MathJax.startup.promise;
            return document.querySelectorAll('.arithmatex mjx-container').length })()"""):
        wrong.append(f"{name}: formulas are not set")
    return wrong


# The search has a shadow root of its own. How many results it shows:
SEARCH = """(async () => {
    const wait = ms => new Promise(done => setTimeout(done, ms));
    const roots = () => [...document.querySelectorAll('div')].map(e => e.shadowRoot)
        .filter(Boolean);
    document.querySelector('.md-search__button').click();
    for (let i = 0; i < 200; i++, await wait(100)) {
        for (const root of roots()) {
            const box = root.querySelector('input');
            if (box && !box.value) {
                box.value = 'coalesced';
                box.dispatchEvent(new Event('input', {bubbles: true}));
            }
            const found = root.querySelectorAll('a[href]').length;
            if (found) return found;
        }
    }
    return 0;
})()"""


def main():
    site = Path(sys.argv[1]).resolve()
    pictures = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    wrong, count = links_wrong(site)
    home = serve(site)
    for width, dark in (1280, False), (360, True):  # the site remembers light or dark
        with Browser() as browser:
            for name in LOOKED_AT:
                page = browser.open(home + name, width, dark=dark)
                wrong += looks_wrong(page, f"{name} {width}", home)
                if page.run("document.body.dataset.mdColorScheme") != ("slate" if dark else "default"):
                    wrong.append(f"{name} {width}: dark: {dark}, but it does not look so")
                if pictures:
                    pictures.mkdir(exist_ok=True)
                    page.screenshot(pictures / f"{name.replace('/', '-')}-{width}.png")
            if not browser.open(home, width, dark=dark).run(SEARCH):
                wrong.append(f"{width}: the search finds nothing")
    print("\n".join(wrong) or f"{count} pages, no complaint")
    sys.exit(bool(wrong))


main()
