"""samples.py - writes reports as check mode writes them: `samples.py FOLDER`.

    sample.json   four kernels of sample.cu, counts worked out by hand, four findings
    kinds.json    one finding of every kind
    clean.json    neither findings nor kernels
    hostile.json  a program whose every name and line of source tries to leave the page
                  (of hostile.cu, which is written too)"""
import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
N = 32768 * 1024  # elements of x
MB = 4 * N  # bytes of x: 134 MB
WARPS = N // 32  # requests in which each element is touched once
GPU = {
    "name": "h200", "label": "NVIDIA H200", "l2_bytes": 60 << 20, "copy_gb_s": 4286,
    "measured": True, "sms": 132, "clock_ghz": 1.98
}

# What ought to be no markup, in any place of any element, attribute or comment.
HOSTILE = "</code></script><script>document.title='hostile'</script>" \
          "<img src=x onerror=alert(1)>\"'` onload=alert(2) &lt;b&gt; --> ]]> " \
          "\u202e\u0007\x1b[31m"
KINDS = """out-of-bounds out-of-bounds-shared out-of-bounds-local out-of-bounds-variable
uninitialized uninitialized-shared misaligned null-pointer use-after-free host-pointer
race-shared race-global race-blocks same-value barrier-divergence deadlock bad-mask
shuffle-source infinite-loop async-copy async-proxy cluster-start cluster-exit misuse pdl
device-pointer double-free invalid-free leak copy-size copy-kind stream-race launch-error unchecked-error""".split()


def line_of(words):
    """The line of sample.cu that contains the words."""
    text = (HERE / "sample.cu").read_text().splitlines()
    return next(i for i, line in enumerate(text, 1) if words in line)


def sectors(per_request, requests=WARPS, ideal=4, each=128):
    return {
        "requests": requests, "sectors": per_request * requests,
        "ideal": ideal * requests, "bytes": each * requests
    }


def wavefronts(per_request, requests=WARPS):
    return {
        "requests": requests, "wavefronts": per_request * requests, "ideal": requests,
        "bytes": 128 * requests
    }


def worst(space, access, lanes, units, ideal, size=4):
    return {
        "space": space, "access": access, "bytes": size, "lanes": lanes,
        "sectors" if space == "global" else "wavefronts": units, "ideal": ideal
    }


def line(words, **counts):
    return {"file": "sample.cu", "line": line_of(words), **counts}


def buffer(name, reads=0, writes=0):
    return {
        "name": name, "bytes": MB, "file": "sample.cu",
        "line": line_of(f"cudaMalloc(&{name}"), "read_bytes": MB * reads,
        "read_distinct": MB if reads else 0, "reads": reads, "written_bytes": MB * writes,
        "written_distinct": MB if writes else 0, "writes": writes
    }


def kernel(name, grid, block, glob, shared, dram, lines, buffers, **more):
    blocks = grid[0] * grid[1]
    threads = block[0] * block[1]
    return {
        "name": name, "file": "sample.cu",
        "line": line_of(name.partition("<")[0] + "<<<"), "launches": 1, "grid": grid,
        "block": block, "shared_bytes": 0, "blocks": blocks,
        "warps": blocks * threads // 32, "barriers": 0, "collectives": {
            "shuffle": 0, "sync": 0, "vote": 0, "reduce": 0, "match": 0, "matrix": 0
        }, "global": glob, "shared": shared,
        "dram": {"read": dram[0], "written": dram[1], "model": "H200, 60 MB of L2"},
        "least": {"read": MB, "written": MB}, "buffers": buffers, "lines": lines, **more
    }


def kernels(folder):
    column = [4096 * lane for lane in range(32)]
    row = [4 * lane for lane in range(32)]
    norm = kernel("norm_rows", [256, 1, 1], [128, 1, 1],
                  {"read": sectors(32, 2 * WARPS), "write": sectors(32)}, {},
                  (2 * MB, MB), [
                      line(
                          "squares += x", **{
                              "global": {"read": sectors(32)}, "worst": worst(
                                  "global", "read", column, 32, 4)
                          }),
                      line(
                          "= x[row * C + c] * r", **{
                              "global": {"read": sectors(32), "write": sectors(32)},
                              "worst": worst("global", "write", column, 32, 4)
                          })
                  ], [buffer("a", reads=2), buffer("b", writes=1)])
    transpose = kernel(
        "transpose", [32, 1024, 1], [32, 8, 1], {"read": sectors(4), "write": sectors(4)},
        {"write": wavefronts(1), "read": wavefronts(32)}, (MB, MB), [
            line(
                "= in[(y + k)", **{
                    "global": {"read": sectors(4)}, "shared": {"write": wavefronts(1)},
                    "worst": worst("global", "read", row, 4, 4)
                }),
            line("__syncthreads();", barriers=32768, collectives={"vote": 4096}),
            line(
                "= tile[threadIdx.x]", **{
                    "global": {"write": sectors(4)}, "shared": {"read": wavefronts(32)},
                    "worst": worst("shared", "read", [128 * lane
                                                      for lane in range(32)], 32, 1)
                })
        ], [buffer("b", reads=1), buffer("a", writes=1)], barriers=32768)
    shift = kernel(
        "shift", [N // 256, 1, 1], [256, 1, 1], {"read": sectors(5), "write": sectors(4)},
        {}, (MB, MB), [
            line(
                "out[i] = in[i + 1]", **{
                    "global": {"read": sectors(5), "write": sectors(4)}, "worst": worst(
                        "global", "read", [4 + 4 * lane for lane in range(32)], 5, 4)
                })
        ], [buffer("a", reads=1), buffer("b", writes=1)])
    total = kernel(
        "total<float>", [N // 256, 1, 1], [256, 1, 1],
        {"read": sectors(4), "write": sectors(1, N // 256, 1, 4)},
        {"write": wavefronts(1), "read": wavefronts(1, 2 * WARPS)}, (MB, 32), [
            line("part[t] = in", **
                 {"global": {"read": sectors(4)}, "shared": {"write": wavefronts(1)}}), {
                     **line("part[t] += part", shared={
                         "read": wavefronts(1, 2 * WARPS)
                     }), "barriers": 0
                 },
            line(
                "sum[0] = part[0]", **{
                    "global": {"write": sectors(1, N // 256, 1, 4)}, "shared": {
                        "read": wavefronts(1)
                    }, "worst": worst("global", "write", [0] * 32, 1, 1)
                })
        ], [buffer("a", reads=1)], barriers=N // 256, least={"read": MB, "written": 4})
    # The same file, named in another way: one file in the report.
    shift["lines"][0]["file"] = str(folder.resolve() / "sample.cu")
    # Read by every block, but it stays in L2; and too few bytes to be worth a word.
    table = {"read_bytes": MB, "read_distinct": 4096, "reads": N // 1024}
    shift["buffers"].append({**buffer("a"), "name": "table", **table})
    few = {"written_bytes": N // 64, "written_distinct": 4, "writes": N // 256}
    total["buffers"].append({**buffer("b"), **few})
    return [norm, transpose, shift, total]


def finding(kind, words, message, fix, **more):
    place = line(words)
    return {
        "kind": kind, "severity": "error", "file": "sample.cu", "line": place["line"],
        "kernel": "", "block": [0, 0, 0], "thread": [0, 0, 0], "what": "",
        "message": message, "other": None, "fix": fix, "count": 1, **more
    }


def sample():
    read = line_of("part[t] += part")
    race = "thread (0,0,0) reads part[1], which thread (1,0,0) of the block writes: " \
           "no barrier orders the two accesses"
    return [
        finding(
            "out-of-bounds", "out[i] = in[i + 1]",
            "reads in[33554432], 4 bytes past the end of the 134217728-byte buffer a",
            "compare the index that is read with the number of elements: i + 1 < n",
            kernel="shift", block=[131071, 0, 0], thread=[255, 0, 0], what="a"),
        finding(
            "race-shared", "part[t] += part", race,
            "put a __syncthreads() between the rounds, outside of the if",
            kernel="total<float>", what="part", count=500, other={
                "file": "sample.cu", "line": read, "block": [0, 0, 0],
                "thread": [1, 0, 0], "access": "writes"
            }),
        # The same cause, seen with another line.
        finding(
            "race-shared", "part[t] += part", race, "", kernel="total<float>", count=12,
            other={
                "file": "sample.cu", "line": line_of("sum[0] = part"), "block": [0, 0, 0],
                "thread": [255, 0, 0], "access": "reads"
            }),
        finding("same-value", "sum[0] = part[0]",
                "256 threads of block (0,0,0) write the same value to sum[0]",
                "let one thread write: if (t == 0)", severity="note",
                kernel="total<float>", what="b", count=131072),
        finding("leak", "cudaMalloc(&b", "the 134217728-byte buffer b is never freed",
                "call cudaFree(b) before the program ends", what="b"),
    ]


def kinds():
    return [
        finding(kind, "sum[0] = part[0]", f"the message of {kind}", f"the fix of {kind}",
                kernel="total<float>",
                severity="note" if kind == "same-value" else "error") for kind in KINDS
    ]


def hostile(folder):
    """Every text of the report, and the source, is HOSTILE; numbers are absurd."""
    def spoil(value, key=""):
        if key in ("severity", "space", "access") or value is None:
            return value
        if isinstance(value, dict):
            return {k: spoil(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(v, key) for v in value]
        return HOSTILE if isinstance(value, str) and key != "file" else \
            "hostile.cu" if key == "file" else value

    report = spoil({
        "program": "", "findings": sample(), "kernels": kernels(folder), "gpu": GPU,
        "ptxas": [{"name": "", "registers": 32, "sm": 90}]
    })
    last = report["kernels"][-1]
    last["global"]["read"]["sectors"], last["launches"] = float("nan"), "many"
    last["lines"][0]["line"], last["lines"][1]["file"] = -5, "/etc/passwd"
    last["lines"][2]["worst"]["lanes"] = [10 ** 30, None, "x", -1, 1.5]
    last["collectives"] = {HOSTILE: 3}
    report["findings"].append({"kind": HOSTILE, "file": HOSTILE, "line": 10 ** 400})
    return report


def main():
    folder = Path(sys.argv[1])
    plain = {"program": "build/check/programs/sample", "gpu": GPU}
    ptxas = [{
        "name": "norm_rows", "registers": 40, "spill_stores": 0, "spill_loads": 0,
        "shared": 0, "sm": 90
    }, {
        "name": "total<float>", "registers": 168, "spill_stores": 8, "spill_loads": 16,
        "shared": 1024, "sm": 90
    }]
    empty = {**plain, "findings": [], "kernels": []}
    reports = {
        "sample": {**plain, "findings": sample(), "kernels": kernels(folder),
                   "ptxas": ptxas},
        "kinds": {**empty, "findings": kinds()},
        "clean": empty,
        "hostile": hostile(folder)}
    for name, report in reports.items():
        (folder / f"{name}.json").write_text(json.dumps(report, indent=1))
    shutil.copy(HERE / "sample.cu", folder)
    text = (HERE / "sample.cu").read_text().replace("squares", HOSTILE)
    (folder / "hostile.cu").write_text(text)


if __name__ == "__main__":
    main()
