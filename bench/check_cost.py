"""check_cost.py - what check mode costs when the labs' solutions are graded.

    make bench-check                 builds what is missing, then runs this file
    python3 bench/check_cost.py [--rounds N] [LAB...]

Per lab: one `./grade`, with check mode as always. CPU time is user + sys. Of the two
programs of the lab, as it is and in check mode, it is read in /proc while they run, so
the last few milliseconds of each process are missing. The program itself makes 7 calls or
more for each variant of a case, check mode makes one; "per call" compares one call of
each function of the lab, with the shapes of `bench/`, in both modes and on one thread, the
time without the calls subtracted. Of several rounds the one with the least CPU time counts.
Standard library only."""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

LABS = {"lab01": "swiglu", "lab02": "rope", "lab03": "rmsnorm", "lab04": "softmax",
        "lab05": "attention", "lab06": "rglru", "lab07": "kvcache"}
# Programs that also have large shapes: only these rows are timed
ROWS = {"rglru": ["12x64x128", "768x4x32", "rglru_step"]}
BUILDS = {"normal": pathlib.Path("build/cpu"), "check": pathlib.Path("build/check")}
TICK = os.sysconf("SC_CLK_TCK")
INTERVAL = 0.02  # seconds from one look at /proc to the next


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processes_of(programs):
    """{pid: (program, CPU seconds)}"""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            program = os.readlink(entry / "exe")
            if program in programs:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                found[entry.name] = program, (int(fields[11]) + int(fields[12])) / TICK
        except OSError:  # it has ended, or is not ours
            pass
    return found


def graded(lab):
    """A row of the table: seconds of CPU time, and wall: seconds"""
    programs = {str((BUILDS["normal"] / "labs" / f"{lab}{end}").resolve()): name
                for end, name in (("", "program"), (".check", "check"))}
    before, start, seen = cpu_of_children(), time.monotonic(), {}
    with tempfile.NamedTemporaryFile() as report:
        grade = subprocess.Popen(["./grade", lab, "--json", report.name],
                                 stdout=subprocess.DEVNULL)
        while grade.poll() is None:
            seen.update(processes_of(programs))
            time.sleep(INTERVAL)
        score = json.load(open(report.name, encoding="utf-8"))["score"]
    row = {"wall": time.monotonic() - start, "cpu": cpu_of_children() - before,
           "score": score, "program": 0.0, "check": 0.0}
    for program, seconds in seen.values():
        row[programs[program]] += seconds
    return row


def cpu_of(mode, op, rows):
    environment = {**os.environ, "WB_THREADS": "1", "WB_CHECK_QUIET": "1"}
    before = cpu_of_children()
    subprocess.run([BUILDS[mode] / "bench" / f"{op}.solution", "--once", *rows],
                   env=environment, stdout=subprocess.DEVNULL, check=True)
    return cpu_of_children() - before


def per_call(op, rounds):
    """Check mode's CPU time for one call of each function, over the normal one"""
    least = {mode: min(cpu_of(mode, op, ROWS.get(op, [])) for _ in range(rounds)) -
             min(cpu_of(mode, op, ["no such row"]) for _ in range(rounds))
             for mode in BUILDS}
    return least["check"] / max(least["normal"], 1 / TICK)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("labs", nargs="*", default=list(LABS))
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    print("| lab | score | wall, s | CPU, s | the program, CPU s | check mode, CPU s "
          "| ratio | per call |\n|---|---:|---:|---:|---:|---:|---:|---:|")
    sums = dict.fromkeys(("wall", "cpu", "program", "check"), 0.0)
    for lab in options.labs:
        row = min((graded(lab) for _ in range(options.rounds)), key=lambda r: r["cpu"])
        print(f"| {lab} | {row['score']} | {row['wall']:.1f} | {row['cpu']:.1f} "
              f"| {row['program']:.1f} | {row['check']:.1f} "
              f"| {row['check'] / row['program']:.1f} "
              f"| {per_call(LABS[lab], options.rounds):.1f} |", flush=True)
        for key in sums:
            sums[key] += row[key]
    print(f"| all | | {sums['wall']:.1f} | {sums['cpu']:.1f} | {sums['program']:.1f} "
          f"| {sums['check']:.1f} | {sums['check'] / sums['program']:.1f} | |")


sys.exit(main())
