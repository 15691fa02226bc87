"""class_grade.py - grades one submission of a course in a process of its own, with limits of
time, memory and disk. tools/grade_all starts several at a time."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parent.parent
GB = 1 << 30
stopping = threading.Event()  # set: grade nothing more, and end what runs

def memory_of(pid):
    """Bytes of memory of a process and its descendants."""
    parent, pages = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            parent[int(path.parent.name)] = int(fields[1])
            pages[int(path.parent.name)] = int(fields[21])
        except (OSError, ValueError, IndexError):
            pass  # it has ended
    family = {pid}
    while more := {p for p, of in parent.items() if of in family} - family:
        family |= more
    return sum(pages.get(p, 0) for p in family) * os.sysconf("SC_PAGE_SIZE")


def disk_of(folder):
    """Bytes of the files in a folder."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(base, name)).st_blocks * 512
            except OSError:
                pass
    return total


def end(process):
    """The grader's own processes end with it, and remove their folders."""
    for number, patience in (signal.SIGTERM, 5), (signal.SIGKILL, 60):
        try:
            os.killpg(process.pid, number)
            process.wait(patience)
            return
        except (subprocess.TimeoutExpired, ProcessLookupError):
            pass


def watch(process, folder, options):
    """Waits until it ends. None, or why it was stopped."""
    deadline = time.monotonic() + 60 * options.minutes
    pause = 0.01  # seconds; a process may end, or do harm, soon or late
    while True:
        pause = min(2 * pause, 1)
        try:
            process.wait(pause)
            return None
        except subprocess.TimeoutExpired:
            memory, disk = memory_of(process.pid), disk_of(folder)
        why = ("interrupted" if stopping.is_set() else
               f"stopped after {options.minutes:g} minutes" if time.monotonic() > deadline else
               f"used more than {options.memory:g} GB of memory: stopped"
               if memory > options.memory * GB else
               f"wrote more than {options.disk:g} GB: stopped"
               if disk > options.disk * GB else None)
        if why:
            end(process)
            return why


def grade(lab, name, path, mark, data, options):
    """Grades one submission; returns its result, or None if we are to stop."""
    if stopping.is_set():
        return None
    seed, folder = data
    work = Path(tempfile.mkdtemp(prefix=f"warpbook-{os.getpid()}-"))
    partial, final = work / "result.json", options.out / f"{name}.json"
    # The other cores grade others. Two SMs on every computer: launchers compute grids of it.
    env = dict(os.environ, TMPDIR=str(work), WB_THREADS="1", WBCPU_SMS="2",
               BACKEND=options.backend)
    try:
        with open(options.out / f"{name}.txt", "wb") as text:
            process = subprocess.Popen(
                [ROOT / "tools/grade_submission", lab, path.absolute(), "--built", "--json",
                 partial, "--seed", seed, "--data", folder, *options.more],
                stdout=text, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env,
                start_new_session=True)
            why = watch(process, work, options)
            if why == "interrupted":
                return None
            if why:
                text.write(f"{why}\n".encode())
        made = {"lab": lab, "score": 0, "of": 100, "exit": 4, "cases": [], "message": why}
        if not why:
            try:
                made = json.loads(partial.read_text())
            except (OSError, ValueError):
                told = (options.out / f"{name}.txt").read_text(errors="replace")
                made.update(exit=process.returncode, message=told)
        made["fingerprint"] = mark
        (work / "done").write_text(json.dumps(made))
        shutil.move(work / "done", final)
        return results.read(final)
    finally:
        shutil.rmtree(work, ignore_errors=True)
