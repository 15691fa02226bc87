"""check_report.py - shows a report of check mode: as text, and as a page to look at.

    check_report.py FILE.json [--html OUT.html] [--source DIR]... [--quiet]

FILE.json is what a program in check mode writes to WB_CHECK_JSON. Findings are grouped:
one for each kind and line. Then come the counts of each kernel, line by line, and advice.
OUT.html is one file that loads nothing else. Lines of source are read from sources inside
DIR (default: the current folder) only. --quiet prints no text.

Exit code: 0 no errors among the findings, 1 errors, 2 the report cannot be read or
written."""
import argparse
import sys

from report import model, page, text
from report.values import Bad, plain


def say(words):
    """Prints now, so that a full disk is an error here and not after the end."""
    try:
        print(words, flush=True)
    except OSError as e:
        sys.stdout = None
        raise Bad(f"the report cannot be printed: {e.strerror}") from None


def show(path, html, folders, quiet):
    """Prints the text and writes the page; returns the exit code."""
    report = model.load(path, folders)
    if not quiet:
        say(text.text(report))
    if html:
        try:
            with open(html, "w", encoding="utf-8") as f:
                f.write(page.page(report))
        except OSError as e:
            raise Bad(f"{plain(html)} cannot be written: {e.strerror}") from None
        say(f"the page: {plain(html)}")
    return 1 if report.errors else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("json")
    parser.add_argument("--html")
    parser.add_argument("--source", action="append", default=[])
    parser.add_argument("--quiet", action="store_true")
    a = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        return show(a.json, a.html, a.source or ["."], a.quiet)
    except Bad as e:
        print(f"check_report: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
