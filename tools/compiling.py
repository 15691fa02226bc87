"""compiling.py - compiles a source of the CPU back end; the sources of a lab, each to
assembly and an object, several at a time and inside the sandbox.

What the learner's own lab compiles to is kept in build/<backend>/labs/lab05.kept, so that an
edit compiles one file again. Nothing of another source is ever kept or taken from there."""
import concurrent.futures
import contextlib
import hashlib
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import diagnostics
import labkit
import red_zones
from confine import ROOT, Stopped, lab_headers
from submission import printable

WRITTEN_MB = 1024  # of all files of a build
JOBS = 4  # compilers at the same time: each may take the memory that confine.py allows


class Settings:
    """How to compile: build/<backend>/labs/settings, written by make. A line per
    setting."""

    def __init__(self, build):
        for line in Path(build, "labs/settings").read_text().splitlines():
            key, _, value = line.partition(": ")
            setattr(self, key, [self.absolute(word) for word in shlex.split(value)])
        self.backend = self.backend[0]
        self.checked = "-DWBCPU_CHECKED" in self.compile
        self.red_zones = "-DWBCPU_RED_ZONES" in self.compile

    @staticmethod
    def absolute(word):
        """Compilers run in another folder."""
        option = "-I" if word.startswith("-I") else ""
        path = ROOT / word[len(option):]
        return option + str(path) if path.exists() and word[len(option):] else word


BACK_END = ROOT / "common/cpu/include"


def compile_cpu(run, settings, name, made, includes, options=()):
    """Translates a source and compiles it to made/stem.s and made/stem.o; run executes a
    command, and raises an exception if it fails."""
    stem = f"{made}/{Path(name).stem}"
    run([*settings.translate, name, f"{made}/", *includes, "-d", f"{stem}.o"])
    begins = settings.begins or [BACK_END / "cuda_runtime.h"]
    run([*settings.compile, *includes, "-iquote", os.path.dirname(name) or ".",
         "-include", *begins, *options, "-x", "c++", "-S",
         f"{made}/{Path(name).name}.cpp", "-o", f"{stem}.s"])
    if settings.red_zones:
        red_zones.add(f"{stem}.s", settings.checked)
    run([settings.compile[0], "-c", f"{stem}.s", "-o", f"{stem}.o"])
    if settings.copies:
        run([*settings.copies, f"{stem}.o"])


# --- the sources of a lab ---------------------------------------------------------------


def stems(source, name):
    return source.made / Path(name).name.removesuffix(".cu")


# Of the device layer; instead of one with a launch, which is translated, what it includes
USES_BACK_END = {"cuda/fold.cuh", "cuda/lanes.cuh", "cuda/mma.cuh", "cuda/mbarrier.cuh",
                 "cuda/tma.cuh", "cuda/wgmma.cuh"}
INSTEAD = {"cuda/hopper.cuh": ("cuda/tma.cuh", "cuda/wgmma.cuh"),
           "cuda/cluster.cuh": ("cuda/mbarrier.cuh",)}
TOOLKIT = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([\w./]+)[>"]', re.MULTILINE)


def graded(source, name):
    """Options for a source from elsewhere, which must not use the names that graded.h
    forbids. Headers of the back end, and some of the device layer, may: they come
    first."""
    text = "".join(Path(source.src, n).read_text(errors="replace") for n in source.names
                   if n == name or not n.endswith(".cu"))
    found = [BACK_END / "cuda_runtime.h"]
    named = TOOLKIT.findall(text)
    for header in named:  # grows: a header that comes with the lab names others
        given = ROOT / "labs" / source.folder / header
        if ".." not in header and given.is_file():
            named += [n for n in TOOLKIT.findall(given.read_text()) if n not in named]
    for header in [one for name in named for one in INSTEAD.get(name, (name,))]:
        folder = ROOT / "common" if header in USES_BACK_END else BACK_END
        if ".." not in header and (folder / header).is_file():
            found.append(folder / header)
    found.append(BACK_END / "wbcpu/graded.h")
    return [word for header in dict.fromkeys(found) for word in ("-include", header)]


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
    said = []

    def run(command):
        code, text = sandbox.run(*command)
        said.append(diagnostics.shorten(text, lambda file: file in source.names))
        check_written(source)
        if code:
            raise Stopped("".join(said) + why_stopped(source, name, code, text))

    stem = stems(source, name)
    where = os.path.dirname(os.path.abspath(source.files[0][0]))
    options = [f"-ffile-prefix-map={source.src}={ROOT if source.trusted else where}",
               f"-ffile-prefix-map={source.made}=build"]
    depends = ["-MMD", "-MP", "-MF", f"{stem}.d", "-MT", f"{stem}.o"]
    if settings.backend == "cuda":
        kept = [f"-Xcompiler={option}" for option in [*options, "-save-temps=obj"]]
        run([*settings.compile, *settings.includes, *depends, *kept, "-c", name,
             "-o", f"{stem}.o"])
    else:
        compile_cpu(run, settings, name, source.made, settings.includes,
                    [*options, *depends, *([] if source.trusted else graded(source, name))])
    return "".join(said)


def why_stopped(source, name, code, text):
    shown = name if source.trusted else printable(source.files[source.names.index(name)][0])
    if code in (124, 128 + 9, 128 + 24) or "signal terminated program" in text:
        return f"{source.lab}: compiling {shown} takes too long or too much memory: stopped"
    why = f"{source.lab}: {shown} does not compile: fix the first error above"
    if "Permission denied" in text:
        why = ("a lab may include its own files, the labs' headers, common/ and the "
               f"system's headers\n{why}")
    return why


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
    """Files of the workbook that a source was compiled from, without the header that each
    source begins with (mk/labs.mk): while another make replaces its compiled form, g++
    reads it as text."""
    found, outside = set(), ("..", "common/cpu/", "build/host/begins/")
    for path in (f"{stems(source, name)}.d", source.made / f"{Path(name).name}.headers.d"):
        if not os.path.exists(path):
            continue
        rule = Path(path).read_text(errors="replace").replace("\\\n", " ").split("\n")[0]
        for word in rule.partition(": ")[2].split():
            path = os.path.relpath(os.path.normpath(os.path.join(source.src, word)), ROOT)
            if not path.startswith(outside) and os.path.isfile(path):
                found.add(path)
    return found
