"""advice.py - what the counts of a kernel mean, in plain words: one piece of advice per
line of source or buffer, the most costly first."""
from .counts import SECTOR
from .values import place_text, size

VERBS = {"read": "read", "write": "write", "atomic": "update", "async": "copy"}
TMA = ("tma_load", "tma_store")
WAVEFRONT = 128  # bytes that shared memory moves in one pass at most
CACHED = 0.25  # of the L2 cache: a smaller buffer stays in it
WORTH_BYTES = 0.01  # of what the kernel asks for; less is not worth a word
WORTH = 1.1  # times the ideal; below this nothing is said


class Advice:
    def __init__(self, waste, text, file="", line=0):
        self.waste, self.text, self.file, self.line = waste, text, file, line

    def place(self):
        return place_text(self.file, self.line) if self.file else ""


def number_text(value):
    return f"{value:.1f}".removesuffix(".0")


def times_text(value):
    """2.0, but 4096."""
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def of_sectors(accesses, counts, worst):
    """Why a line needs more sectors than its bytes fill, and what to do."""
    if accesses[0] in TMA:
        return (
            f"TMA copies {number_text(counts.ratio())} times the sectors that the bytes of "
            "the tiles fill. Fix: rows of the box that begin at a multiple of 32 bytes and "
            "are not shorter.")
    verb = " and ".join(VERBS.get(a, a) for a in accesses)
    needs = (f"{number_text(counts.per_request())} sectors per request where "
             f"{number_text(counts.ideal_per_request())} suffice")
    fix = "let neighbouring lanes access neighbouring elements"
    if not worst or worst.shared or worst.access not in accesses:
        return f"the lanes {verb} {needs}. Fix: {fix}."
    stride = worst.stride()
    if stride is not None and abs(stride) > worst.bytes:
        return (
            f"neighbouring lanes {verb} {number_text(abs(stride))} bytes apart: {needs}. "
            f"Fix: {fix}.")
    if stride == worst.bytes and worst.gaps():
        return (
            f"{len(worst.active())} of 32 lanes {verb}, with gaps between them: {needs}. "
            "Fix: let neighbouring lanes take part, and access neighbouring elements.")
    if stride == worst.bytes:
        first = worst.active()[0][1] % SECTOR
        return (
            f"the lanes {verb} consecutive elements, but the first lies {first} bytes "
            f"after the start of a sector: {needs}. Fix: start each row at a multiple of "
            f"{SECTOR} bytes.")
    if "atomic" in accesses:
        return (
            f"the lanes update scattered addresses: {needs}. Fix: add up within the warp "
            "or block first, then use one atomic for each result.")
    return (
        f"the lanes {verb} scattered addresses: {needs}. Fix: load whole rows into "
        "shared memory, and pick the elements there.")


def of_conflicts(counts, worst):
    """Why lanes of a warp wait for one bank, and what to do."""
    ways = number_text(counts.ratio())
    fix = "pad each row by one element, as in tile[32][33], or swizzle the column"
    stride = worst.stride() if worst and worst.shared else None
    if stride:
        return (
            f"{ways}-way bank conflict: the lanes are {number_text(abs(stride))} bytes "
            f"apart, so several need one bank at the same time. Fix: {fix}.")
    return (f"{ways}-way bank conflict: several lanes need one bank at the same time. "
            f"Fix: {fix}.")


def of_line(line):
    alike = {}  # accesses with the same figures share their advice
    for access, counts in line.glob.items():
        if counts.ratio() >= WORTH:
            key = counts.per_request(), counts.ideal_per_request(), access in TMA
            alike.setdefault(key, []).append(access)
    for accesses in alike.values():
        waste = sum(line.glob[a].units - line.glob[a].ideal for a in accesses)
        text = of_sectors(accesses, line.glob[accesses[0]], line.worst)
        yield Advice(waste * SECTOR, text, line.file, line.line)
    for counts in line.shared.values():
        if counts.ratio() >= WORTH:
            waste = (counts.units - counts.ideal) * WAVEFRONT
            yield Advice(waste, of_conflicts(counts, line.worst), line.file, line.line)


def of_reads(buffer, kernel, l2):
    """Of a buffer that is read more than once."""
    waste = buffer.read - buffer.read_distinct
    text = (f"{buffer.name} is read {times_text(buffer.reads)} times: "
            f"{size(buffer.read)} where {size(buffer.read_distinct)} suffice.")
    kept = kernel.dram_read <= 1.05 * kernel.least_read
    if kept or buffer.read_distinct <= CACHED * l2:
        # L2 is several times as fast as DRAM.
        text += (" According to the model, each part is still in L2 when it is read "
                 "again: DRAM moves it once.")
        return Advice(waste / 4, text, buffer.file, buffer.line)
    text += " Fix: keep it in registers or shared memory between the passes."
    return Advice(waste, text, buffer.file, buffer.line)


def of_writes(buffer):
    text = (f"{buffer.name} is written {times_text(buffer.writes)} times: "
            f"{size(buffer.written)} where {size(buffer.written_distinct)} suffice. "
            "Fix: add up in a register, and write once.")
    waste = buffer.written - buffer.written_distinct
    return Advice(waste, text, buffer.file, buffer.line)


def of_buffer(buffer, kernel, l2):
    if buffer.reads >= WORTH:
        yield of_reads(buffer, kernel, l2)
    if buffer.writes >= WORTH:
        yield of_writes(buffer)


def of_kernel(kernel, l2):
    found = [a for line in kernel.lines for a in of_line(line)]
    found += [a for buffer in kernel.buffers for a in of_buffer(buffer, kernel, l2)]
    enough = WORTH_BYTES * (kernel.sum_of("global").bytes + kernel.sum_of("shared").bytes)
    return sorted((a for a in found if a.waste > enough), key=lambda a: -a.waste)
