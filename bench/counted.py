"""counted.py - what check mode counts for each rung of a ladder, for table.py.

    python bench/counted.py labs/lab03_rmsnorm/README.md build/check/bench OUT.jsonl

or with one program in place of the folder.

The guide names the calls: in `<!-- bench: ... | counted rmsnorm_forward bf16 64x4096 -->`
the words after "counted" are a line of `rmsnorm.solution --once`. Each program of the lab
in the folder makes this call once, in check mode, as on a Hopper GPU with 132
multiprocessors; a program that has no such call is left out. Standard library only."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

COUNTED = re.compile(r"<!-- bench: (.*?) -->")
GPU = {"WB_CHECK_GPU": "h100", "WBCPU_ARCH": "90", "WB_CHECK_QUIET": "1"}


def calls_of(guide):
    columns = (c.strip() for found in COUNTED.findall(guide) for c in found.split("|"))
    return [c.removeprefix("counted ") for c in columns if c.startswith("counted ")]


def kernels_of(program, call, may_fail):
    """The kernels that this call launches; may_fail: none, if they are not written yet"""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "check.json")
        done = subprocess.run(
            [program, "--once", call], env={**os.environ, **GPU, "WB_CHECK_JSON": report},
            stdout=subprocess.PIPE, check=False, text=True)
        if done.returncode and may_fail:
            return []
        if done.returncode:
            sys.exit(f"counted: {program} --once '{call}': exit code {done.returncode}")
        lines = done.stdout.splitlines()
        if len(lines) != 1:
            sys.exit(f"counted: '{call}' are {len(lines)} calls of {program}")
        return json.loads(report.read_text(encoding="utf-8"))["kernels"]


def accesses(of):
    return [a for space in of for a in space.values()]


def conflict(kernels):
    """Of the line with the worst: wavefronts over the fewest; None: no shared memory"""
    ratios = [sum(a["wavefronts"] for a in line["shared"].values()) /
              sum(a["ideal"] for a in line["shared"].values())
              for k in kernels for line in k["lines"] if line.get("shared")]
    return max(ratios, default=None)


def counts(kernels):
    moved = accesses(k["global"] for k in kernels)
    return {
        "requests": sum(a["requests"] for a in moved),
        "sectors": sum(a["sectors"] for a in moved),
        "ideal": sum(a["ideal"] for a in moved),
        "least": sum(k["least"]["read"] + k["least"]["written"] for k in kernels),
        "conflict": conflict(kernels),
        "barriers": sum(k["barriers"] for k in kernels),
        "blocks": sum(k["blocks"] for k in kernels),
    }


def main():
    if len(sys.argv) != 4:
        sys.exit("usage: counted.py GUIDE.md PROGRAM-DIR|PROGRAM OUT.jsonl")
    guide, folder, out = map(pathlib.Path, sys.argv[1:])
    op = re.sub(r"^lab\d+_", "", guide.resolve().parent.name)
    programs = [folder] if folder.is_file() else [
        p for p in sorted(folder.glob(f"{op}.*")) if os.access(p, os.X_OK)]
    calls = calls_of(guide.read_text(encoding="utf-8"))
    if not programs or not calls:
        sys.exit(f"counted: {folder} has no {op}.*: make bench-counted-{op}" if calls else
                 f"counted: {guide} has no column `counted ...`")
    with open(out, "w", encoding="utf-8") as file:
        for call in calls:
            for program in programs:
                kernels = kernels_of(program, call, folder.is_file())
                if kernels:
                    row = {"counted": call, "code": program.name[len(op) + 1:]}
                    file.write(json.dumps({**row, **counts(kernels)}) + "\n")
    if folder.is_dir():
        print(f"{out}: {len(calls)} calls, {len(programs)} programs")


main()
