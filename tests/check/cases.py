"""cases.py - the programs of this folder, their cases and what each case must report.

`// BUG case kind, case kind` marks its line; alone in a line, the next line of code."""
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
KINDS = """out-of-bounds out-of-bounds-shared out-of-bounds-local out-of-bounds-variable
    uninitialized uninitialized-shared misaligned null-pointer use-after-free host-pointer
    race-shared race-global race-blocks same-value barrier-divergence deadlock bad-mask
    shuffle-source infinite-loop async-copy async-proxy cluster-start cluster-exit misuse
    pdl device-pointer double-free invalid-free leak copy-size copy-kind stream-race launch-error unchecked-error""".split()


class Case:
    def __init__(self, path, name):
        self.program = f"{path.parent.name}/{path.stem}"  # bugs/bounds
        self.file, self.name = path.name, name
        self.bug = path.parent.name == "bugs"
        self.marks = []  # (line, kind): a finding at any of them is right

    def __str__(self):
        return f"{self.program} {self.name}"


def read_marks(path, text):
    """Yields (line, case, kind) of every mark in a file."""
    waiting = []
    for number, line in enumerate(text.split("\n"), 1):
        code, found, marks = line.partition("// BUG ")
        words = [m.split() for m in marks.split(",")] if found else []
        for pair in words:
            if len(pair) != 2 or pair[1] not in KINDS:
                raise SystemExit(f"{path}:{number}: write // BUG case kind: {marks}")
        waiting += words
        if code.strip() and not code.strip().startswith("//"):
            yield from ((number, *pair) for pair in waiting)
            waiting = []


def cases_of(path):
    text = path.read_text()
    found = {name: Case(path, name) for name in re.findall(r"^CASE\((\w+)\)", text, re.M)}
    for line, name, kind in read_marks(path, text):
        if name not in found:
            raise SystemExit(f"{path}:{line}: no CASE({name})")
        found[name].marks.append((line, kind))
    for case in found.values():
        if case.bug != bool(case.marks):
            raise SystemExit(f"{path}: {case.name}: mark bugs, and only bugs")
    return list(found.values())


def all_cases():
    return [case for path in sorted(FOLDER.glob("*/*.cu")) for case in cases_of(path)]


if __name__ == "__main__":  # what there is, by kind
    every = all_cases()
    for kind in KINDS:
        count = sum(any(kind == k for _, k in case.marks) for case in every)
        print(f"{kind:24} {count}")
        if not count:
            raise SystemExit(f"no case of the kind {kind}")
    bugs = sum(case.bug for case in every)
    print(f"{bugs} bugs, {len(every) - bugs} right cases")
