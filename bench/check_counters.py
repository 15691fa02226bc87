"""check_counters.py - do the counts of check mode agree with Nsight Compute's?

    make BACKEND=cpu CHECK=1 bench-programs      # any computer
    make BACKEND=cuda bench-programs             # a computer with a GPU and ncu
    python3 bench/check_counters.py check DIR [PROGRAM...]     # PROGRAM: rmsnorm.01_naive
    python3 bench/check_counters.py gpu DIR [PROGRAM...]    # where the GPU is
    python3 bench/check_counters.py table DIR [PROGRAM...]

check and gpu run every solution and every rung of its ladder once and leave a file each
in DIR; table compares them, kernel by kernel (launch i of one run is launch i of the
other), and takes the reasons of differences from counter_notes.py. Copies by TMA are in
neither: the counters below do not contain them, and check mode counts them apart.
--large: a few rows with data larger than the L2 cache, for the bytes of DRAM.
--seconds N: gives up on a program after N seconds."""
import argparse
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

from counter_notes import reason

CHECK, CUDA = pathlib.Path("build/check/bench"), pathlib.Path("build/cuda/bench")
# Of the programs with many launches, the rows that reach every kernel
ONCE = {"rmsnorm": ["256x1024", "64x1001"]}
LARGE = {"rmsnorm": "rmsnorm_forward f32 8192x8192", "rope": "rope_forward bf16 8x2048",
         "swiglu": "swiglu_forward bf16 8192", "softmax": "softmax_forward f32 4096x4096",
         "rglru": "linear_scan_forward f32 1x4096"}

L1 = "l1tex__"
SECTORS = "t_sectors_pipe_lsu_mem_global_op_"
REQUESTS = "t_requests_pipe_lsu_mem_global_op_"
WAVEFRONTS = "data_pipe_lsu_wavefronts_mem_shared_op_"
CONFLICTS = "data_bank_conflicts_pipe_lsu_mem_shared_op_"


def of(kernel, space, access, key):
    return kernel[space][access][key]


def loads(k, key):
    """Ordinary loads and those of cp.async: the GPU counts both. To count the latter
    apart, Nsight Compute changes the code of each kernel, which takes seconds."""
    return of(k, "global", "read", key) + of(k, "global", "async", key)


def shared_writes(k, key):
    """Without those of cp.async, which the GPU counts elsewhere."""
    return sum(line["shared"]["write"][key] for line in k["lines"]
               if "write" in line.get("shared", {}) and
               "async" not in line.get("global", {}))


# name in the table: (ncu's counters, which are added; check mode's count)
COUNTERS = {
    "global load requests": ([L1 + REQUESTS + "ld"],
                             lambda k: loads(k, "requests")),
    "global load sectors": ([L1 + SECTORS + "ld"],
                            lambda k: loads(k, "sectors")),
    "global store requests": ([L1 + REQUESTS + "st"],
                              lambda k: of(k, "global", "write", "requests")),
    "global store sectors": ([L1 + SECTORS + "st"],
                             lambda k: of(k, "global", "write", "sectors")),
    "global atomic sectors": ([L1 + SECTORS + "red", L1 + SECTORS + "atom"],
                              lambda k: of(k, "global", "atomic", "sectors")),
    "shared load wavefronts": ([L1 + WAVEFRONTS + "ld"],
                               lambda k: of(k, "shared", "read", "wavefronts")),
    "shared store wavefronts": ([L1 + WAVEFRONTS + "st"],
                                lambda k: shared_writes(k, "wavefronts")),
    "shared atomic wavefronts": ([L1 + WAVEFRONTS + "atom"],
                                 lambda k: of(k, "shared", "atomic", "wavefronts")),
    "shared load conflicts": ([L1 + CONFLICTS + "ld"],
                              lambda k: of(k, "shared", "read", "wavefronts")
                              - of(k, "shared", "read", "ideal")),
    "shared store conflicts": ([L1 + CONFLICTS + "st"],
                               lambda k: shared_writes(k, "wavefronts")
                               - shared_writes(k, "ideal")),
    "DRAM bytes read": (["dram__bytes_read"], lambda k: k["dram"]["read"]),
    "DRAM bytes written": (["dram__bytes_write"], lambda k: k["dram"]["written"]),
}


def base_name(kernel):
    """norm of void (anonymous namespace)::norm<float, 4>(const float *, ...)"""
    kernel = kernel.replace("(anonymous namespace)::", "")
    depth, name = 0, ""
    for c in kernel:  # leaves out template arguments
        depth += c == "<"
        name += c if depth == 0 else ""
        depth -= c == ">"
    return re.split(r"[ :]", name.split("(")[0].strip())[-1]


# --- runs -------------------------------------------------------------------------------

def arguments_of(program, large):
    if not large:
        return ["--once", *ONCE.get(program.split(".")[0], [])]
    row = LARGE.get(program.split(".")[0])
    return ["--large", row] if row else None


def run(command, log, seconds, environment=None):
    """The exit code; None: stopped after so many seconds"""
    with subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdout=log,
                          stderr=subprocess.STDOUT, start_new_session=True) as done:
        try:
            return done.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(done.pid, signal.SIGKILL)
            return None


def run_check(program, folder, options):
    arguments = arguments_of(program, options.large)
    report = folder / f"{program}.json"
    environment = {"WB_CHECK_JSON": str(report), "WB_CHECK_LAUNCHES": "1",
                   "WB_CHECK_GPU": "h100", "WBCPU_ARCH": "90"}
    with open(folder / f"{program}.check.log", "w", encoding="utf-8") as log:
        return run([CHECK / program, *arguments], log, options.seconds, environment)


def compared(large):
    """The counters of such a run"""
    return {name: of for name, of in COUNTERS.items() if name.startswith("DRAM") == large}


def run_gpu(program, folder, options):
    metrics = ",".join(
        f"{m}.sum" for ncu, _ in compared(options.large).values() for m in ncu)
    cache = "all" if options.large else "none"  # to flush takes time; L1 is not affected
    command = ["ncu", "--clock-control", "none", "--cache-control", cache, "--csv",
               "--page", "raw", "--print-units", "base", "--metrics", metrics,
               "--log-file", folder / f"{program}.csv", CUDA / program,
               *arguments_of(program, options.large)]
    with open(folder / f"{program}.gpu.log", "w", encoding="utf-8") as log:
        return run(command, log, options.seconds)


def run_all(programs, folder, options):
    folder.mkdir(parents=True, exist_ok=True)
    failed = []
    for program in programs:
        if not arguments_of(program, options.large):
            continue
        start = time.monotonic()
        run_one = run_check if options.what == "check" else run_gpu
        code = run_one(program, folder, options)
        says = {0: "ok", None: "stopped"}.get(code, f"exit code {code}")
        print(f"{program}: {says}, {time.monotonic() - start:.0f} s", flush=True)
        if code != 0:
            failed.append(program)
    return failed


# --- comparison -------------------------------------------------------------------------

def ncu_launches(path):
    """[(kernel, {counter: value})] in the order of the launches"""
    lines = [line for line in open(path, encoding="utf-8") if line.startswith('"')]
    rows = list(csv.DictReader(lines))
    launches = []
    for row in rows[1:]:  # the first one has the units
        values = {name: sum(float((row.get(f"{m}.sum") or "0").replace(",", "") or 0)
                            for m in ncu)
                  for name, (ncu, _) in COUNTERS.items()}
        launches.append((base_name(row["Kernel Name"]), values))
    return launches


def check_launches(path):
    report = json.load(open(path, encoding="utf-8"))
    return [(base_name(k["name"]),
             {name: count(k) for name, (_, count) in COUNTERS.items()})
            for k in report["kernels"]]


def sums(launches):
    """{kernel: {counter: sum}}"""
    total = {}
    for kernel, values in launches:
        into = total.setdefault(kernel, dict.fromkeys(COUNTERS, 0))
        for name, value in values.items():
            into[name] += value
    return total


def difference(name, ours, gpu):
    """Of check mode's count from ncu's, as a share of the latter; None: ncu has none.
    Conflicts are compared as a share of all wavefronts."""
    whole = gpu[name]
    if name.endswith("conflicts"):
        whole = gpu[name.replace("conflicts", "wavefronts")]
    return (ours[name] - gpu[name]) / whole if whole else None


def rows_of(program, folder, large):
    gpu = ncu_launches(folder / f"{program}.csv")
    cpu = check_launches(folder / f"{program}.json")
    if len(gpu) == len(cpu):  # check mode may know only a function pointer's name
        cpu = [(name, values) for (name, _), (_, values) in zip(gpu, cpu)]
    else:
        yield program, f"{len(gpu)} and {len(cpu)} launches", "", "", "", "see the sums"
    gpu, cpu, nothing = sums(gpu), sums(cpu), dict.fromkeys(COUNTERS, 0)
    for kernel in dict.fromkeys([*gpu, *cpu]):
        for name in compared(large):
            a, b = gpu.get(kernel, nothing), cpu.get(kernel, nothing)
            if a[name] or b[name]:
                yield program, kernel, name, a[name], b[name], difference(name, b, a)


def print_table(programs, folder, large):
    compared = close = explained = 0
    print("| program | kernel | counter | ncu | check mode | difference | why |")
    print("|---|---|---|---:|---:|---:|---|")
    for program in programs:
        if not (folder / f"{program}.csv").exists():
            continue
        for program, kernel, name, a, b, apart in rows_of(program, folder, large):
            if isinstance(apart, str):
                print(f"| {program} | {kernel} | {apart} | | | | |")
                continue
            compared += 1
            text = "only here" if apart is None else f"{100 * apart:+.1f} %"
            why = ""
            if apart is not None and abs(apart) <= 0.01:
                close += 1
            else:
                why = reason(program, kernel, name)
                explained += bool(why)
                why = why or "not understood"
            print(f"| {program} | {kernel} | {name} | {a:,.0f} | {b:,.0f} | {text} "
                  f"| {why} |")
    print(f"\n{close} of {compared} counters differ by at most 1 %. Of the other "
          f"{compared - close}, {explained} are explained.")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("what", choices=["check", "gpu", "table"])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--seconds", type=float)
    options = parser.parse_args()
    where = {"check": CHECK, "gpu": CUDA}.get(options.what)
    found = [p.name for p in sorted(where.glob("*.*")) if os.access(p, os.X_OK)
             and p.suffix not in (".o", ".c", ".so")] if where else \
            [p.name[:-5] for p in sorted(options.folder.glob("*.json"))]
    programs = options.programs or found
    if options.what == "table":
        print_table(programs, options.folder, options.large)
        return 0
    failed = run_all(programs, options.folder, options)
    return 1 if failed else 0


sys.exit(main())
