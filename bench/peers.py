"""peers.py - compares the finished kernels with those of PyTorch and of libraries, in one run.

    make bench-peers                 on a computer with a GPU and a Python that has torch
    python bench/peers.py --check    compares results at small shapes and times nothing

Every side is first checked against the same formula in float64 (float32 for the largest
tensors). Then all are timed in the same way: events around one call, the median of at
least 30. Before each call, a read of a buffer five times the size of the L2 cache ensures
that inputs come from memory and that no earlier output waits to be written back; then the
GPU spins until the call is enqueued, so that no side pays for its launches. GB/s counts
the least bytes that the operation can move, every input once and every output once, even
if a side moves more. Fractions are of the bandwidth of a device-to-device copy in the
same run. Where arithmetic is the limit, the unit is TFLOP/s, counted in the same way for
all sides: the operations that the result needs, without masked ones.

Sides: ours (lib*.so, called with torch's tensors and stream), torch eager, torch.compile,
the libraries of peers_libraries.py that can be imported, and further peers for some labs
(see their files).
Forward passes are those of training: they store what the backward pass needs.
"""

import argparse
import datetime
import json
import math
import statistics
import sys
import time
import warnings

from peerkit import HAS_GPU, DEVICE, SUFFIX, Kernels, Side, as_list, torch

import peers_attention
import peers_decode
import peers_libraries
import peers_rows
import peers_scan

SEED = 0x5EED
MIN_CALLS, MAX_CALLS = 30, 100
# Target: the lower of 0.80 of the copy bandwidth and 0.95 of the best peer; for TFLOP/s
# the latter.
GOAL, OF_PEER = 0.80, 0.95
GROUPS = peers_rows, peers_attention, peers_scan, peers_decode
# |got - want| / |want|, as norms. Rounding to bf16 alone gives 0.002. Peers may round
# intermediate results: they only have to compute the same function.
OUR_TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4e-3}
PEER_TOLERANCE = 0.05


# --- results and times ------------------------------------------------------------------


def error_of(got, want):
    """the largest |got - want| / |want|; NaN if any is"""
    worst = 0.0
    for g, w in zip(got, want, strict=True):
        if g.shape != w.shape:
            raise ValueError(f"the result is {tuple(g.shape)}, not {tuple(w.shape)}")
        error = float((g.to(w.dtype) - w).norm() / w.norm())
        worst = error if math.isnan(error) else max(worst, error)
        if math.isnan(worst):
            break
    return worst


def check(side, want):
    if side.before:
        side.before()
    error = error_of(side.results(side.call()), want)
    wait()
    return error


def wait():
    if HAS_GPU:
        torch.cuda.synchronize()


class Clock:
    CYCLES_PER_S = 3e9  # above the clock of any GPU: the spin is never too short

    def __init__(self):
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        self.other = torch.zeros(5 * l2 // 4, device=DEVICE)

    def measure(self, side, calls, spin_s):
        events = []
        for _ in range(calls):
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            if side.before:
                side.before()
            self.other.sum()
            torch.cuda._sleep(int(spin_s * self.CYCLES_PER_S))
            start.record()
            side.call()
            stop.record()
            events.append((start, stop))
        wait()
        return [start.elapsed_time(stop) for start, stop in events]

    def time(self, side):
        """the times of the calls, ms"""
        self.measure(side, 3, 0.0)
        start = time.perf_counter()
        side.call()
        enqueued = time.perf_counter() - start
        wait()
        spin = min(max(2 * enqueued, 50e-6), 4e-3)
        about = statistics.median(self.measure(side, 3, spin))
        calls = int(min(max(40.0 / max(about, 1e-3), MIN_CALLS), MAX_CALLS))
        return self.measure(side, calls, spin)


def copy_speed(clock):
    source = torch.ones(1 << 28, device=DEVICE)  # 1 GiB
    to = torch.empty_like(source)
    side = Side(lambda: to.copy_(source), as_list)
    ms = statistics.median(clock.time(side))
    return 2 * source.numel() * 4 / ms / 1e6


# --- report -----------------------------------------------------------------------------


class Report:
    def __init__(self, path, machine):
        self.json = open(path, "w", encoding="utf-8") if path else None
        self.common = {
            "machine": machine,
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat("T", "seconds"),
            "torch": torch.__version__,
            "command": " ".join(sys.argv),
        }
        self.table = []

    def line(self, **figures):
        if self.json:
            self.json.write(json.dumps({**self.common, **figures}) + "\n")
            self.json.flush()

    def print_table(self, copy):
        print(f"\nfractions of the copy bandwidth, {copy:.0f} GB/s, or TFLOP/s, "
              f"{self.common['machine']}, torch {torch.__version__}")
        print(f"{'':22} {'':4} {'':26} {'ours':>6}  {'best peer':22} {'target':>6}")
        for op, dtype, shape, ours, peer, name, target, verdict in self.table:
            cells = ["-" if x is None else shown(x) for x in (ours, peer, target)]
            best = f"{cells[1]} {name}"
            print(f"{op:22} {dtype:4} {shape:26} {cells[0]:>6}  {best:22} {cells[2]:>6} "
                  f"{verdict}")


def shown(figure):
    """a fraction of the copy bandwidth, or TFLOP/s, which are never below ten"""
    return f"{figure:.3f}" if figure < 10 else f"{figure:.0f}"


def run_side(row, name, make, limit, clock, copy, report):
    """Checks, times and prints one side. Returns its fraction of the copy bandwidth or
    its TFLOP/s, or None."""
    what = {"op": row.op, "dtype": SUFFIX[row.dtype], "shape": row.shape, "side": name}
    head = f"{row.op:22} {what['dtype']:4} {row.shape:26} {name:12}"
    try:
        side = make()
        error = check(side, row.want)
        if not error <= limit:
            raise ValueError(f"wrong result: relative error {error:.2g}, tolerance {limit:.2g}")
        if not clock:
            print(f"{head} error {error:.2g}")
            return 1.0
        times = clock.time(side)
    except Exception as e:  # a peer that cannot run becomes a line of the report
        reason = f"{type(e).__name__}: {e}".splitlines()[0][:200]
        print(f"{head} failed: {reason}", flush=True)
        report.line(**what, failed=reason)
        try:
            wait()
        except RuntimeError as lost:
            first = str(lost).splitlines()[0]
            sys.exit(f"peers.py: the GPU stopped responding after {head}: {first}")
        return None
    ms = statistics.median(times)
    GBs, TFLOPs = row.bytes / ms / 1e6, row.flops / ms / 1e9
    speed = f"{GBs:7.1f} GB/s {GBs / copy:6.3f} of copy"
    if row.flops:
        speed = f"{TFLOPs:7.1f} TFLOP/s"
    print(f"{head} {ms:8.4f} ms {speed}, error {error:.1g}", flush=True)
    counted = {"flops": row.flops, "TFLOPs": round(TFLOPs, 1)} if row.flops else {}
    report.line(
        **what, ms=round(ms, 5), least_ms=round(min(times), 5), calls=len(times),
        bytes=row.bytes, GBs=round(GBs, 1), copy_GBs=round(copy, 1),
        of_copy=round(GBs / copy, 4), error=error, **counted,
    )
    return TFLOPs if row.flops else GBs / copy


def run_row(row, args, clock, copy, report, deadline):
    limit = row.tolerance or OUR_TOLERANCE[row.dtype]
    ours = run_side(row, "ours", lambda: row.ours, limit, clock, copy, report)
    best, best_name, late = None, "", []
    for name, make in {} if args.ours_only else row.peers.items():
        if time.monotonic() > deadline:
            late.append(name)
            continue
        fraction = run_side(row, name, make, PEER_TOLERANCE, clock, copy, report)
        if fraction is not None and (best is None or fraction > best):
            best, best_name = fraction, name
    target = None if row.flops else GOAL
    if best is not None:
        target = min(target or math.inf, OF_PEER * best)
    if ours is None:
        verdict = "FAILED"
    elif target is None:
        verdict = "no peer"
    else:
        verdict = "PASS" if ours >= target else "short"
    if late:
        verdict += f" (no time for {', '.join(late)})"
        report.line(
            op=row.op, dtype=SUFFIX[row.dtype], shape=row.shape, not_run=late,
            why=f"--budget {args.budget:.0f}",
        )
    report.table.append(
        (row.op, SUFFIX[row.dtype], row.shape, ours, best, best_name, target, verdict)
    )
    return ours is not None


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0].removeprefix("peers.py - ")
    )
    parser.add_argument("--library", default="build/cuda/bench/libkernels.so")
    parser.add_argument("--json", metavar="FILE", help="figures, one JSON line each")
    parser.add_argument(
        "--budget", type=float, default=150.0, metavar="SECONDS",
        help="start no peer after this time (default 150)",
    )
    parser.add_argument("--ours-only", action="store_true", help="no peers")
    parser.add_argument(
        "--only", default="", metavar="OPS", help="rmsnorm,softmax,attention,scan, ..."
    )
    parser.add_argument(
        "--check", action="store_true", help="small shapes; check results, time nothing"
    )
    args = parser.parse_args()
    known = {case[0].__name__ for group in GROUPS for case in group.CASES}
    args.only = set(args.only.split(",")) if args.only else known
    if args.only - known:
        parser.error(f"--only: choose from {', '.join(sorted(known))}")
    return args


def main():
    args = arguments()
    if not HAS_GPU and not args.check:
        sys.exit("peers.py: torch finds no GPU; run it where nvidia-smi shows one")
    # What a peer cannot do is in the report; torch would warn about it as well.
    warnings.simplefilter("ignore", UserWarning)
    deadline = time.monotonic() + args.budget
    kernels = Kernels(args.library)
    torch.manual_seed(SEED)
    machine, clock, copy = "CPU", None, 0.0
    if HAS_GPU:
        machine = torch.cuda.get_device_name(0)
        # A backward pass is called several times, so it must not reuse the memory of its
        # inputs.
        torch._functorch.config.donated_buffer = False
    if not args.check:
        clock = Clock()
        copy = copy_speed(clock)
    print(f"{machine}, torch {torch.__version__}, seed {SEED:#x}, copy {copy:.1f} GB/s"
          if clock else f"{machine}, torch {torch.__version__}, results only")
    missing = peers_libraries.missing() if HAS_GPU and not args.ours_only else []
    if missing:
        print(f"cannot be imported, left out: {', '.join(missing)}")
    report, good = Report(args.json, machine), True
    cases = [case for group in GROUPS for case in (group.SMALL if args.check else group.CASES)]
    for op, dtype, *sizes in cases:
        if op.__name__ not in args.only:
            continue
        try:
            for row in op(kernels, dtype, *sizes):
                good &= run_row(row, args, clock, copy, report, deadline)
                del row
        except Exception as e:  # for example out of memory; the other cases still run
            reason = f"{type(e).__name__}: {e}".splitlines()[0][:200]
            print(f"{op.__name__} {SUFFIX[dtype]} {sizes} failed: {reason}", flush=True)
            report.line(op=op.__name__, dtype=SUFFIX[dtype], sizes=sizes, failed=reason)
            good = False
        if HAS_GPU:
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    if clock:
        again = copy_speed(clock)
        report.line(op="copy", GBs=round(copy, 1), GBs_at_the_end=round(again, 1))
        took = time.monotonic() - deadline + args.budget
        print(f"copy at the end {again:.1f} GB/s, {took:.0f} s in total")
        report.print_table(copy)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
