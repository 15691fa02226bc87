"""Prose without the words of words.txt; see there. words.py [FILE...]: these files only."""

import re
import subprocess
import sys
from pathlib import Path

LIST = Path("tests/docs/words.txt")


def read_list():
    files, left_out, banned, allowed = [], [], [], []
    for number, line in enumerate(LIST.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("files:"):
            files += line[6:].split()
        elif line.startswith("except:"):
            left_out += line[7:].split()
        elif line.startswith("allow:"):
            allowed.append(re.compile(line[6:].strip(), re.I))
        elif " -> " in line:
            pattern, instead = line.split(" -> ", 1)
            banned.append((re.compile(rf"\b(?:{pattern})\b", re.I), instead))
        else:
            sys.exit(f"{LIST}:{number}: PATTERN -> WORDS was expected")
    return files, left_out, banned, allowed


def blank(match):
    """Spaces in place of code, so that positions stay."""
    return re.sub(r"[^\n]", " ", match[0])


def prose(path):
    """The text of a file with everything that is not prose made blank."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        text = re.sub(r"^ *```.*?^ *```", blank, text, flags=re.M | re.S)
        text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
        text = re.sub(r"`[^`\n]*`", blank, text)
        return re.sub(r"\]\([^)\n]*\)", blank, text)
    comment = r"#[^\n]*|\"\"\".*?\"\"\""
    if path.suffix in (".c", ".h", ".cu", ".cuh", ".cpp"):
        comment = r"//[^\n]*|/\*.*?\*/"
    kept, at = [], 0
    for match in re.finditer(comment, text, re.S):
        kept += [re.sub(r"[^\n]", " ", text[at : match.start()]), match[0]]
        at = match.end()
    kept.append(re.sub(r"[^\n]", " ", text[at:]))
    return "".join(kept)


def joined(text):
    """Line ends and comment marks become spaces: a phrase may go over a line's end."""
    text = re.sub(r"\n[ \t]*(?:\*(?!/)|//|#|>)?", lambda m: " " * len(m[0]), text)
    return re.sub(r" (?= )", "\0", text)  # one space between words, positions kept


def main():
    files, left_out, banned, allowed = read_list()
    names = sys.argv[1:] or subprocess.check_output(
        ["git", "ls-files", "--", *files, *[f":!:{g}" for g in left_out]], text=True).split()
    bad = 0
    for name in names:
        path = Path(name)
        if not path.is_file() or path == LIST:
            continue
        kept = prose(path)
        flat = joined(kept)
        # positions in `text` lead back to `flat` through `places`
        places = [i for i, c in enumerate(flat) if c != "\0"]
        text = "".join(flat[i] for i in places)
        fine = [m.span() for a in allowed for m in a.finditer(text)]
        for pattern, instead in banned:
            for match in pattern.finditer(text):
                if any(a <= match.start() and match.end() <= b for a, b in fine):
                    continue
                line = kept.count("\n", 0, places[match.start()]) + 1
                print(f"{name}:{line}: {match[0]!r}: write {instead}")
                bad += 1
    sys.exit(bad != 0)


main()
