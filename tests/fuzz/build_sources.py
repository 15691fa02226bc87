"""build_sources.py - mutated sources through the whole build.

    build_sources.py [--runs N] [--seed S] [--jobs J] [--seconds T] [--only I] -- COMMAND...

runs COMMAND with the path of a source appended; LAB in COMMAND becomes the lab that a
source was made from. Exit codes 0 to 4 are expected. Any other exit code, a signal, a
Python traceback, a sanitizer report or more than T seconds (default 60) is a failure; its
source is kept below build/host/fuzz_build/. For example:

    build_sources.py --runs 1000 -- tools/grade_submission --build-only LAB"""
import argparse
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mutate

KEPT = Path("build/host/fuzz_build")
REPORT = re.compile(
    rb"Traceback \(most recent call last\)|(Address|UndefinedBehavior|Leak)Sanitizer"
    rb"|runtime error: |Segmentation fault|core dumped|\*\*\* stack smashing")
LAB = re.compile(r"(?:solutions|labs)/(lab\d\d)_")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=24301)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=60, help="for one source")
    parser.add_argument("--only", type=int, help="this case alone")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def lab_sources():
    """[(lab, text)] of what a student could hand in."""
    paths = sorted(Path(".").glob("solutions/lab*/*.cu")) or sorted(
        Path(".").glob("labs/lab*/*.cu"))
    return [(LAB.match(str(p))[1], p.read_text(encoding="latin-1")) for p in paths]


def prepare(folder, lab, number):
    """Links and FIFOs are refused before anything is built, which would hide other
    errors. They stay in every eighth folder only. A lab's source gets the headers of its
    solution."""
    for path in list(folder.iterdir()):
        if number % 8 and (path.is_symlink() or path.is_fifo()):
            path.unlink()
    for header in Path(".").glob(f"solutions/{lab}_*/*.cuh"):
        shutil.copy(header, folder)


def verdict(status, output):
    """What is wrong, or None."""
    if status not in (0, 1, 2, 3, 4):
        return f"signal {-status}" if status < 0 else f"exit {status}"
    found = REPORT.search(output)
    return f"says {found[0].decode()}" if found else None


def run(a, number, sources, texts):
    """(number, exit status, seconds, what is wrong or None)"""
    lab, text = random.Random(f"{a.seed}/{number}/lab").choice(sources)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, \
            tempfile.TemporaryFile() as output:
        # Half of the changes start from one lab's source, so that much of it compiles.
        start = [text] if number % 2 else texts
        source = mutate.case(a.seed, number, texts, folder, start)
        prepare(Path(folder), lab, number)
        command = [lab if word == "LAB" else word for word in a.command]
        begun, wrong = time.monotonic(), None
        process = subprocess.Popen([*command, source], stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=output, start_new_session=True)
        try:
            status = process.wait(a.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # lets it remove its private folder
            time.sleep(1)
            os.killpg(process.pid, signal.SIGKILL)
            status, wrong = process.wait(), f"no end after {a.seconds} s"
        seconds = time.monotonic() - begun
        output.seek(0)
        said = output.read(1 << 20)
        wrong = wrong or verdict(status, said)
        if wrong:
            kept = KEPT / f"{a.seed}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, symlinks=True, ignore=mutate.not_copied)
            Path(kept, "output").write_bytes(said)
            Path(kept, "command").write_text(" ".join(map(str, command)) + "\n")
        return number, status, seconds, wrong


def main():
    a = arguments()
    sources, texts = lab_sources(), mutate.sources()
    numbers = range(a.runs) if a.only is None else [a.only]
    ends, failed, longest = {}, 0, (0, 0)
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        done = pool.map(lambda n: run(a, n, sources, texts), numbers)
        for count, (number, status, seconds, wrong) in enumerate(done, 1):
            ends[status] = ends.get(status, 0) + 1
            longest = max(longest, (seconds, number))
            if wrong:
                failed += 1
                print(f"case {number} of seed {a.seed}: {wrong}: {KEPT}/{a.seed}-{number}",
                      flush=True)
            if count % 500 == 0:
                print(f"# {count} done, {failed} failures", flush=True)
    codes = ", ".join(f"exit {code}: {ends[code]}" for code in sorted(ends))
    print(f"build: {len(numbers)} sources of seed {a.seed}: {codes}; the longest took "
          f"{longest[0]:.1f} s (case {longest[1]}); {failed} failures")
    sys.exit(failed != 0 or len(numbers) == 0)


main()
