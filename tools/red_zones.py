"""red_zones.py FILE.s - puts red zones around the thread-local variables of a compiler's
assembly, which are the __shared__ arrays of the CPU back end. common/cpu/shared.cpp fills
and checks them."""
import os
import re
import sys

BYTES = 1024  # WBCPU_RED_ZONE in common/cpu/include/wbcpu/shared.h

SECTION = re.compile(r"\s+\.(section|text|data|bss)\b")
# A variable without an initial value is one of these lines.
VARIABLE = re.compile(r"\s+\.(zero|skip|space|byte|short|value|hword|word|long|int|quad|xword"
                      r"|[248]byte)\b")


def with_red_zones(lines):
    """Zones of two variables do not overlap: one after the first, one before the next."""
    inside = False
    for line in lines:
        yield line
        if SECTION.match(line):
            inside = ".tbss" in line
            if inside:
                yield f"\t.zero\t{BYTES}\n"
        elif inside and VARIABLE.match(line):
            yield f"\t.zero\t{2 * BYTES}\n"


def add(path):
    new = f"{path}.new"
    with open(path, errors="surrogateescape") as old, \
            open(new, "w", errors="surrogateescape") as out:
        out.writelines(with_red_zones(old))
    os.rename(new, path)


if __name__ == "__main__":
    add(sys.argv[1])
