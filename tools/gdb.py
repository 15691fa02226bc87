"""gdb.py - ./grade LAB -k CASE --gdb: a debugger in the learner's kernel.

    ./grade lab03 -k basic --gdb       GDB="gdb -q" selects another command

Builds the lab once more without optimization, in build/debug, grades the case, and starts
gdb on the first call of the case: of the variant that failed, if it has several. The
grader's --record keeps what the program is sent; here it comes from a socket again. gdb
stops in the first thread of the first kernel: kernels are ordinary functions on the CPU
back end. Standard library only."""
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import labkit

BUILD, DEBUG = "build/cpu", "build/debug"
WIRE = 3  # the file descriptor that grader/harness.c talks on
BOUNDS = r"(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?"
KERNEL = re.compile(rf"__global__\s+{BOUNDS}void\s+{BOUNDS}(\w+)\s*\(")


def arguments():
    lab, case = labkit.lab_and_k("--gdb", "CASE")
    if not lab or not case:
        labkit.stop("name a lab and a case: ./grade lab03 -k basic --gdb")
    return labkit.lab_folder(lab), case


def build(folder, grader):
    """The lab without optimization"""
    settings = Path(BUILD, "labs/settings")
    lab = folder.partition("_")[0]
    if not settings.exists() or not os.access(grader, os.X_OK):
        labkit.stop(f"the grader is not built in {BUILD}: run `make {lab} BACKEND=cpu`")
    Path(DEBUG, "labs").mkdir(parents=True, exist_ok=True)
    Path(DEBUG, "labs/settings").write_text(
        re.sub(r"(?<= )-O[0-3sg](?= )", "-O0", settings.read_text().replace(" -g1 ", " -g ")))
    done = subprocess.run([sys.executable, "tools/lab.py", lab, "--build", DEBUG, "--out", DEBUG,
                           "--no-check", "--quiet"])
    if done.returncode:
        sys.exit(2)
    return f"{DEBUG}/labs/{lab}"


def one_case(grader, lab, case):
    listed = subprocess.run([grader, lab, "--list", "-k", case], capture_output=True, text=True)
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    if len(names) != 1:
        labkit.stop(f"-k {case} selects {len(names)} cases: name one of ./grade {lab} --list")


def kernels(folder):
    texts = [labkit.COMMENT.sub("", path.read_text(errors="replace"))
             for path in sorted(Path("labs", folder).glob("*.cu*"))]
    return list(dict.fromkeys(name for text in texts for name in KERNEL.findall(text)))


def debug(program, recorded, names):
    """gdb, with the recorded question on the program's socket; its answers are dropped"""
    ours, theirs = socket.socketpair()

    def talk():
        ours.sendall(recorded)
        while ours.recv(1 << 16):
            pass

    command = shlex.split(os.environ.get("GDB", "gdb -q"))
    for word in ["set breakpoint pending on", "set confirm off", "set print thread-events off",
                 *(f"tbreak {name}" for name in names), "run"]:
        command += ["-ex", word]
    threading.Thread(target=talk, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for gdb
    code = subprocess.call([*command, "--args", program], pass_fds=[WIRE],
                           env={**os.environ, "WB_THREADS": "1"},
                           preexec_fn=lambda: (os.dup2(theirs.fileno(), WIRE),
                                               signal.signal(signal.SIGINT, signal.SIG_DFL)))
    sys.exit(code)


def main():
    folder, case = arguments()
    lab, grader = folder.partition("_")[0], f"{BUILD}/grader/grade"
    if not shutil.which(shlex.split(os.environ.get("GDB", "gdb"))[0]):
        labkit.stop("gdb is not installed: run `apt install gdb`, or set GDB=command")
    program = build(folder, grader)
    one_case(grader, lab, case)
    with tempfile.TemporaryDirectory(prefix="warpbook-gdb-") as private:
        file = Path(private, "call")
        sys.stdout.flush()
        subprocess.run([grader, "--build", DEBUG, lab, "-k", case, "--record", file])
        if not file.exists():
            labkit.stop(f"{case} has no call to debug")
        recorded = file.read_bytes()
    debug(program, recorded, kernels(folder))


main()
