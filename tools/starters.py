"""starters.py - writes the starters. The solutions are their single source:

    // BEGIN SOLUTION 03.1 (about 4 lines)
    //> // TODO(03.1): partial sum per thread. About 4 lines.
    //> return WB_TODO;
    ...the solution's own lines...
    // END SOLUTION

becomes the lines after //>. Standard library only.

    starters.py write [LAB...]         labs/ from solutions/; refuses to lose an edited file
    starters.py reset LAB              one lab again, the edited files kept as backups
    starters.py generate OUT           all starters under OUT, for tests
    starters.py check                  do the committed labs/ match the committed solutions/?
    starters.py handout OUT [FILE...]  a tree without solutions; FILE: fallback.a, prebuilt"""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import handout
import labkit

BEGIN = re.compile(r"\s*// BEGIN SOLUTION \d\d\.\d+\b")
END = re.compile(r"\s*// END SOLUTION\s*$")
GIVEN = re.compile(r"(\s*)//>(?: (.*))?$")
RECORD = Path("build/host/starters.json")  # what was written last, to detect edits


def starter(text, where):
    """The text of a starter from the text of a solution."""
    out, begun = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        given = GIVEN.match(line)
        if "BEGIN SOLUTION" in line:
            if begun or not BEGIN.match(line):
                labkit.stop(f"{where}:{number}: expected `// BEGIN SOLUTION 03.1 (about 4 "
                            "lines)`, outside another solution block")
            begun, own = number, False
        elif "END SOLUTION" in line:
            if not begun or not END.match(line):
                labkit.stop(f"{where}:{number}: END SOLUTION without BEGIN SOLUTION")
            begun = 0
        elif given and (not begun or own):
            labkit.stop(f"{where}:{number}: //> lines belong directly below BEGIN SOLUTION")
        elif given:
            out.append((given[1] + (given[2] or "")).rstrip())
        elif begun:
            own = True
        else:
            out.append(line)
    if begun:
        labkit.stop(f"{where}:{begun}: BEGIN SOLUTION without END SOLUTION")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def git(*arguments):
    """The output of git, or None if it fails (no repository, no such file)."""
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def starters(lab=None):
    """{path in labs/: text}. Without solutions/ (in a handout), from starters/."""
    made = {}
    for short, name in labkit.lab_folders():
        if lab not in (None, short, name):
            continue
        origin = Path("solutions", name)
        if origin.is_dir():
            for source in sorted([*origin.glob("*.cu"), *origin.glob("*.cuh")]):
                text = starter(source.read_text(), source)
                if text.strip():  # else a header of the solution alone
                    made[f"labs/{name}/{source.name}"] = text
            continue
        for kept in sorted(Path("starters", name).glob("*.cu*")):
            made[f"labs/{name}/{kept.name}"] = kept.read_text()
    return made


def record(made):
    known = labkit.read_json(RECORD) or {}
    known.update({path: digest(text) for path, text in made.items()})
    labkit.write_if_changed(RECORD, json.dumps(known, indent=1) + "\n")


def edited(path):
    """Was the file changed since it was committed or written by this program?"""
    text = Path(path).read_text()
    known = labkit.read_json(RECORD) or {}
    return text != git("show", f"HEAD:{path}") and digest(text) != known.get(path)


def write(labs):
    made = {}
    for lab in labs or [None]:
        if lab:
            labkit.lab_folder(lab)
        made.update(starters(lab))
    ours = {p: t for p, t in made.items() if Path(p).exists() and Path(p).read_text() == t}
    for path in made:
        if path not in ours and Path(path).exists() and edited(path):
            short = path.split("/")[1].partition("_")[0]
            labkit.stop(f"{path} has been edited: nothing written. `make reset-{short}` "
                        "resets it and keeps a backup")
    for path, text in made.items():
        if path not in ours:
            Path(path).write_text(text)
            print(f"wrote {path}")
    record(made)


def reset(lab):
    name = labkit.lab_folder(lab)
    made = starters(name)
    if not made:  # no solutions here: the committed files
        for path in (git("ls-files", f"labs/{name}") or "").split():
            if path.endswith((".cu", ".cuh")):
                made[path] = git("show", f"HEAD:{path}")
    if not made:
        labkit.stop(f"labs/{name}: no solution, starter or commit to reset it from")
    for path, text in made.items():
        if Path(path).exists() and Path(path).read_text() != text:
            backup = f"{path}.bak-{time.strftime('%Y%m%d-%H%M%S')}"
            shutil.copy2(path, backup)
            print(f"kept  {backup}")
        Path(path).write_text(text)
        print(f"wrote {path}")
    record(made)


def generate(out):
    for path, text in starters().items():
        labkit.write_if_changed(Path(out, path), text)


def check():
    """Compares committed files only, so that a learner's edited lab does not count."""
    listing = git("ls-tree", "-r", "--name-only", "HEAD", "solutions/", "labs/")
    if listing is None:
        labkit.stop("not a git repository: no committed tree to compare")
    committed = listing.split()
    wrong = []
    for path in committed:
        if not re.match(r"solutions/lab\d\d_\w+/\w+\.cuh?\Z", path):
            continue
        lab = path.replace("solutions/", "labs/", 1)
        want = starter(git("show", f"HEAD:{path}"), path)
        if not want.strip():
            continue  # a header of the solution alone
        if lab not in committed or git("show", f"HEAD:{lab}") != want:
            wrong.append(lab)
    if wrong:
        labkit.stop(f"{' '.join(wrong)}: does not match solutions/; run `make starters` and "
                    "commit")


def make_handout(out, fallbacks):
    tracked = (git("ls-files", "-z") or "").split("\0")[:-1]
    if not tracked:
        labkit.stop("a handout is made from a git checkout: run it in one")
    if Path(out).exists() and not Path(out).is_dir():
        labkit.stop(f"OUT={out}: that is a file, not a folder")
    if Path(out).is_dir() and any(Path(out).iterdir()):
        labkit.stop(f"OUT={out}: the folder is not empty")
    handout.write(out, tracked, starters(), fallbacks, bool(os.environ.get("LADDER")))


def main():
    command, *rest = sys.argv[1:] or ["help"]
    if command == "write":
        write(rest)
    elif command == "reset" and len(rest) == 1:
        reset(rest[0])
    elif command == "generate" and len(rest) == 1:
        generate(rest[0])
    elif command == "check" and not rest:
        check()
    elif command == "handout" and rest:
        make_handout(rest[0], rest[1:])
    else:
        labkit.stop(__doc__)


main()
