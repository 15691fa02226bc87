"""compiling.py - compiles the sources of a lab, each to assembly and an object, side by side
and inside the sandbox."""
import concurrent.futures
import contextlib
import os
import sys
from pathlib import Path

from confine import ROOT, Stopped
from submission import printable

WRITTEN_MB = 1024  # of all files of a build
JOBS = 4  # compilers at the same time: each may take the memory that confine.py allows


def stems(source, name):
    return source.made / Path(name).name.removesuffix(".cu")


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
             *maps, "-include", ROOT / "common/cpu/include/cuda_runtime.h", *depends,
             "-x", "c++", "-S",
             source.made / (Path(name).name + ".cpp"), "-o", f"{stem}.s"],
            [settings.compile[0], "-c", f"{stem}.s", "-o", f"{stem}.o"]]


def compile_one(source, settings, sandbox, name):
    """Compiles one source. Returns what the compiler said; raises Stopped if it fails."""
    said = ""
    for command in steps(source, settings, name):
        code, text = sandbox.run(*command)
        said += text
        check_written(source)
        if code == 0:
            continue
        if "Permission denied" in text:
            text += ("a lab may include its own files, the labs' headers, common/ and the "
                     "system's headers\n")
        shown = name if source.trusted else printable(source.files[source.names.index(name)][0])
        why = f"{source.lab}: {shown} does not compile: fix the first error above"
        if code in (124, 128 + 9, 128 + 24) or "signal terminated program" in text:
            why = f"{source.lab}: compiling {shown} takes too long or too much memory: stopped"
        raise Stopped(said[:-len(text)] + text + why if text not in said else said + why)
    return said


def compile_all(source, settings, sandbox):
    """Compiles the sources side by side and prints what the compilers said."""
    failed = []
    with concurrent.futures.ThreadPoolExecutor(min(JOBS, os.cpu_count())) as pool:
        jobs = [pool.submit(compile_one, source, settings, sandbox, n) for n in source.sources]
        for job in jobs:
            try:
                sys.stderr.write(job.result())
            except Stopped as e:
                failed.append(str(e))
                pool.shutdown(wait=False, cancel_futures=True)
            except concurrent.futures.CancelledError:
                pass
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
