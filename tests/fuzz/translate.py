"""translate.py - mutated sources through the translator, each in a process of its own.

    translate.py [--runs N] [--seed S] [--jobs J] [--only I] -- TRANSLATE

TRANSLATE is built with AddressSanitizer and UBSan. It must exit with 0 and write under the
names that its header comment promises, or with 1, one clean error line and no file. A
hang, a crash, a report or too much memory fails; the source is kept below
build/host/fuzz_translate/."""
import argparse
import concurrent.futures
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import mutate

INCLUDES = ["-Icommon", *(f"-I{p}" for p in sorted(Path("labs").glob("lab*"))), "-Icommon/ops",
            "-Icommon/decoder"]
LIMITS = {"ASAN_OPTIONS": "detect_leaks=1:hard_rss_limit_mb=1500:intercept_strstr=0",
          "UBSAN_OPTIONS": "print_stacktrace=1", "PATH": os.environ.get("PATH", ""),
          "LC_ALL": "C"}
NAMES = re.compile(r"source\.cu\.(cpp|headers\.d|\d+\.h)\Z")
CLEAN = re.compile(rb"[\t\n\x20-\x7e\x80-\xff]*\Z")
KEPT = Path("build/host/fuzz_translate")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=24301)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", type=int, help="this case alone")
    parser.add_argument("translate")
    return parser.parse_args()


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (10, 11))
    resource.setrlimit(resource.RLIMIT_FSIZE, (256 << 20, 256 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def verdict(done, written):
    """What is wrong, or None."""
    first = done.stderr.split(b"\n", 1)[0]
    if done.returncode not in (0, 1):
        return f"exit {done.returncode}"
    if re.search(rb"==\d+==ERROR: |: runtime error: ", done.stderr):
        return "a sanitizer report"
    if not CLEAN.match(done.stderr):
        return "a control character in a message"
    bad = [name for name in written if not NAMES.match(name)]
    if bad:
        return f"wrote {bad[0]}"
    if done.returncode == 1 and written:
        return f"left {written[0]} after an error"
    if done.returncode == 1 and not re.search(rb": error: .", first):
        return "no error line"
    if done.returncode == 0 and "source.cu.cpp" not in written:
        return "wrote nothing"
    return None


def run(a, number, texts):
    """(number, exit status, what is wrong or None)"""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        inside, out = Path(folder, "in"), Path(folder, "out")
        inside.mkdir()
        source = mutate.case(a.seed, number, texts, inside)
        before = sorted(str(p) for p in inside.rglob("*"))
        try:
            done = subprocess.run(
                [a.translate, source, out, *INCLUDES, "-d", "object.o"], env=LIMITS,
                capture_output=True, timeout=60, preexec_fn=limit, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            done = subprocess.CompletedProcess([], -9, b"", b"no end after 60 s")
        written = sorted(str(p.relative_to(out)) for p in out.rglob("*"))
        wrong = verdict(done, written)
        if sorted(str(p) for p in inside.rglob("*")) != before:
            wrong = wrong or "wrote outside of the output folder"
        if wrong:
            kept = KEPT / f"{a.seed}-{number}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(inside, kept, symlinks=True, ignore=mutate.not_copied)
            Path(kept, "stderr").write_bytes(done.stderr)
        return number, done.returncode, wrong


def main():
    a = arguments()
    texts = mutate.sources()
    numbers = range(a.runs) if a.only is None else [a.only]
    ends, failed = {0: 0, 1: 0}, 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for number, status, wrong in pool.map(lambda n: run(a, n, texts), numbers):
            ends[status] = ends.get(status, 0) + 1
            if wrong:
                failed += 1
                print(f"case {number} of seed {a.seed}: {wrong}: {KEPT}/{a.seed}-{number}")
    print(f"translate: {len(numbers)} sources of seed {a.seed}: {ends[0]} translated, "
          f"{ends[1]} refused, {failed} failures")
    sys.exit(failed != 0 or len(numbers) == 0)


main()
