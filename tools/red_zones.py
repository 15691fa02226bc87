"""red_zones.py FILE.s [--check] - puts red zones around the variables of a compiler's
assembly: around thread-local ones, which are the __shared__ arrays of the CPU back end and
which common/cpu/shared.cpp fills and checks; with --check also around ordinary ones, so
that check mode sees a pointer that leaves a __device__ variable."""
import os
import re
import sys

BYTES = 1024  # WBCPU_RED_ZONE in common/cpu/include/wbcpu/shared.h

SECTION = re.compile(r"^[^\S\n]+\.(section|text|data|bss)\b(.*)\n", re.MULTILINE)
VALUE = re.compile(r"\s+\.(zero|skip|space|byte|short|value|hword|word|long|int|quad|xword"
                   r"|octa|float|double|string|ascii|asciz|base64|[248]byte)\b")
LABEL = re.compile(r"([^\s:]+):")
COMMON = re.compile(r"^[^\S\n]+\.comm[^\S\n]+([^,\s]+),\s*(\d+),\s*(\d+).*\n",
                    re.MULTILINE)


def sections(text):
    """(what opens it, the text after that) of each section; a compiler begins in .text"""
    opened, start = None, 0
    for switch in [*SECTION.finditer(text), None]:
        yield opened, text[start:switch and switch.start()]
        if switch:
            opened, start = switch, switch.end()


def has_variables(opened, check):
    """Are its values variables that get red zones?"""
    section, rest = opened.groups()
    plain = section in ("data", "bss") or (
        section == "section" and re.match(r"\s*\.(data|bss)\s*(,|$)", rest))
    return ".tbss" in rest or (check and plain and not rest.strip().isdigit())


def uninitialized(name, size, alignment):
    """A .comm, which the linker would put anywhere, with its zones"""
    size, alignment = int(size), int(alignment)
    first = -(-BYTES // alignment) * alignment
    return (f"\t.bss\n\t.balign {alignment}\n\t.zero\t{first}\n"
            f"\t.type\t{name}, @object\n\t.size\t{name}, {size}\n{name}:\n"
            f"\t.zero\t{size + BYTES}\n")


def around_variables(lines):
    """Zones of two variables do not overlap: one after the first, one before the next. A
    variable has a label of the source; the compiler's own begin with .L."""
    labels = [match and not match[1].startswith(".L") for match in map(LABEL.match, lines)]
    if next((named for named in labels if named is not None), False):
        yield f"\t.zero\t{BYTES}\n"
    named = inside = False
    for line, label in zip(lines, labels):
        named = named if label is None else label
        value = named and VALUE.match(line)
        if inside and not value:  # a variable ends
            yield f"\t.zero\t{2 * BYTES}\n"
        inside = bool(value)
        yield line
    if inside:
        yield f"\t.zero\t{2 * BYTES}\n"


def with_red_zones(text, check):
    for opened, body in sections(text):
        here = opened[0] if opened else "\t.text\n"
        if opened:
            yield here
            if has_variables(opened, check):
                body = "".join(around_variables(re.findall(r".*\n|.+", body)))
        if check:
            body = COMMON.sub(lambda common: uninitialized(*common.groups()) + here, body)
        yield body


def add(path, check=False):
    new = f"{path}.new"
    with open(path, errors="surrogateescape") as old, \
            open(new, "w", errors="surrogateescape") as out:
        out.writelines(with_red_zones(old.read(), check))
    os.rename(new, path)


if __name__ == "__main__":
    add(sys.argv[1], "--check" in sys.argv[2:])
