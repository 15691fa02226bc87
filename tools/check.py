"""check.py - builds a program for check mode, runs it, and shows the report:

    FILE=prog.cu ARGS="16 'two words'" HTML=report.html check.py --build build/check

make check calls it with these variables of the environment:
    FILE   the program: one .cu with its own main
    ARGS   its arguments, split as a shell splits words; nothing is expanded
    NVCCFLAGS  nvcc options, split at spaces (optional)
    JSON   where to keep the report (optional)
    HTML   where to write the page (optional)
    GPU    whose cache and bandwidth the figures are for (default: the back end's)
BUILD has the back end in check mode, and the compiler's settings (labs/settings); the
program becomes BUILD/programs/NAME. With NVCC=path the report also has registers and
spills.

    FILE=prog.cu check.py --build build/cpu --compile build/prog [-- -Wall]

only compiles it, for the mode of that build, with more options of the compiler.

Exit code: 0 no errors among the findings, 1 errors, or the program failed, 2 it could
not be built or run."""
import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import ptxas
from check_report import show
from compiling import ROOT, Settings, compile_cpu
from report.values import Bad, plain, table
from submission import private_folder

FOUND = 86  # the exit code of a program in check mode, if there are errors
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*\Z")  # what the translator accepts
FOR_NVCC = ("-D", "-I", "-std=", "-rdc", "--expt")  # options that ptxas.py does not choose
SM = 90  # the architecture that ptxas is asked about, if the report does not say


class Program:
    """The source, and where its parts are made."""
    def __init__(self, file, private):
        if not file:
            raise Bad(
                "which program? make check FILE=prog.cu [ARGS=...] [HTML=report.html]; "
                "to run the tests: make test")
        self.shown, path = plain(file), Path(file)
        if not path.exists():
            raise Bad(f"{self.shown}: there is no such file")
        if not path.is_file():
            raise Bad(f"{self.shown} is not a file: give one .cu with its own main")
        self.folder, self.private = str(path.parent), private
        inside = path.resolve().is_relative_to(Path.cwd())
        self.source = os.path.relpath(path) if inside else os.path.abspath(path)
        if not NAME.match(path.name) or not NAME.match(
                self.source.replace("/", "_").lstrip(".")):
            # The translator writes the name into the code that it makes.
            name = re.sub(r"[^A-Za-z0-9_.+-]", "_", path.stem).lstrip(".-+") or "program"
            self.source = str(private / f"{name}.cu")
            shutil.copy(path, self.source)
        self.stem = Path(self.source).stem


def nvcc_options(text, source):
    """Asks wbcc what the nvcc options mean here: arguments for the translator, folders of
    headers, options of the compiler and of the linker."""
    done = subprocess.run([ROOT / "tools/wbcc", *text.split(), "--settings", source],
                          stdout=subprocess.PIPE, text=True, errors="backslashreplace")
    if done.returncode:
        raise Bad(f"NVCCFLAGS={plain(text)}: see the message above")
    lines = [line.partition(": ")[2] for line in done.stdout.splitlines()]
    return [shlex.split(line) for line in lines]


def step(command, why):
    """Runs a step of the build; shows what it says."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True, errors="backslashreplace")
    sys.stderr.write(done.stderr)
    if done.returncode:
        raise Bad(why(done.stderr))


def compile_program(p, made, options):
    """Translates, compiles and links; removes the program of an earlier build first."""
    p.program.unlink(missing_ok=True)
    p.program.parent.mkdir(parents=True, exist_ok=True)
    beside = ["-I", p.folder] if p.source.startswith(str(p.private)) else []
    broken = f"{p.shown} does not compile: fix the first error above"
    compile_cpu(lambda command: step(command, lambda _: broken), made, p.source, p.private,
                [*made.includes, *beside], options)

    def unlinked(said):
        if "undefined reference to `main'" in said:
            return (f"{p.shown} has no main: give a whole program (a lab is checked with "
                    "make lab03-check)")
        return f"{p.shown} uses a name that is not defined: see the message above"

    out = f"{p.private}/program"
    step([*made.link, f"{p.private}/{p.stem}.o", *made.libs, "-o", out], unlinked)
    shutil.move(out, p.program)


def run(p, arguments, report, gpu):
    """Runs the program; returns its exit code. Its findings are shown afterwards."""
    env = {**os.environ, "WB_CHECK_JSON": str(report), "WB_CHECK_QUIET": "1"}
    for name in ("FILE", "ARGS", "NVCCFLAGS", "JSON", "HTML", "GPU", "MAKEFLAGS", "MFLAGS",
                 "MAKELEVEL"):
        env.pop(name, None)
    if gpu:
        env["WB_CHECK_GPU"] = gpu
    sys.stdout.flush()
    code = subprocess.run([os.path.abspath(p.program), *arguments], env=env).returncode
    if not report.exists():
        raise Bad(f"{p.shown} ended with {end(code)} and wrote no report" +
                  ("" if code < 0 else ": did it call a CUDA function?"))
    return code


def end(code):
    names = {s.value: s.name for s in signal.Signals}
    return f"signal {names.get(-code, -code)}" if code < 0 else f"exit code {code}"


def add_registers(report, p, made, flags):
    """Adds what ptxas says to the report. flags: nvcc options"""
    data = json.loads(report.read_text())
    if not isinstance(data, dict):
        return
    sm = table(data.get("gpu")).get("sm")
    data["ptxas"] = ptxas.of_source(os.environ.get("NVCC"), p.source,
                                    [*made.includes, "-I", p.folder,
                                     *(word for word in flags.split()
                                       if word.startswith(FOR_NVCC))],
                                    sm if isinstance(sm, int) else SM)
    report.write_text(json.dumps(data))


def keep(report, path):
    """Writes the report to the file that JSON= names."""
    try:
        if path:
            Path(path).write_bytes(report.read_bytes())
    except OSError as e:
        raise Bad(f"JSON={plain(path)} cannot be written: {e.strerror}") from None


def spare(file):
    """The source is not a place for results."""
    for name in ("JSON", "HTML"):
        path = os.environ.get(name)
        if path and os.path.exists(path) and os.path.samefile(path, file):
            raise Bad(f"{name}={plain(path)} is the program itself: name another file")


def check(build, private):
    p = Program(os.environ.get("FILE", ""), private)
    spare(os.environ["FILE"])
    p.program = Path(build, "programs", p.stem)
    try:
        arguments = shlex.split(os.environ.get("ARGS", ""))
    except ValueError as e:
        raise Bad(f"ARGS={plain(os.environ['ARGS'])}: {str(e).lower()}") from None
    made, flags = Settings(build), os.environ.get("NVCCFLAGS", "")
    translate, includes, options, link = nvcc_options(flags, p.source)
    made.translate += translate
    made.includes += includes
    made.libs += link
    compile_program(p, made, options)
    report = private / "report.json"
    code = run(p, arguments, report, os.environ.get("GPU"))
    try:
        add_registers(report, p, made, flags)
    except (ValueError, RecursionError):
        pass  # show() says what is wrong with it
    keep(report, os.environ.get("JSON"))
    result = show(str(report), os.environ.get("HTML"),
                  [".", p.folder, str(private)], False)
    if code not in (0, FOUND):
        print(f"{p.shown} ended with {end(code)}")
        return 1
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--compile", metavar="PROGRAM", type=Path)
    parser.add_argument("options", nargs="*")
    a = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")
    try:
        if not a.compile:
            return check(a.build, private_folder())
        p = Program(os.environ.get("FILE", ""), private_folder())
        p.program = a.compile
        compile_program(p, Settings(a.build), a.options)
        return 0
    except Bad as e:
        print(f"check: {e}", file=sys.stderr)
    except OSError as e:
        print(f"check: {plain(e.filename or '')}: {e.strerror}", file=sys.stderr)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 2


if __name__ == "__main__":
    sys.exit(main())
