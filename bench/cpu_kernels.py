"""cpu_kernels.py PROGRAM [OTHER] [-t THREADS] [-n ROUNDS] - times every kernel of
bench/cpu_kernels.cu. With a second program (the same source built by another back end)
the two alternate, so that other load slows both, and the ratio of the best times is
printed. Exit code 1 if a ratio is above --limit."""
import argparse
import os
import subprocess
import sys


def measure(program, kernel, env):
    out = subprocess.run([program, kernel, "3"], env=env, capture_output=True, text=True)
    if out.returncode:
        sys.exit(f"{program} {kernel}: {out.stderr.strip() or out.returncode}")
    time, unit, checksum = out.stdout.split()
    return float(time), unit, checksum


def main():
    p = argparse.ArgumentParser()
    p.add_argument("program")
    p.add_argument("other", nargs="?")
    p.add_argument("-t", "--threads", type=int, default=1, help="workers (default 1)")
    p.add_argument("-n", "--rounds", type=int, default=3, help="rounds of each (default 3)")
    p.add_argument("-k", "--kernel", help="only kernels whose name contains this")
    p.add_argument("--limit", type=float, default=1.15, help="highest ratio (default 1.15)")
    a = p.parse_args()
    n = str(a.threads)
    env = dict(os.environ, WB_THREADS=n, CUCPU_THREADS=n)
    names = subprocess.run([a.program], capture_output=True, text=True).stdout.split()
    slow = []
    print(f"{a.threads} worker(s), best of {a.rounds} x 3 runs")
    for name in names:
        if a.kernel and a.kernel not in name:
            continue
        best, other, sums = 1e30, 1e30, set()
        for turn in range(4 * a.rounds):
            if turn >= a.rounds and not (a.other and best / other > a.limit):
                break  # more rounds only if other load may be the cause
            time, unit, checksum = measure(a.program, name, env)
            best = min(best, time)
            sums.add(checksum)
            if a.other:
                time, _, checksum = measure(a.other, name, env)
                other = min(other, time)
                sums.add(checksum)
        line = f"{name:18} {best:9.3f} {unit}"
        if a.other:
            line += f"   other {other:9.3f} {unit}   ratio {best / other:5.2f}"
            if unit == "ms" and best / other > a.limit:  # times in ns are for information
                slow.append(name)
                line += "  slower"
        print(line + ("" if len(sums) == 1 else f"   checksums {' '.join(sorted(sums))}"), flush=True)
    if slow:
        sys.exit(f"slower than {a.limit} x the other back end: {', '.join(slow)}")


main()
