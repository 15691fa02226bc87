"""handout.py - what a handout contains: the tree that students get. Nothing in it scores,
and its pages mention only files that it contains. Standard library only."""
import os
import re
import shutil
from pathlib import Path

import labkit
import ladder

# Kernels that score (the tests' own and the benchmark's), attacks on the grader, and
# pages for those who teach or change the workbook.
LEFT_OUT = ("solutions/", "tests/", "bench/cpu_kernels.", "bench/cpu_loops.",
            "tools/container/", "tools/course/", "tools/grade_all", "tools/class_", "mk/course.mk", ".ci/", ".github/",
            "docs/instructor.md", "docs/syllabus.md", "docs/add-a-lab.md", "CONTRIBUTING.md",
            "CHANGELOG.md", "docs/newcomer.md")
BUT = ("tests/recurrentgemma/tiny/",)  # a model of random weights, to try the program with

# A paragraph, list item or row of a table with one of these is for those who have it.
NAMES = re.compile(r"\bsolutions/|\btests/|instructor\.md|syllabus\.md|CHANGELOG|newcomer\.md|add-a-lab\.md|CONTRIBUTING"
                   r"|`make test[-`]|`make examples|`make ladder-")
LADDER = re.compile(r"`make ladder-(lab\d+)`")
COMMAND = re.compile(r"make (test|fuzz|asan|valgrind|handout)\b")  # in a block of commands
TEST_OF = re.compile(r"\s*\(`tests/[^)]*\)")  # "... no allocation (`tests/x.c` counts)."
COMMENT = re.compile(r"<!-- output\b.*-->\s*$")  # how an example was made


def belongs(path):
    return not path.startswith(LEFT_OUT) or path.startswith(BUT)


def items(paragraph):
    """A paragraph's parts: rows of a table, items of a list, or the whole."""
    if paragraph[0].startswith("|"):
        return [[line] for line in paragraph]
    parts = []
    for line in paragraph:
        if not parts or re.match(r"([-*]|\d+\.) ", line):
            parts.append([])
        parts[-1].append(line)
    return parts


def guide(text):
    """A Markdown page for students."""
    out, paragraph, fence = [], [], False

    def close():
        if paragraph:
            for part in items(paragraph):
                kept = TEST_OF.sub("", "\n".join(part))
                if not NAMES.search(kept):
                    out.append(kept)
            paragraph.clear()

    for line in text.splitlines():
        if line.startswith("```"):
            close()
            fence = not fence
            out.append(line)
        elif fence:
            if not COMMAND.match(line):
                out.append(line)
        elif COMMENT.match(line):
            close()
        elif line.strip():
            paragraph.append(line)
        else:
            close()
            out.append("")
    close()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def write_ladders(out):
    """The pages of the ladders; their paths in the handout"""
    pages = {f"ladder/{lab}.md": ladder.page(name) for lab, name in labkit.lab_folders()}
    Path(out, "ladder").mkdir(exist_ok=True)
    for path, text in pages.items():
        Path(out, path).write_text(text)
    return list(pages)


def write(out, tracked, made, fallbacks, ladders=False):
    """The workbook for a course: starters, prebuilt kernels in place of solutions, and
    MANIFEST.sha256 of every file that students do not edit (for sha256sum --check).
    ladders: with the rungs of each ladder, as pages of differences"""
    fixed = []
    for path in tracked:
        if not belongs(path) or path in made or not os.path.exists(path):
            continue
        copy = Path(out, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
        if path.endswith(".md"):
            text = copy.read_text()
            if ladders:
                text = LADDER.sub(r"[ladder/\1.md](../../ladder/\1.md)", text)
            copy.write_text(guide(text))
        fixed.append(path)
    for path, text in made.items():
        labkit.write_if_changed(Path(out, path), text)
        kept = path.replace("labs/", "starters/", 1)
        labkit.write_if_changed(Path(out, kept), text)
        fixed.append(kept)
    workflow = ".github/workflows/grade.yml"
    Path(out, workflow).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2("tools/course/grade.yml", Path(out, workflow))
    fixed.append(workflow)
    for fallback in fallbacks:  # build/cpu/fallback.a -> fallback/cpu-x86_64.a
        kept = f"fallback/{Path(fallback).parent.name}-{os.uname().machine}.a"
        Path(out, "fallback").mkdir(exist_ok=True)
        shutil.copy2(fallback, Path(out, kept))
        fixed.append(kept)
    if ladders:
        fixed += write_ladders(out)
    lines = [f"{labkit.sha256(Path(out, p))}  {p}\n" for p in sorted(fixed)]
    Path(out, "MANIFEST.sha256").write_text("".join(lines))
    print(f"wrote {out}: {len(fixed)} files in MANIFEST.sha256, {len(made)} starters")
