"""red_zones.py FILE.s [--check] - puts red zones around the variables of a compiler's
assembly: around thread-local ones, which are the __shared__ arrays of the CPU back end and
which common/cpu/shared.cpp fills and checks; with --check also around ordinary ones, so
that check mode sees a pointer that leaves a __device__ variable."""
import os
import re
import sys

BYTES = 1024  # WBCPU_RED_ZONE in common/cpu/include/wbcpu/shared.h

SECTION = re.compile(r"\s+\.(section|text|data|bss)\b(.*)")
VALUE = re.compile(r"\s+\.(zero|skip|space|byte|short|value|hword|word|long|int|quad|xword"
                   r"|octa|float|double|string|ascii|asciz|base64|[248]byte)\b")
LABEL = re.compile(r"([^\s:]+):")
COMMON = re.compile(r"\s+\.comm\s+([^,\s]+),\s*(\d+),\s*(\d+)")


def kind_of(section, rest, check):
    """What is in this section: "shared", "global" or None."""
    if ".tbss" in rest:
        return "shared"
    plain = section in ("data", "bss") or (
        section == "section" and re.match(r"\s*\.(data|bss)\s*(,|$)", rest))
    return "global" if check and plain and not rest.strip().isdigit() else None


def uninitialized(name, size, alignment):
    """A .comm, which the linker would put anywhere, with its zones"""
    first = -(-BYTES // alignment) * alignment
    return (f"\t.bss\n\t.balign {alignment}\n\t.zero\t{first}\n"
            f"\t.type\t{name}, @object\n\t.size\t{name}, {size}\n{name}:\n"
            f"\t.zero\t{size + BYTES}\n")


def labels(lines):
    """Of each line: is the closest label before it, or on it, one of the source? The
    compiler's own begin with .L."""
    named = False
    for line in lines:
        label = LABEL.match(line)
        if label:
            named = not label[1].startswith(".L")
        yield named


def with_red_zones(lines, check):
    """Zones of two variables do not overlap: one after the first, one before the next."""
    kind, inside, here = None, False, "\t.text\n"
    after = list(labels(reversed(lines)))[::-1]
    for line, named, named_next in zip(lines, labels(lines), after):
        value = kind is not None and named and VALUE.match(line)
        if inside and not value:  # a variable ends
            yield f"\t.zero\t{2 * BYTES}\n"
        inside = bool(value)
        common, section = COMMON.match(line), SECTION.match(line)
        if check and common:
            yield uninitialized(common[1], int(common[2]), int(common[3])) + here
            continue
        yield line
        if section:
            kind, here = kind_of(section[1], section[2], check), line
            if kind and named_next:
                yield f"\t.zero\t{BYTES}\n"
    if inside:
        yield f"\t.zero\t{2 * BYTES}\n"


def add(path, check=False):
    new = f"{path}.new"
    with open(path, errors="surrogateescape") as old, \
            open(new, "w", errors="surrogateescape") as out:
        out.writelines(with_red_zones(old.readlines(), check))
    os.rename(new, path)


if __name__ == "__main__":
    add(sys.argv[1], "--check" in sys.argv[2:])
