#!/usr/bin/env python3
"""newcomer.py - a newcomer's way through lab 00, with wrong turns: docs/newcomer.md.

    newcomer.py check TREE     does the page say what happens in TREE, a clean copy?
    newcomer.py write TREE     writes the page

Each step edits labs/lab00_basics/basics.cu and runs commands. The file is put together from
the solution's blocks: parts that are done have its code, with a mistake where the step has
one, and the others the starter's text. Standard library only."""
import difflib
import re
import subprocess
import sys
import textwrap
from pathlib import Path

sys.path.insert(0, "tools")
import examples

PAGE = Path("docs/newcomer.md")
SOLUTION = Path("solutions/lab00_basics/basics.cu")
LAB = "labs/lab00_basics/basics.cu"
BLOCK = re.compile(r"^[ \t]*// BEGIN SOLUTION (\S+)[^\n]*\n(.*?)^[ \t]*// END SOLUTION\n",
                   re.MULTILINE | re.DOTALL)
PARTS = [f"00.{n}" for n in range(1, 11)]
GRADE = "make -s lab00 && ./grade lab00"

# (words, parts that are done, [(right, wrong)], is the edit shown, command)
STEPS = [
    ("In a fresh copy, the first `make` installs what is missing and builds the grader. Its "
     "output is left out here.", 0, [], False, GRADE),
    ("Part 00.1: the kernel and its launch. Which number comes first, blocks or threads?",
     1, [("hello_kernel<<<blocks, threads,", "hello_kernel<<<threads, blocks,")], True,
     f"{GRADE} --stop"),
    ("The report names the mistake. With the two swapped back:", 1, [], True, f"{GRADE} -k 00.1"),
    ("Part 00.2: one thread per element. The number of blocks is rounded up, but there is no "
     "guard.",
     2, [("    if (i >= N) return;\n    out[i] = a[i]", "    out[i] = a[i]")], True,
     f"{GRADE} -k 00.2"),
    ("All values are right, but check mode has found accesses past the end. With the guard:",
     2, [], True, f"{GRADE} -k 00.2"),
    ("Before 00.5, a hint:", 2, [], False, "./grade lab00 --hint 00.5"),
    ("Parts 00.3 to 00.6 are written in the same way. In 00.7, the barrier seems unnecessary "
     "and is left out.",
     7, [("    if (t < n) s[t] = x[start + t];\n    __syncthreads();  // another thread has "
          "loaded s[n - 1 - t]\n", "    if (t < n) s[t] = x[start + t];\n")], False,
     f"{GRADE} -k reverse"),
    ("With the barrier, and without the padding of the tile:",
     7, [("tile[TILE][TILE + 1];  // padded: a column lies in 32 banks", "tile[TILE][TILE];")],
     False, f"{GRADE} -k 00.7"),
    ("The padding is worth two points. With it, and with the remaining parts:", 10, [], False, GRADE),
    ("The progress board:", 10, [], False, "./grade"),
]


def text_of(done, mistakes):
    """The learner's file: `done` parts are solved"""
    def put(block):
        solved = block[1] in PARTS[:done]
        lines = block[2].splitlines()
        given = [re.sub(r"^([ \t]*)//> ?", r"\1", line) for line in lines
                 if re.match(r"[ \t]*//>", line)]
        own = [line for line in lines if not re.match(r"[ \t]*//>", line)]
        return "".join(line.rstrip() + "\n" for line in (own if solved else given))

    text = BLOCK.sub(put, SOLUTION.read_text())
    for right, wrong in mistakes:
        assert text.count(right) == 1, f"{right!r} is there {text.count(right)} times"
        text = text.replace(right, wrong)
    return re.sub(r"\n{3,}", "\n\n", text)


def edit(before, after):
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), n=1,
                                      lineterm=""))[2:]
    shown = ["..." if line.startswith("@@") else line for line in lines]
    return "```diff\n" + "\n".join(shown) + "\n```\n\n"


def run(tree, command):
    done = subprocess.run(["bash", "-c", command], cwd=tree, capture_output=True, text=True)
    text = examples.TIME.sub("(0.01s)", done.stderr + done.stdout)
    kept = [line for line in text.splitlines() if not line.startswith("generating the ")]
    return "```\n$ " + command + "\n" + examples.wrap("\n".join(kept)) + "```\n"


def session(tree):
    out = ["# A newcomer's way through lab 00\n\nSomeone writes the ten parts of "
           "[lab 00](../labs/lab00_basics/README.md) and makes a few\n"
           "typical mistakes. Every output on this page is real: `tests/docs/newcomer.py` "
           "ran the\ncommands.\n"]
    before = text_of(0, [])
    for words, done, mistakes, shown, command in STEPS:
        after = text_of(done, mistakes)
        Path(tree, LAB).write_text(after)
        out.append(textwrap.fill(words, examples.WIDTH) + "\n\n" + (edit(before, after) if shown else "")
                   + run(tree, command))
        before = after
    return "\n".join(out)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("check", "write"):
        sys.exit(__doc__)
    made = session(sys.argv[2])
    if sys.argv[1] == "write":
        PAGE.write_text(made)
    elif not examples.same(PAGE.read_text(), made):
        shown = difflib.unified_diff(PAGE.read_text().splitlines(), made.splitlines(),
                                     "docs/newcomer.md", "now", lineterm="")
        print(*shown, sep="\n")
        sys.exit("if that is right: tests/docs/newcomer.py write TREE")


main()
