"""confine.py - runs compilers and linkers on sources that are not trusted, inside the
sandbox (build/host/sandboxed), with limits of time, memory and file size."""
import contextlib
import functools
import math
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import labkit
from submission import printable

ROOT = Path.cwd()
SANDBOXED = ROOT / "build/host/sandboxed"
# Limits of one program: CPU seconds and MB. The largest source of a solution takes 15 s
# and 1 GB on the CPU back end, and minutes with nvcc. BUILD_SECONDS and BUILD_MEMORY
# change these limits, TIMEOUT_SCALE multiplies the time.
LIMITS = {"cpu": (200, 4096), "cuda": (900, 24576)}
FILE_MB = 192  # of any file that a program writes


class Stopped(Exception):
    """A program failed, or was stopped: one line for the learner."""


def timeout_scale():
    word = os.environ.get("TIMEOUT_SCALE") or "1"
    with contextlib.suppress(ValueError):
        if 0 < float(word) <= 1000:
            return float(word)
    raise Stopped(f"TIMEOUT_SCALE {printable(word)}: expected a number above 0, at most 1000")


def limits(backend):
    """(CPU seconds, MB) of one program."""
    given = [os.environ.get(name) or str(default) for name, default in
             zip(("BUILD_SECONDS", "BUILD_MEMORY"), LIMITS[backend])]
    for word in given:
        if not re.fullmatch("[1-9][0-9]{0,7}", word):
            raise Stopped(f"BUILD_SECONDS or BUILD_MEMORY: {printable(word)} is not a whole "
                          "number above 0")
    seconds, memory = map(int, given)
    return math.ceil(seconds * timeout_scale()), memory


def lab_headers():
    """The headers of all labs, which every lab may include."""
    return [*ROOT.glob("labs/*/*.h"), *ROOT.glob("labs/*/*.cuh")]


def prefixes(*programs):
    """The folders of compilers that are installed outside the system's own: /opt/gcc for
    /opt/gcc/bin/g++."""
    found = {os.path.dirname(os.path.dirname(os.path.realpath(path)))
             for path in map(shutil.which, programs) if path}
    return found - {"/", "/usr", "/usr/local"}


@functools.cache
def describe():
    return subprocess.run([SANDBOXED, "--describe"], capture_output=True, text=True)


class Sandbox:
    def __init__(self, source, settings, allow_none):
        told = describe()
        self.described = told.stdout.strip() if told.returncode == 0 else "off"
        if told.returncode and not (source.trusted or allow_none):
            raise Stopped("this system cannot confine the compiler "
                          f"({told.stdout.strip()}): build a stranger's code only in a "
                          "virtual machine or container, with --no-sandbox "
                          "(make: SANDBOX=off)")
        tools = prefixes(settings.compile[0], settings.link[0], settings.cc[0],
                         labkit.LD, labkit.OBJCOPY, "c++filt")
        begins = [path for begins in settings.begins for path in (begins, begins + ".gch")
                  if os.path.exists(path)]
        reads = [source.src, ROOT / "common", *lab_headers(), *settings.reads, *begins,
                 *sorted(tools)]
        self.seconds, memory = limits(settings.backend)
        self.deadline = time.monotonic() + 5 * self.seconds  # for everything
        self.command = [str(SANDBOXED), "--compiler", "--write", str(source.made),
                        *(word for path in reads for word in ("--read", str(path))),
                        "--cpu", str(self.seconds), "--memory", str(memory),
                        "--file", str(FILE_MB)]
        if told.returncode:
            self.command.append("--no-sandbox")
        self.folder, self.made = source.src, source.made

    def run(self, *command, reads=()):
        """(exit code, output and messages) of a program."""
        left = min(2 * self.seconds, int(self.deadline - time.monotonic()))
        if left < 1:
            raise Stopped(f"building takes longer than {5 * self.seconds} s: stopped")
        more = ["--seconds", str(left)]
        more += [word for path in reads for word in ("--read", str(path))]
        with subprocess.Popen(
                [*self.command, *more, *map(str, command)], cwd=self.folder,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT) as process:
            said = process.stdout.read(1 << 20)
            while process.stdout.read(1 << 20):
                pass
        return process.returncode, self.clean(said.decode(errors="backslashreplace"))

    def clean(self, text):
        """Messages without control characters, and with paths as the learner knows them.
        A file name set by #line can contain line breaks, so every line that looks like
        the grader's gets a prefix."""
        for folder in (self.folder, self.made, ROOT):
            text = text.replace(f"{folder}/", "")
        text = re.sub(r"(?m)^(?===|Score|seed|contract breach)", ": ", text)
        return "".join(c if c.isprintable() or c in "\n\t" else "." for c in text)

    def tool(self, *command, reads=()):
        """Runs a tool that must succeed on compiler output; returns what it printed."""
        code, said = self.run(*command, reads=reads)
        if code:
            raise Stopped(f"{os.path.basename(command[0])} failed: {said.strip()[:400]}")
        return said
