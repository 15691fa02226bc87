"""What every page of the documentation keeps, one function each: pages.py FUNCTION.

width      no line is over 90 columns, except in tables, and links that cannot be shorter
links      a link to a heading of a page finds it
examples   what the grader says, in a guide, is an example that a command makes
reports    what a table of mistakes quotes is said somewhere: by a mutant's `says:` line, the
           known mistakes of reference/, the grader or the CPU back end
answers    solutions/*/answers.md has one for each exercise of a guide
"""

import re
import subprocess
import sys
from pathlib import Path

WIDTH = 90
PAGES = [
    Path(name)
    for name in subprocess.check_output(["git", "ls-files", "*.md"], text=True).split()
    if Path(name).exists()
]


def without_code(text):
    return re.sub(r"^ *```.*?^ *```", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)


def width():
    for page in PAGES:
        for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
            table = line.lstrip().startswith(("|", "<!--"))
            link = " " not in re.sub(r"^\W*\[[^\]]*\]", "", line.strip())
            if len(line) > WIDTH and not table and not link:
                yield f"{page}:{number}: {len(line)} columns"


def anchors(page):
    """GitHub's names of the headings of a page"""
    for heading in re.findall(r"^#+ (.*)", without_code(page.read_text(encoding="utf-8")), re.M):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        yield re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")


def links():
    for page in PAGES:
        text = without_code(page.read_text(encoding="utf-8"))
        for target, anchor in re.findall(r"\]\(([\w./-]*)#([\w-]+)\)", text):
            other = page.parent / target if target else page
            if not other.is_file() or anchor not in anchors(other):
                yield f"{page}: {target}#{anchor}"


def examples():
    for page in PAGES:
        if page.name == "newcomer.md":
            continue  # newcomer.py makes it
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"^<!-- output.*?-->\n```.*?^```", lambda m: "\n" * m[0].count("\n"), text,
                      flags=re.M | re.S)
        for match in re.finditer(r"^ *== Test lab", text, re.M):
            number = text.count("\n", 0, match.start()) + 1
            yield f"{page}:{number}: the grader's words without `<!-- output: COMMAND -->`"


def answers():
    for guide in Path("labs").glob("*/README.md"):
        page = Path("solutions", guide.parent.name, "answers.md")
        numbers = [re.findall(r"^(\d+)\. ", text, re.M) for text in
                   (guide.read_text().partition("\n## Exercises\n")[2], page.read_text())]
        if not numbers[0] or numbers[0] != numbers[1]:
            yield f"{page}: {len(numbers[1])} answers to {len(numbers[0])} exercises"


def flat(text, name=""):
    """Without what may differ: numbers, placeholders, the joints of a long string, spaces."""
    text = re.sub(r"[\"']\s*\n\s*[furb]*[\"']", "", text)
    if name.endswith(".py"):
        text = re.sub(r"\{[^{}\n]*\}", "0", text)
    text = re.sub(r"%[-.*\d]*[a-z]+|-?\d+(?:\.\d+)?", "0", text)
    return re.sub(r"\s+", " ", text.replace("\\\"", '"'))


def reports():
    sources = [*Path("reference").glob("*.py"), *Path("grader").glob("*.[ch]"),
               *Path("common/cpu").rglob("*.cpp"), *Path("common/cpu").rglob("*.h")]
    said = "\n".join(flat(p.read_text(encoding="utf-8"), p.name) for p in sources)
    for page in PAGES:
        lab = re.match(r"labs/(lab\d+)_", str(page))
        if not lab:
            continue
        mutants = sorted(Path("tests/mutants", lab[1]).glob("*"))
        says = "\n".join(
            line for m in mutants
            for line in re.findall(r"^(?:#|//) *says: *(.*)", m.read_text(encoding="utf-8"), re.M))
        known = flat(says) + said
        cases = set(re.findall(r"^(\w+) +\d", (page.parent / "cases").read_text(encoding="utf-8"), re.M))
        table = re.search(r"^\| mistake \| report \|\n.*?\n\n", page.read_text(encoding="utf-8"),
                          re.M | re.S)
        for row in table[0].split("\n")[2:-2] if table else []:
            for quoted in re.findall(r"`([^`]+)`", row.rsplit(" | ", 1)[1]):
                words = re.sub(r"^(pattern|likely cause|where): ", "", quoted)
                parts = [flat(p).strip() for p in words.split("…")]
                if quoted not in cases and not all(p in known for p in parts):
                    yield f"{page}: nothing says `{quoted}`"


found = list(globals()[sys.argv[1]]())
print("\n".join(found))
sys.exit(bool(found))
