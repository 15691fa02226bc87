"""counts.py REPORT.json - compares the counts of tests/check/counts.cu with those
known by hand. For reads, writes and atomics: requests, sectors (or wavefronts), ideal,
bytes."""
import json
import sys

GLOBAL = {  # kernel: {access: (requests, sectors, ideal, bytes)}
    "coalesced": {"read": (1, 4, 4, 128), "write": (1, 4, 4, 128)},
    "misaligned": {"read": (1, 5, 4, 128), "write": (1, 5, 4, 128)},
    "strided<2>": {"read": (1, 8, 4, 128), "write": (1, 8, 4, 128)},
    "strided<8>": {"read": (1, 32, 4, 128), "write": (1, 32, 4, 128)},
    "broadcast": {"read": (1, 1, 1, 4), "write": (1, 4, 4, 128)},
    "vectors": {"read": (1, 16, 16, 512), "write": (1, 16, 16, 512)},
    "pairs": {"read": (2, 16, 8, 256), "write": (2, 16, 8, 256)},
    "single_bytes": {"read": (1, 1, 1, 32), "write": (1, 1, 1, 32)},
    "scattered": {"read": (1, 8, 4, 128), "write": (1, 4, 4, 128)},
    "even_lanes": {"read": (1, 4, 2, 64), "write": (1, 4, 2, 64)},
    "two_branches": {"read": (2, 4, 4, 128), "write": (2, 4, 4, 128)},
    # 2 blocks of 40 threads: 32 + 8 + 32 + 8, and 20 elements in a second iteration
    "grid_stride": {"read": (5, 13, 13, 400), "write": (5, 13, 13, 400)},
    "some_iterations": {"read": (8, 32, 24, 768), "write": (1, 4, 4, 128)},
    "causal": {"read": (32, 32, 32, 128), "write": (1, 4, 4, 128)},
    "nested": {"read": (12, 48, 36, 1152), "write": (6, 24, 24, 768)},
    "read_twice": {"read": (2, 8, 8, 256), "write": (1, 4, 4, 128)},
    "histogram": {"atomic": (4, 4, 4, 64)},
    "large_struct": {"read": (75, 75, 75, 1200), "write": (75, 75, 75, 1200)},
    "builtin_copy": {"read": (75, 75, 75, 1200), "write": (75, 75, 75, 1200)},
    "read_variables": {"read": (1, 8, 4, 128), "write": (1, 4, 4, 128)},
    "in_place": {"read": (4, 16, 16, 512), "write": (4, 16, 16, 512)},
    "async_copies": {"async": (2, 20, 20, 640), "write": (2, 32, 32, 1024)},
    # tiles of 4 rows of 32 bytes, half of it out of range in the second one
    "tiles": {"tma_load": (2, 10, 5, 160), "tma_store": (1, 2, 2, 64)},
    "wmma_sum<float>": {"read": (4, 32, 32, 1024), "write": (4, 32, 32, 1024)},
    "wmma_sum<__half>": {"read": (4, 32, 16, 512), "write": (4, 32, 16, 512)},
    "wmma_factor<wmma::matrix_a, wmma::row_major>":
        {"read": (4, 32, 16, 512), "write": (1, 4, 4, 128)},
}
SHARED = {  # kernel: {access: (requests, wavefronts, ideal, bytes)}
    "transpose<32>": {"read": (32, 1024, 32, 4096), "write": (32, 32, 32, 4096)},
    "transpose<33>": {"read": (32, 32, 32, 4096), "write": (32, 32, 32, 4096)},
    "permuted<float, 0>": {"read": (1, 1, 1, 128), "write": (1, 1, 1, 128)},
    "permuted<float, 1>": {"read": (1, 2, 1, 128), "write": (1, 2, 1, 128)},
    "permuted<float, 2>": {"read": (1, 1, 1, 128), "write": (1, 1, 1, 128)},
    "permuted<float2, 0>": {"read": (1, 2, 2, 256), "write": (1, 2, 2, 256)},
    "permuted<float2, 1>": {"read": (1, 4, 2, 256), "write": (1, 4, 2, 256)},
    "permuted<float2, 2>": {"read": (1, 2, 2, 256), "write": (1, 4, 2, 256)},
    "permuted<float4, 0>": {"read": (1, 4, 4, 512), "write": (1, 4, 4, 512)},
    "permuted<float4, 1>": {"read": (1, 8, 4, 512), "write": (1, 8, 4, 512)},
    "permuted<float4, 2>": {"read": (1, 4, 4, 512), "write": (1, 8, 4, 512)},
    "same_word": {"read": (1, 1, 1, 8), "write": (1, 1, 1, 8)},
    "few_vectors<1>": {"read": (1, 2, 2, 16), "write": (1, 1, 1, 16)},
    "few_vectors<4>": {"read": (1, 4, 4, 64), "write": (1, 1, 1, 64)},
    "shared_atomics": {"read": (1, 1, 1, 128), "write": (1, 1, 1, 128),
                       "atomic": (2, 33, 2, 132)},
    "matrices<false>": {"read": (1, 32, 4, 512), "write": (64, 64, 64, 4096)},
    "matrices<true>": {"read": (1, 4, 4, 512), "write": (64, 64, 64, 4096)},
    "async_copies": {"read": (2, 8, 8, 1024), "write": (2, 8, 8, 1024)},
    "wmma_factor<wmma::matrix_a, wmma::row_major>":
        {"read": (1, 32, 4, 512), "write": (36, 36, 36, 2304)},
    "wmma_factor<wmma::matrix_b, wmma::col_major>":
        {"read": (1, 4, 4, 512), "write": (36, 36, 36, 2304)},
    "wmma_sum<float>": {"read": (4, 8, 8, 1024), "write": (4, 8, 8, 1024)},
    "wmma_sum<__half>": {"read": (4, 4, 4, 512), "write": (4, 4, 4, 512)},
}
# kernel: bytes read from DRAM, written; read and written at least
MEMORY = {
    "coalesced": (128, 128, 128, 128),
    "misaligned": (160, 160, 128, 128),
    "strided<8>": (1024, 1024, 128, 128),
    "read_twice": (128, 128, 128, 128),
    "histogram": (32, 32, 16, 16),
    "in_place": (512, 512, 512, 512),
    "tiles": (320, 64, 160, 64),
    "small": (1 << 20, 128, 128 << 10, 128),  # fits into the T4's 4 MB
    "large": (12 << 20, 128, 768 << 10, 128),  # 6 MB, twice: nothing is found again
}
READS = {"coalesced": ("x", 1), "tiles": ("x", 1), "read_twice": ("x", 2), "causal": ("x", 1),
         "small": ("buffer", 2), "large": ("buffer", 2)}
TENSOR = {"tensor_cores": 16 * 8 * 16 + 16 * 16 * 16}  # multiply-adds of the two calls
COLLECTIVES = {"shuffle": 24, "sync": 4, "vote": 4, "reduce": 0, "match": 0, "matrix": 0}
EVENTS = {"barrier": [2, 2], "shuffle": [20, 4], "vote": [4], "sync": [4]}
# the lane offsets of the request with the worst ratio
WORST = {
    "strided<8>": ("global", "read", [32 * l for l in range(32)]),
    "even_lanes": ("global", "read",
                   [None if l % 2 else 4 * l for l in range(32)]),
    "transpose<32>": ("shared", "read", [128 * l for l in range(32)]),
}

failed = []


def compare(what, got, expected):
    if got != expected:
        failed.append(f"{what}: {got}, expected {expected}")


def accesses(kernel, space, unit):
    return {access: (t["requests"], t[unit], t["ideal"], t["bytes"])
            for access, t in kernel[space].items() if t["requests"]}


def sum_of_lines(kernel, space, access, key):
    return sum(line.get(space, {}).get(access, {}).get(key, 0)
               for line in kernel["lines"])


def check_worst(name, kernel):
    space, access, lanes = WORST[name]
    worst = max((line["worst"] for line in kernel["lines"] if "worst" in line),
                key=lambda w: w.get("sectors", w.get("wavefronts")) / w["ideal"])
    compare(f"{name}: worst request", (worst["space"], worst["access"]), (space, access))
    column = 4 * 31 if space == "shared" else 0  # the last warp that met the worst case
    first = next(o for o in worst["lanes"] if o is not None)
    got = [o if o is None else o - first for o in worst["lanes"]]
    compare(f"{name}: its lanes", got, lanes)
    assert first <= column


def check_kernel(name, kernel):
    for table, space, unit in ((GLOBAL, "global", "sectors"),
                               (SHARED, "shared", "wavefronts")):
        if name in table:
            compare(f"{name}, {space}", accesses(kernel, space, unit), table[name])
        for access, t in kernel[space].items():
            for key in t:
                compare(f"{name}: sum over the lines of {space} {access} {key}",
                        sum_of_lines(kernel, space, access, key), t[key])
    if name in MEMORY:
        dram, least = kernel["dram"], kernel["least"]
        compare(f"{name}: DRAM", (dram["read"], dram["written"], least["read"],
                                  least["written"]), MEMORY[name])
    if name in READS:
        buffer, times = READS[name]
        reads = {b["name"]: b["reads"] for b in kernel["buffers"] if b["reads"]}
        compare(f"{name}: reads", reads, {buffer: times})
    compare(f"{name}: tensor cores", kernel["tensor"], TENSOR.get(name, 0))
    if name in WORST:
        check_worst(name, kernel)


report = json.load(open(sys.argv[1], encoding="utf-8"))
compare("findings", report["findings"], [])
gpu = report["gpu"]
compare("GPU", (gpu["name"], gpu["l2_bytes"], gpu["sms"], gpu["clock_ghz"]),
        ("t4", 4 << 20, 40, 1.59))
kernels = {k["name"]: k for k in report["kernels"]}
for name in {*GLOBAL, *SHARED, *MEMORY}:
    if name not in kernels:
        failed.append(f"{name}: not in the report")
for name, kernel in kernels.items():
    check_kernel(name, kernel)
compare("blocks, one per multiprocessor of the T4", kernels["per_multiprocessor"]["blocks"],
        40)
events = kernels["events"]
compare("events: barriers", events["barriers"], 4)
lines = {}  # what each line of the kernel does, and the number of such lines
for line in events["lines"]:
    for name, n in {**line.get("collectives", {}), "barrier": line.get("barriers")}.items():
        if n:
            lines.setdefault(name, []).append(n)
compare("events: per line", lines, EVENTS)
compare("atomics per line", [line["global"]["atomic"]["requests"]
                             for line in kernels["histogram"]["lines"]], [4])
compare("events: collectives", events["collectives"], COLLECTIVES)
compare("events: launches, blocks, warps",
        (events["launches"], events["blocks"], events["warps"]), (1, 2, 4))
print("\n".join(failed) or f"{len(kernels)} kernels")
sys.exit(bool(failed))
