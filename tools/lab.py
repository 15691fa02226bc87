"""lab.py - builds the executable of one lab from a learner's sources, inside the sandbox.

    FILE=path lab.py lab03 --build build/cpu [--from labs] [--out build/cpu]

make calls it, and so does tools/grade_submission. BUILD contains the back end, the
harness and the compiler settings (labs/settings). OUT gets the executable labs/lab03, its
record labs/lab03.json and labs/lab03.lock. Without FILE the sources are
FROM/lab03_rmsnorm.

The sources are copied into a private folder (submission.py), translated, compiled and
checked (scan.py); what the contract declares is isolated (labkit.py) and linked with the
grader's harness. Every program that reads them runs in build/host/sandboxed: it reads the
compiler, the system's headers, common/, the labs' headers and this folder, and has limits
of memory, file size and time. An older executable is removed first, so that none is
graded in its place.

The record:
    lab, backend      lab03_rmsnorm, cpu
    source            what was asked for: labs/lab03_rmsnorm, submission.cu, ...
    own               true if the source is the lab's folder: only then can a pass count
    trusted           true if the source is a part of this workbook
    sandbox           what the build ran in
    sources           the .cu files
    files             {path: sha256} of sources, their includes, common/cuda, header, cases and
                      grader: the build is stale when one of them changes
    program           sha256 of the executable
    check             sha256 of labs/lab03.check, the same sources in check mode; or null
    inputs            sha256 of everything that the build read; equal: nothing is to be built
    defined, missing  functions of the header
    breaches          [{symbol, why}]: what a launcher must not use or contain
    threads_meet      whether the sources use shared memory, barriers or shuffles: if not,
                      no message speaks of them
    halves            whether they name a 16-bit type for a variable or a conversion
The grader's receipt, build/<backend>/passed/lab03.json, has lab, files (as here) and
functions: those whose cases have all passed."""
import argparse
import concurrent.futures
import contextlib
import copy
import fcntl
import hashlib
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import elf
import labkit
import scan
import submission
from compiling import Settings, compile_all, included, stems
from confine import ROOT, SANDBOXED, Sandbox, Stopped
from submission import printable

OFFERED = {"wb_status_name", "wb_fail"}  # of wb.h
CHECK_BUILD = "build/check"  # the library, harness and settings of check mode
CHECKED_MB = 192  # of the assembly and objects that are checked; lab 06 with nvcc has 121
MANY, LONGEST = 50, 200  # breaches that are told, letters of a name in them


class Source:
    """What is to be built: a lab's folder, or a file or folder in its place."""

    def __init__(self, lab, origin, file):
        self.lab = lab
        self.folder = labkit.lab_folder(lab)
        self.asked = file or f"{origin}/{self.folder}"
        given = os.path.relpath(os.path.abspath(self.asked), ROOT)
        self.trusted = given.startswith(("labs/", "solutions/"))
        self.own = given == f"labs/{self.folder}"
        inside = os.path.join(self.asked, "labs", self.folder)
        if file and os.path.isdir(inside):  # a whole tree was handed in
            for path in (self.asked, os.path.dirname(inside)):
                submission.refuse_link(path)
            self.asked, self.trusted, self.own = inside, False, False
        self.shown = printable(self.asked)
        # Messages of the compiler name a file of the workbook as learners know it.
        is_folder = os.path.isdir(self.asked)
        self.place = (given if is_folder else os.path.dirname(given)) if self.trusted else "."

    def copy(self, private):
        self.src, self.made = private / "src", private / "made"
        self.made.mkdir()
        (private / "check").mkdir()
        self.files = submission.copy(self.asked, self.src / self.place, self.trusted)
        self.names = [str(to.relative_to(self.src)) for _, to in self.files]
        self.sources = [n for n in self.names if n.endswith(".cu")]

    def in_check_mode(self):
        """The same sources, compiled into another folder."""
        other = copy.copy(self)
        other.made = self.made.parent / "check"
        return other


def lock(out, lab):
    """Held until this program ends, so that no grade starts a half-written program."""
    path = Path(out, "labs", lab + ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    started, said = time.monotonic(), False
    while True:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return os.utime(held)  # for ./grade, which takes the latest build
        except BlockingIOError:
            if not said and time.monotonic() - started > 1:
                print(f"{lab}: waiting for another make or ./grade in {out}", file=sys.stderr)
                said = True
            time.sleep(0.05)


# --- checking -------------------------------------------------------------------------------

def not_matching(functions, names, source):
    """A contract function that is defined with other arguments, or without including its
    header, has a C++ name. Linking would only report it as missing."""
    for name in names:
        mangled = re.match(r"_Z(\d{1,3})(\w+)", name)
        function = mangled and mangled[2][: int(mangled[1])]
        if function in functions:
            raise Stopped(
                f"{function} in {source.shown} is not the function of the header: "
                "include the header, and use exactly the header's arguments")


# With AddressSanitizer every object registers its global variables before main.
SANITIZER_START = re.compile(r"_sub_[DI]_\d{5}_\d")
MEETING = re.compile(r"__shared__|__sync|__shfl|__(?:ballot|any|all|match|reduce)_\w*sync"
                     r"|cooperative_groups|wmma|__pipeline")


# Not wb_f16 as the argument of a template or macro: every lab has that.
HALF = re.compile(r"__half|half2|\bhalf\b|__nv_bfloat|float2(?:half|bfloat)"
                  r"|\bwb_b?f16\s*[\w(*)]")


def mention(source, pattern):
    texts = (to.read_text(errors="replace") for _, to in source.files)
    return any(pattern.search(labkit.COMMENT.sub(" ", text)) for text in texts)


def too_long(*_):
    raise Stopped("checking the compiled code takes too long: stopped")


def check_sizes(source):
    made = [path for path in source.made.iterdir() if path.suffix in (".s", ".o")]
    largest = max(made, key=lambda path: path.stat().st_size)
    if sum(path.stat().st_size for path in made) > CHECKED_MB << 20:
        raise Stopped(f"{source.shown} compiles to more than {CHECKED_MB} MB, most of it "
                      f"{largest.stem}: is there a very large array or table?")


def check(source, settings, sandbox, functions):
    """(functions that are defined, breaches, included files of the workbook)"""
    check_sizes(source)
    try:
        objects = [elf.read(f"{stems(source, n)}.o") for n in source.sources]
    except elf.Damaged as e:
        raise Stopped(str(e)) from None
    names = set().union(*(o.exported() for o in objects))
    not_matching(functions, names - set(functions), source)
    if not names & set(functions):
        raise Stopped(f"{source.shown} defines no function of labs/{source.folder}: "
                      "is it the right file?")
    grader = labkit.exported(*settings.harness, adapter(settings, source.lab))
    offered = OFFERED | (scan.HOST_CODE if labkit.has_host_code(source.folder) else set())
    found = scan.breaches(objects, grader, offered, settings.backend, settings.checked)
    files = set()
    assemblies = [Path(f"{stems(source, n)}.s").read_text(errors="replace")
                  for n in source.sources]
    for name, text in zip(source.sources, assemblies):
        found += scan.assembly(text)
        files |= included(source, name)
    if not source.trusted:
        found += scan.foreign_sources(files)
    if not source.trusted and settings.backend == "cpu":
        found += scan.not_cuda(
            [to.read_text(errors="replace") for _, to in source.files],
            assemblies)
    if any(option.startswith("-fsanitize=address") for option in settings.compile):
        if not source.trusted:
            raise Stopped("a build with AddressSanitizer accepts only sources in labs/ and "
                          f"solutions/: copy {source.shown} to labs/{source.folder}")
        found = [b for b in found if not SANITIZER_START.fullmatch(b[0])]
    found = list(dict.fromkeys(found))
    if len(found) > MANY:
        found[MANY:] = [("…", f"and {len(found) - MANY} more")]
    plain = [symbol[:LONGEST] for symbol, _ in found]
    if found:
        code, text = sandbox.run("c++filt", "-p", *plain)
        plain = text.splitlines() if code == 0 else plain
    return names, [{"symbol": printable(s), "why": printable(w)}
                   for s, (_, w) in zip(plain, found)], files


# --- linking --------------------------------------------------------------------------------

def adapter(settings, lab):
    return f"{settings.adapters[0]}/{lab}.o"


def link(source, settings, sandbox, functions, defined):
    """The executable, with stubs for what the sources do not define."""
    objects = [f"{stems(source, n)}.o" for n in source.sources]
    student, stubs = source.made / "student.o", []
    labkit.isolate(objects, student, defined, sandbox.tool, settings.backend == "cpu")
    missing = {f: functions[f] for f in functions if f not in defined}
    if missing:
        text, stubs = source.made / "missing.c", [source.made / "missing.o"]
        text.write_text(labkit.stubs(missing))
        sandbox.tool(*settings.cc, "-w", "-c", text, "-o", *stubs)
    program = source.made / source.lab
    harness = [adapter(settings, source.lab), *settings.harness]
    files = [w for w in [*harness, *settings.libs] if os.path.isfile(w)]
    code, said = sandbox.run(*settings.link, student, *stubs, *harness, *settings.libs,
                             "-o", program, reads=files)
    if code:
        raise Stopped(f"{said}{source.lab} uses a name that is not defined anywhere: "
                      "see the linker's message")
    return program


# --- the record -----------------------------------------------------------------------------

def inputs(source, settings, judged):
    """A hash of everything that decides what is built."""
    sum_of = hashlib.sha256()
    built = [*settings.harness, adapter(settings, source.lab), *settings.libs, SANDBOXED,
             *settings.translate, *ROOT.glob("tools/*.py"), *judged]
    for path in sorted([*map(str, built), *(str(to) for _, to in source.files)]):
        if os.path.isfile(path):
            sum_of.update(f"{os.path.basename(path)} {labkit.sha256(path)}\n".encode())
    sum_of.update(repr([source.shown, source.names, vars(settings)]).encode())
    return sum_of.hexdigest()


def nothing_new(record, program, key):
    """Was the same built before, and is it still there?"""
    old = labkit.read_json(record)
    checked = program.with_name(program.name + ".check")
    return (isinstance(old, dict) and old.get("inputs") == key and program.exists()
            and (checked.exists() or not old.get("check"))
            and old.get("program") == labkit.sha256(program)
            and labkit.changed(old["files"]) is None)


def recorded_files(source, more):
    """{path: sha256}. A path that is no text cannot be written to JSON: it is left
    out."""
    originals = [str(path) for path, _ in source.files if path == printable(path)]
    here = [os.path.relpath(p) if source.trusted else p for p in originals]
    return labkit.hashes([*here, *more])


def install(made, program):
    """Complete or not at all."""
    program.parent.mkdir(parents=True, exist_ok=True)
    new = program.with_name(program.name + ".new")
    new.write_bytes(made.read_bytes())
    new.chmod(0o755)
    new.rename(program)


def compile_variants(a, variants):
    """Compiles them at the same time; their sandboxes."""
    sandboxes = [Sandbox(*variant, a.no_sandbox) for variant in variants]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        list(pool.map(lambda v, s: compile_all(*v, s, a.out), variants, sandboxes))
    return sandboxes


def finish_one(source, settings, sandbox, functions, found):
    """(program, names that are defined, included files of the workbook); adds new breaches
    to `found`, and tells them before a linker can fail for the same reason"""
    signal.alarm(2 * sandbox.seconds)
    names, breaches, files = check(source, settings, sandbox, functions)
    for breach in breaches:
        if breach not in found:
            found.append(breach)
            sys.stderr.write(f"{source.lab}: contract breach: {breach['symbol']}: "
                             f"{breach['why']}\n")
    defined = [f for f in functions if f in names]
    made = link(source, settings, sandbox, functions, defined)
    signal.alarm(0)
    return made, names, files


def build(a, source, settings):
    program = Path(a.out, "labs", a.lab)
    checked = program.with_name(a.lab + ".check")
    record = program.with_name(a.lab + ".json")
    judged = labkit.judged_by(source.folder)
    variants = [(source, settings)]
    if not a.no_check:
        variants.append((source.in_check_mode(), Settings(CHECK_BUILD)))
    key = [inputs(*v, judged) for v in variants]
    if nothing_new(record, program, key):
        return
    for path in (record, program, checked):
        path.unlink(missing_ok=True)
    functions = labkit.header_functions(source.folder)
    signal.signal(signal.SIGALRM, too_long)
    sandboxes = compile_variants(a, variants)
    found = []
    built = [finish_one(*v, s, functions, found) for v, s in zip(variants, sandboxes)]
    made, names, files = built[0]
    defined = [f for f in functions if f in names]
    missing = [f for f in functions if f not in names]
    about = {
        "lab": source.folder,
        "backend": settings.backend,
        "source": source.shown,
        "own": source.own,
        "trusted": source.trusted,
        "sandbox": sandboxes[0].described,
        "sources": [printable(path) for path, _ in source.files if path.endswith(".cu")],
        "files": recorded_files(source, [*judged, *files]),
        "program": labkit.sha256(made),
        "check": None if a.no_check else labkit.sha256(built[1][0]),
        "inputs": key,
        "defined": defined,
        "missing": missing,
        "breaches": found,
        "threads_meet": mention(source, MEETING),
        "halves": mention(source, HALF),
    }
    install(made, program)
    if not a.no_check:
        install(built[1][0], checked)
    record.write_text(json.dumps(about, indent=1) + "\n")
    if missing:
        more = f" … and {len(missing) - 3} more" if len(missing) > 3 else ""
        print(f"{a.lab}: not in this file: {' '.join(missing[:3])}{more}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("lab")
    parser.add_argument("--build", required=True)
    parser.add_argument("--out")
    parser.add_argument("--from", dest="origin", default="labs")
    parser.add_argument("--no-sandbox", action="store_true")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    a = parser.parse_args()
    a.out = a.out or a.build
    file = os.environ.get("FILE", "")
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        lock(a.out, a.lab)
        source = Source(a.lab, a.origin, file)
        source.copy(submission.private_folder())
        build(a, source, Settings(a.build))
    except (submission.Refused, Stopped, OSError) as e:
        with contextlib.suppress(OSError):  # in a tree that is mounted read-only
            for suffix in ("", ".check", ".json"):
                Path(a.out, "labs", a.lab + suffix).unlink(missing_ok=True)
        if isinstance(e, OSError):  # a full disk, a folder that cannot be written
            labkit.stop(f"{a.lab}: {e.strerror}: {printable(e.filename or '')}")
        asked = file and not a.quiet and isinstance(e, submission.Refused)
        labkit.stop(f"FILE={e}" if asked else str(e))
    if not a.quiet:
        print(f"{a.lab}: built from {source.shown}; now ./grade {a.lab}")


main()
