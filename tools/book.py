"""book.py - makes a site of the guides and pages: `make book`.

    book.py FOLDER      writes FOLDER/pages and FOLDER/mkdocs.yml, and builds FOLDER/site

The sources stay plain Markdown, as GitHub shows it. Zensical expects MkDocs'
dialect, so this is rewritten here:
- lists are indented by four spaces, and a blank line precedes them;
- a link to a source file leads to a page with its text;
- fenced blocks that follow a comment `<!-- tab: NAME -->` become tabs;
- comments that say how an example was made are left out.
MathJax is copied from its package, so that formulas need no network."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import labkit

SECTIONS = [  # of the table of contents: title, patterns; a page goes to the first match
    ("Start", ["README.md", "docs/one-click.md", "docs/newcomer.md"]),
    ("Labs", ["labs/*/README.md"]),
    ("Tools", ["docs/check.md", "docs/nsight-compute.md", "docs/wbcc.md",
               "docs/cpu-backend.md", "docs/grader.md"]),
    ("Models", ["tinylm/README.md", "docs/data-parallel.md", "recurrentgemma/README.md",
                "python/README.md"]),
    ("Teaching", ["docs/instructor.md", "docs/syllabus*.md", "docs/policy*.md"]),
    ("Measured", ["docs/benchmarks.md", "bench/results/README.md", "bench/results/*.md",
                  "bench/results/*/*.md"]),
    ("Reference", ["docs/glossary.md", "docs/kernel-interface.md", "docs/*.md",
                   "CONTRIBUTING.md", "CHANGELOG.md"]),
    ("Hints", ["labs/*/hints.md"])]
LANGUAGES = {".h": "c", ".c": "c", ".cu": "cuda", ".cuh": "cuda", ".cpp": "cpp",
             ".py": "python"}
LISTED_BYTES = 200_000  # a longer text is copied, not shown as a page
ITEM = re.compile(r"( *)([-*+]|\d{1,2}\.)( +)(?=\S)")
FENCE = re.compile(r" *(```+|~~~+)")
TAB = re.compile(r"<!-- tab: (.+) -->\s*")
COMMENT = re.compile(r"<!--.*?-->\s*\n", re.DOTALL)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")


def contents():
    """[(section, [page])] of the pages that exist."""
    seen, found = set(), []
    for title, patterns in SECTIONS:
        paths = [p for pattern in patterns for p in sorted(map(str, Path().glob(pattern)))]
        pages = [p for p in dict.fromkeys(paths) if p not in seen]
        seen |= set(pages)
        if pages:
            found.append((title, pages))
    return found


# --- the dialect of GitHub to that of MkDocs ----------------------------------------------

def indent_lists(lines):
    """Nested content at four spaces per level; a blank line before a list."""
    out, levels = [], []  # levels: column where the content of each open item starts
    fence = None
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            out.append("")
            continue
        item = ITEM.match(line) if not fence else None
        if not fence:
            start_of_block = not out or not out[-1]
            while levels and indent < levels[-1] and (item or start_of_block):
                levels.pop()
        if item:
            if not levels and out and out[-1] and not ITEM.match(out[-1]):
                out.append("")
            depth, rest = len(levels), line[item.end():]
            out.append("    " * depth + f"{item[2]:<3} {rest}")
            levels.append(item.end())
            continue
        depth = len(levels)
        own = max(0, indent - (levels[-1] if levels else 0))
        out.append("    " * depth + " " * own + line.lstrip(" "))
        if FENCE.match(line):
            mark = FENCE.match(line)[1]
            fence = None if fence and mark.startswith(fence) else fence or mark
    return out


def make_tabs(lines):
    """<!-- tab: NAME --> and the fenced block after it: a tab."""
    out, tab, fence = [], False, False
    for line in lines:
        name = TAB.fullmatch(line)
        if name and not fence:
            out += ["", f'=== "{name[1]}"', ""]
            tab = True
            continue
        out.append("    " + line if tab and line.strip() else line)
        if FENCE.match(line):
            fence = not fence
            tab = tab and fence
    return out


class Book:
    def __init__(self, folder):
        self.folder, self.pages = Path(folder), Path(folder, "pages")
        self.sections = contents()
        self.known = {page for _, pages in self.sections for page in pages}
        self.copied = set()

    def target(self, page, link):
        """Where a link of a page leads in the book; None for a folder without a page."""
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link) or not path:
            return link
        file = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if os.path.isdir(file):
            file = os.path.join(file, "README.md")
            if not os.path.isfile(file):
                return None
        if not os.path.isfile(file):
            labkit.stop(f"book: {page} links to {link}, which does not exist")
        if file not in self.known:
            file = self.add_file(file)
        back = os.path.relpath(file, os.path.dirname(page) or ".")
        return back + (f"#{anchor}" if anchor else "")

    def add_file(self, file):
        """An image is copied; a source becomes a page. Returns its name in the book."""
        listed = not file.endswith((".png", ".svg", ".jsonl", ".md")) \
            and os.path.getsize(file) < LISTED_BYTES
        name = f"{file}.md" if listed else file
        if name not in self.copied:
            self.copied.add(name)
            to = self.pages / name
            to.parent.mkdir(parents=True, exist_ok=True)
            if listed:
                text = Path(file).read_text(errors="replace")
                language = LANGUAGES.get(os.path.splitext(file)[1], "text")
                to.write_text(f"# {os.path.basename(file)}\n\n`{file}`\n\n"
                              f"``````{language}\n{text}\n``````\n")
            else:
                shutil.copyfile(file, to)
        return name

    def links(self, page, text):
        """Links of a line, outside of code."""
        def rewrite(match):
            to = self.target(page, match[2])
            return f"{match[1]}{to}{match[3]}" if to else "]"
        parts = re.split(r"(`[^`]*`)", text)
        return "".join(p if p.startswith("`") else LINK.sub(rewrite, p) for p in parts)

    def convert(self, page, text):
        text = re.sub(r"<!-- tab: (.+) -->", "\0\\1\0", text)
        text = COMMENT.sub("", text)
        text = re.sub("\0(.+)\0", r"<!-- tab: \1 -->", text)
        out, fence = [], False
        for line in make_tabs(indent_lists(text.split("\n"))):
            if FENCE.match(line):
                fence = not fence
            code = fence or line.startswith("    ") and not ITEM.match(line.lstrip())
            out.append(line if code else self.links(page, line))
        return "\n".join(out)

    def write(self):
        shutil.rmtree(self.pages, ignore_errors=True)
        for page in sorted(self.known):
            to = self.pages / page
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_text(self.convert(page, Path(page).read_text()))
        self.write_assets()
        nav = "".join(f"\n  - {title}:" + "".join(f"\n      - {p}" for p in pages)
                      for title, pages in self.sections)
        settings = Path("docs/book/mkdocs.yml").read_text()
        (self.folder / "mkdocs.yml").write_text(settings.replace(" NAV\n", nav + "\n"))

    def write_assets(self):
        import mathjax  # django-static-mathjax
        to = self.pages / "assets"
        es5 = Path(mathjax.__file__).parent / "static/mathjax/es5"
        shutil.copytree(es5 / "output/chtml/fonts", to / "mathjax/output/chtml/fonts")
        shutil.copyfile(es5 / "tex-chtml.js", to / "mathjax/tex-chtml.js")
        for name in "mathjax.js", "book.css":
            shutil.copyfile(f"docs/book/{name}", to / name)


def main():
    book = Book(sys.argv[1])
    book.write()
    done = subprocess.run([sys.executable, "-m", "zensical", "build", "--clean", "--strict",
                           "-f", book.folder / "mkdocs.yml"])
    if done.returncode:
        labkit.stop("book: the site could not be built; see above")
    print(f"wrote {book.folder}/site; SERVE=8000 also shows it, at http://localhost:8000")


main()
