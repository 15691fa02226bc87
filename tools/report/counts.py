"""counts.py - what kernels and lines of source ask of the memory system."""
from .values import number, plain, rows, table, triple

ACCESSES = ("read", "write", "atomic", "async", "tma_load", "tma_store")
SECTOR = 32  # bytes


class Counts:
    """Requests of one kind: `units` are sectors (global) or wavefronts (shared)."""
    def __init__(self, entry=None, shared=False):
        entry = table(entry)
        self.shared = shared
        self.requests = number(entry.get("requests"))
        self.units = number(entry.get("wavefronts" if shared else "sectors"))
        self.ideal = number(entry.get("ideal"))
        self.bytes = number(entry.get("bytes"))

    def add(self, other):
        self.requests += other.requests
        self.units += other.units
        self.ideal += other.ideal
        self.bytes += other.bytes

    def per_request(self):
        return self.units / self.requests if self.requests else 0.0

    def ideal_per_request(self):
        return self.ideal / self.requests if self.requests else 0.0

    def ratio(self):
        """How many times the ideal; for shared memory: an n-way conflict."""
        return self.units / self.ideal if self.ideal else 1.0

    def moved(self):
        return self.units * SECTOR


def by_access(entry, shared):
    found = {
        a: Counts(entry.get(a), shared)
        for a in ACCESSES if isinstance(entry.get(a), dict)
    }
    return {a: c for a, c in found.items() if c.requests}


def collectives_of(entry):
    """{"shuffle": 24, ...}, without what did not happen"""
    return {plain(k): number(v)
            for k, v in table(entry.get("collectives")).items() if number(v)}


def title(space, access):
    name = access.replace("tma_", "TMA ")
    return name if space == "global" else f"shared {name}"


class Line:
    """What the accesses of one line of source ask for."""
    def __init__(self, entry):
        self.file, self.line = plain(entry.get("file")), int(number(entry.get("line")))
        self.glob = by_access(table(entry.get("global")), False)
        self.shared = by_access(table(entry.get("shared")), True)
        self.barriers = number(entry.get("barriers"))
        self.collectives = collectives_of(entry)
        self.worst = Worst.of(entry.get("worst"))

    def counts(self):
        """[("global", "read", Counts), ...]"""
        return [(space, access, of[access])
                for space, of in (("global", self.glob), ("shared", self.shared))
                for access in ACCESSES if access in of]

    def events(self):
        """[("barrier", how often), ("shuffle", how often), ...]"""
        barriers = [("barrier", self.barriers)] if self.barriers else []
        return barriers + list(self.collectives.items())

    def add(self, other):
        for mine, its in ((self.glob, other.glob), (self.shared, other.shared)):
            for access, counts in its.items():
                mine.setdefault(access, Counts(shared=counts.shared)).add(counts)
        self.barriers += other.barriers
        for name, n in other.collectives.items():
            self.collectives[name] = self.collectives.get(name, 0) + n
        if other.worst and (not self.worst or other.worst.ratio() > self.worst.ratio()):
            self.worst = other.worst


def summed(lines):
    """One for each line of source, in the order of the source."""
    found = {}
    for line in lines:
        place = line.file, line.line
        if place not in found:
            found[place] = Line({"file": line.file, "line": line.line})
        found[place].add(line)
    return [found[place] for place in sorted(found)]


class Worst:
    """The request with the most sectors or wavefronts compared with its ideal."""
    @staticmethod
    def of(entry):
        lanes = table(entry).get("lanes")
        if not isinstance(lanes, list) or not lanes or len(lanes) > 32:
            return None
        worst = Worst()
        worst.shared = entry.get("space") == "shared"
        worst.access = plain(entry.get("access"))
        worst.bytes = int(number(entry.get("bytes"))) or 4
        worst.lanes = [None if v is None else int(number(v)) for v in lanes]
        worst.units = int(number(entry.get("wavefronts", entry.get("sectors"))))
        worst.ideal = int(number(entry.get("ideal")))
        fits = all(v is None or v < 1 << 40 for v in worst.lanes) and worst.bytes <= 16
        return worst if worst.active() and fits else None

    def active(self):
        """[(lane, offset)] of the lanes that take part."""
        return [(lane, at) for lane, at in enumerate(self.lanes) if at is not None]

    def ratio(self):
        return self.units / self.ideal if self.ideal else 1.0

    def stride(self):
        """Bytes from a lane to the next, if all are equally far apart; otherwise None."""
        active = self.active()
        steps = {(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(active, active[1:])}
        return steps.pop() if len(steps) == 1 else None

    def gaps(self):
        """Are there lanes between the active ones that do not take part?"""
        active = self.active()
        return active[-1][0] - active[0][0] >= len(active)


class Buffer:
    def __init__(self, entry):
        self.name = plain(entry.get("name")) or "a buffer"
        self.bytes, self.file = number(entry.get("bytes")), plain(entry.get("file"))
        self.line = int(number(entry.get("line")))
        self.read = number(entry.get("read_bytes"))
        self.read_distinct = number(entry.get("read_distinct"))
        self.written = number(entry.get("written_bytes"))
        self.written_distinct = number(entry.get("written_distinct"))
        self.reads = self.read / max(1, self.read_distinct)
        self.writes = self.written / max(1, self.written_distinct)


class Kernel:
    """One kernel, summed over its launches."""
    def __init__(self, entry, registers):
        self.name = plain(entry.get("name")) or "?"
        self.file, self.line = plain(entry.get("file")), int(number(entry.get("line")))
        self.launches = int(number(entry.get("launches")))
        self.grid, self.block = triple(entry.get("grid")), triple(entry.get("block"))
        self.threads = 1
        for n in entry.get("block") if self.block else ():
            self.threads *= int(number(n))
        self.shared_bytes = number(entry.get("shared_bytes"))
        self.blocks, self.warps = number(entry.get("blocks")), number(entry.get("warps"))
        self.barriers = number(entry.get("barriers"))
        self.collectives = collectives_of(entry)
        self.glob = by_access(table(entry.get("global")), False)
        self.shared = by_access(table(entry.get("shared")), True)
        dram, least = table(entry.get("dram")), table(entry.get("least"))
        self.dram_read = number(dram.get("read"))
        self.least_read = number(least.get("read"))
        self.dram_written = number(dram.get("written"))
        self.least_written = number(least.get("written"))
        self.dram = self.dram_read + self.dram_written
        self.least = self.least_read + self.least_written
        self.model = plain(dram.get("model"))
        self.buffers = [Buffer(b) for b in rows(entry.get("buffers"))]
        self.lines = summed(Line(e) for e in rows(entry.get("lines")))
        # what ptxas says: a template has several instances, which may differ
        compiled = (c.described(self) for c in registers(self.name))
        self.compiled = list(dict.fromkeys(compiled))

    def sum_of(self, space):
        """All requests to global or shared memory."""
        both = Counts(shared=space == "shared")
        for counts in (self.glob if space == "global" else self.shared).values():
            both.add(counts)
        return both
