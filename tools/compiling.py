"""compiling.py - compiles the sources of a lab, each to assembly and an object, several at
a time and inside the sandbox.

What the learner's own lab compiles to is kept in build/<backend>/labs/lab05.kept, so that an
edit compiles one file again. Nothing of another source is ever kept or taken from there."""
import concurrent.futures
import contextlib
import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

import labkit
import red_zones
from confine import ROOT, Stopped, lab_headers
from submission import printable

WRITTEN_MB = 1024  # of all files of a build
JOBS = 4  # compilers at the same time: each may take the memory that confine.py allows


def stems(source, name):
    return source.made / Path(name).name.removesuffix(".cu")


BACK_END = ROOT / "common/cpu/include"
# Headers with functions that check mode leaves out, and what includes them.
UNCHECKED = ((BACK_END / "mma.h", re.compile(r"\bmma\.(h|cuh)\b")),
             (ROOT / "common/cuda/mma.cuh", re.compile(r"\bmma\.cuh\b")))


def first_includes(source):
    """What is included before the first line, as by nvcc. A source from elsewhere gets
    graded.h too, after everything that needs the names which that forbids."""
    found = [BACK_END / "cuda_runtime.h"]
    if not source.trusted:
        text = "".join(to.read_text(errors="replace") for _, to in source.files)
        found += [header for header, known in UNCHECKED if known.search(text)]
        found.append(BACK_END / "wbcpu/graded.h")
    return [word for header in found for word in ("-include", header)]


def steps(source, settings, name):
    """The commands that make the assembly and the object of one source."""
    stem = stems(source, name)
    where = os.path.dirname(os.path.abspath(source.files[0][0]))
    maps = [f"-ffile-prefix-map={source.src}={ROOT if source.trusted else where}",
            f"-ffile-prefix-map={source.made}=build"]
    depends = ["-MMD", "-MP", "-MF", f"{stem}.d", "-MT", f"{stem}.o"]
    if settings.backend == "cuda":
        kept = [f"-Xcompiler={m}" for m in [*maps, "-save-temps=obj"]]
        return [[*settings.compile, *settings.includes, *depends, *kept, "-c", name,
                 "-o", f"{stem}.o"]]
    return [[*settings.translate, name, f"{source.made}/", *settings.includes,
             "-d", f"{stem}.o"],
            [*settings.compile, *settings.includes, "-iquote", os.path.dirname(name) or ".",
             *maps, *first_includes(source), *depends,
             "-x", "c++", "-S",
             source.made / (Path(name).name + ".cpp"), "-o", f"{stem}.s"],
            [settings.compile[0], "-c", f"{stem}.s", "-o", f"{stem}.o"]]


class Kept:
    """What the sources of the learner's own lab compiled to, by a hash of everything that
    they are compiled from."""

    def __init__(self, source, settings, out):
        self.folder = Path(out, "labs", source.lab + (".check" if settings.checked else "")
                           + ".kept")
        self.source, self.used = source, set()
        headers = [*ROOT.glob("common/**/*.h"), *ROOT.glob("common/**/*.cuh"),
                   *lab_headers(),
                   *(to for _, to in source.files if to.suffix != ".cu")]
        compiler = shutil.which(settings.compile[0]) or "/"
        self.base = repr([vars(settings), os.stat(compiler).st_mtime, compiler,
                          [(p.name, labkit.sha256(p)) for p in sorted(headers)],
                          [labkit.sha256(p) for p in settings.translate if os.path.isfile(p)]])

    def place(self, name):
        """Where the results of a source are, or will be."""
        text = Path(self.source.src, name).read_bytes()
        key = hashlib.sha256(f"{name}\n{self.base}\n".encode() + text).hexdigest()
        self.used.add(key)
        return self.folder / key

    def files(self, name):
        stem = stems(self.source, name)
        return [Path(f"{stem}{end}") for end in (".o", ".s", ".d")] + [
            self.source.made / f"{Path(name).name}.headers.d"]

    def take(self, name):
        """What the compiler said when it compiled this; None: it did not yet."""
        place = self.place(name)
        if not (place / "said").exists():
            return None
        for path in self.files(name):
            if (place / path.name).exists():
                shutil.copy(place / path.name, path)
        return (place / "said").read_text()

    def put(self, name, said):
        place = self.place(name)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for path in self.files(name):
            if path.exists():
                shutil.copy(path, place)
        (place / "said").write_text(said)  # last: it shows that all is here

    def forget_others(self):
        for place in self.folder.glob("*"):
            if place.name not in self.used:
                shutil.rmtree(place, ignore_errors=True)


def compile_or_take(source, settings, sandbox, kept, name):
    said = kept.take(name) if kept else None
    if said is None:
        said = compile_one(source, settings, sandbox, name)
        if kept:
            kept.put(name, said)
    return said


def compile_one(source, settings, sandbox, name):
    """Compiles one source. Returns what the compiler said; raises Stopped if it fails."""
    said = ""
    for command in steps(source, settings, name):
        code, text = sandbox.run(*command)
        said += text
        check_written(source)
        if code == 0:
            if "-S" in command and "-DWBCPU_RED_ZONES" in command:
                red_zones.add(f"{stems(source, name)}.s")
            continue
        if "Permission denied" in text:
            said += ("a lab may include its own files, the labs' headers, common/ and the "
                     "system's headers\n")
        shown = name if source.trusted else printable(source.files[source.names.index(name)][0])
        why = f"{source.lab}: {shown} does not compile: fix the first error above"
        if code in (124, 128 + 9, 128 + 24) or "signal terminated program" in text:
            why = f"{source.lab}: compiling {shown} takes too long or too much memory: stopped"
        raise Stopped(said + why)
    return said


def compile_all(source, settings, sandbox, out):
    """Compiles several sources at a time and prints what the compilers said."""
    failed, kept = [], Kept(source, settings, out) if source.own else None
    with concurrent.futures.ThreadPoolExecutor(min(JOBS, os.cpu_count())) as pool:
        jobs = [pool.submit(compile_or_take, source, settings, sandbox, kept, name)
                for name in source.sources]
        for job in jobs:
            try:
                sys.stderr.write(job.result())
            except Stopped as e:
                failed.append(str(e))
                pool.shutdown(wait=False, cancel_futures=True)
            except concurrent.futures.CancelledError:
                pass
    if kept:
        kept.forget_others()
    if failed:
        raise Stopped("\n".join(dict.fromkeys(failed)))


def check_written(source):
    written = 0
    for path in source.made.rglob("*"):
        with contextlib.suppress(OSError):  # another compiler has removed it
            written += path.lstat().st_size
    if written > WRITTEN_MB << 20:
        raise Stopped(f"{source.shown} compiles to more than {WRITTEN_MB} MB: "
                      "is there a very large array or table?")


def included(source, name):
    """Files of the workbook that a source was compiled from."""
    found = set()
    for path in (f"{stems(source, name)}.d", source.made / f"{Path(name).name}.headers.d"):
        if not os.path.exists(path):
            continue
        rule = Path(path).read_text(errors="replace").replace("\\\n", " ").split("\n")[0]
        for word in rule.partition(": ")[2].split():
            path = os.path.relpath(os.path.normpath(os.path.join(source.src, word)), ROOT)
            if not path.startswith(("..", "common/cpu/")) and os.path.isfile(path):
                found.add(path)
    return found
