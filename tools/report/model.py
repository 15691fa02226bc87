"""model.py - a check report (the JSON of check mode) as the text and the page need it:
findings grouped, counts of kernels and lines, lines of source, lower bounds of time.

Names, messages and source come from anyone's program. They become plain text here, and
the page escapes them."""
import json
import os
import stat
from pathlib import Path

from .counts import Kernel, summed
from .registers import entries_of
from .values import (Bad, count, number, place_text, plain, plural, rows, size, table,
                     triple)

SOURCE_BYTES, REPORT_BYTES = 2 << 20, 64 << 20
SOURCE_ENDS = (".cu", ".cuh", ".h", ".hpp", ".cpp", ".cc", ".c", ".inl")

# --- findings ---------------------------------------------------------------------------


class Finding:
    """All findings of one kind at one line: the first, and how many there are."""
    def __init__(self, entry):
        self.kind, self.file = plain(entry.get("kind")) or "?", plain(entry.get("file"))
        self.line = int(number(entry.get("line")))
        self.error = entry.get("severity") != "note"
        self.kernel, self.what = plain(entry.get("kernel")), plain(entry.get("what"))
        self.block, self.thread = triple(entry.get("block")), triple(entry.get("thread"))
        self.message, self.fix = plain(entry.get("message")), plain(entry.get("fix"))
        detail = entry.get("detail")
        self.detail = [plain(t) for t in detail.split("\n")
                       if t] if isinstance(detail, str) else []
        self.count, self.other, self.also = 0, None, []
        other = entry.get("other")
        if isinstance(other, dict) and other.get("file"):
            self.other = {
                "file": plain(other["file"]), "line": int(number(other.get("line"))),
                "block": triple(other.get("block")),
                "thread": triple(other.get("thread")),
                "access": plain(other.get("access"))
            }

    def add(self, entry, found):
        self.count += max(1, int(number(entry.get("count", 1))))
        place = found.other and (found.other["file"], found.other["line"])
        first = self.other and (self.other["file"], self.other["line"])
        if place and place != first and place not in self.also:
            self.also.append(place)

    def who(self):
        """Which thread it was, in words."""
        if not self.kernel:
            return "host code"
        parts = [f"kernel {self.kernel}"]
        if self.block:
            parts.append(f"block {self.block}")
        if self.thread:
            parts.append(f"thread {self.thread}")
        return ", ".join(parts)

    def with_whom(self):
        """The other access, in words: "block (0,0,0), thread (1,0,0) writes at"."""
        parts = [f"block {self.other['block']}"] if self.other["block"] else []
        parts += [f"thread {self.other['thread']}"] if self.other["thread"] else []
        who = ", ".join(parts)
        return f"{who} {self.other['access'] or 'is'} at".strip()

    def more(self):
        """"and 511 more", "also with sample.cu:21"."""
        parts = [f"and {count(self.count - 1)} more"] if self.count > 1 else []
        if self.also:
            places = [place_text(*place) for place in self.also[:4]]
            places += ["…"] if len(self.also) > 4 else []
            parts.append("also with " + ", ".join(places))
        return "; ".join(parts)


def grouped(entries):
    """Errors first; within them, in the order in which they were found."""
    groups = {}
    for entry in entries:
        found = Finding(entry)
        key = (found.error, found.kind, found.file, found.line)
        groups.setdefault(key, found).add(entry, found)
    return sorted(groups.values(), key=lambda f: not f.error)


# --- the GPU, and how fast a kernel can be at most --------------------------------------


class Gpu:
    def __init__(self, entry):
        entry = table(entry)
        self.name = plain(entry.get("label") or entry.get("name"))
        self.l2 = number(entry.get("l2_bytes"))
        self.copy = number(entry.get("copy_gb_s")) * 1e9
        self.measured = entry.get("measured") is True
        # One SM passes 4 sectors or one wavefront per clock through L1 and shared memory.
        self.clock = number(entry.get("sms")) * number(entry.get("clock_ghz")) * 1e9

    def described(self):
        if not self.copy:
            return self.name
        if self.measured:
            return f"{self.name}: copy bandwidth {size(self.copy)}/s, measured"
        return f"{self.name}: memory bandwidth {size(self.copy)}/s, from its data sheet"


class Bounds:
    """Lower bounds of a kernel's time, in seconds; 0: unknown."""
    def __init__(self, kernel, gpu):
        self.dram = kernel.dram / gpu.copy if gpu.copy else 0.0
        self.least = kernel.least / gpu.copy if gpu.copy else 0.0
        passes = sum(c.units / 4 for a, c in kernel.glob.items() if a != "atomic")
        passes += sum(c.units for a, c in kernel.shared.items() if a != "atomic")
        self.chip = passes / gpu.clock if gpu.clock else 0.0
        self.time = max(self.dram, self.chip)
        self.limit = "L1 and shared memory" if self.chip > self.dram else "DRAM"
        # useful bytes of those that DRAM moves, and useful bytes per second at most
        self.useful = min(1.0, kernel.least / kernel.dram) if kernel.dram else 1.0
        self.speed = kernel.least / self.time if self.time else 0.0
        self.ceiling = kernel.least / self.chip if self.chip else 0.0


# --- source -----------------------------------------------------------------------------


class Sources:
    """Lines of the files that a report names. Only sources inside the given folders are
    read: a report may name any file."""
    def __init__(self, folders):
        self.folders = [Path(f).resolve() for f in folders]
        self.known = {}

    def find(self, file):
        for folder in self.folders:
            for path in (folder / file, folder / os.path.basename(file)):
                try:
                    path = path.resolve()
                    inside = any(path.is_relative_to(f) for f in self.folders)
                    named = path.suffix in SOURCE_ENDS
                    if inside and named and stat.S_ISREG(path.stat().st_mode):
                        return path
                except (OSError, ValueError, RuntimeError):
                    continue
        return None

    def lines(self, file):
        if file not in self.known:
            path = self.find(file) if file and file != "?" else None
            text = ""
            if path and path.stat().st_size <= SOURCE_BYTES:
                text = path.read_bytes().decode("utf-8", "backslashreplace")
            lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
            self.known[file] = [plain(line) for line in lines]
        return self.known[file]

    def line(self, file, n):
        """Without its indentation; "" if unknown."""
        lines = self.lines(file)
        return lines[n - 1].strip() if 0 < n <= len(lines) else ""


# --- the whole --------------------------------------------------------------------------


class Report:
    def __init__(self, data, folders):
        if not isinstance(data, dict) or not isinstance(data.get("findings", []), list):
            raise Bad("is not a report of check mode")
        data = with_short_names(data, [os.path.abspath(f) for f in folders])
        self.program = plain(data.get("program")) or "a program"
        self.findings = grouped(rows(data.get("findings")))
        self.errors = sum(f.error for f in self.findings)
        self.notes = len(self.findings) - self.errors
        self.gpu = Gpu(data.get("gpu"))
        registers = entries_of(data.get("ptxas"))
        self.kernels = [Kernel(k, registers) for k in rows(data.get("kernels"))]
        self.sources = Sources(folders)

    def files(self):
        """{file: {line: Line}} of everything that is counted, summed over the kernels."""
        found = {f.file: {} for f in self.findings}
        for line in summed(line for kernel in self.kernels for line in kernel.lines):
            found.setdefault(line.file, {})[line.line] = line
        return {f: lines for f, lines in found.items() if f and f != "?"}

    def verdict(self):
        if not self.findings:
            return "no findings"
        parts = [plural(self.errors, "error")] if self.errors else []
        return ", ".join(parts + ([plural(self.notes, "note")] if self.notes else []))


def with_short_names(data, folders):
    """Files below a folder are named from there."""
    if isinstance(data, list):
        return [with_short_names(value, folders) for value in data]
    if not isinstance(data, dict):
        return data
    data = {key: with_short_names(value, folders) for key, value in data.items()}
    file = data.get("file")
    if isinstance(file, str) and os.path.isabs(file):
        path = os.path.normpath(file)
        below = (f.rstrip("/") + "/" for f in folders)
        data["file"] = next((path[len(f):] for f in below if path.startswith(f)), path)
    return data


def load(path, folders):
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read(REPORT_BYTES + 1)
        if len(text) > REPORT_BYTES:
            raise Bad(f"is larger than {REPORT_BYTES >> 20} MB")
        data = json.loads(text)
        return Report(data, folders)
    except OSError as e:
        raise Bad(f"{plain(path)}: {e.strerror}") from None
    except (ValueError, RecursionError):
        raise Bad(f"{plain(path)} is not JSON: did the program end before it could write "
                  "its report?") from None
    except Bad as e:
        raise Bad(f"{plain(path)} {e}") from None
