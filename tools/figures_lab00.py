"""figures_lab00.py - the figures of lab 00's guide, for figures.py."""

import math

from drawing import Figure


def threads():
    f = Figure("lab00_basics/threads.svg", "A grid, one of its blocks, one of its warps, one thread", 760, 330)
    f.text(20, 24, "add_kernel&lt;&lt;&lt;4, 256&gt;&gt;&gt; for N = 1000: a grid of 4 blocks", bold=True)
    for b in range(4):
        f.box(20 + 182 * b, 36, 174, 40, "b" if b == 2 else "e", f"block {b}")
    f.text(740, 24, "the last 24 threads of block 3 have no element", "end", 12, "dim")
    f.line((384, 76), (20, 122)), f.line((558, 76), (740, 122))
    f.text(380, 112, "Block 2: 256 threads, which are 8 warps", "middle", bold=True)
    for w in range(8):
        f.box(20 + 90 * w, 122, 90, 36, "c" if w == 3 else "e", f"warp {w}")
    f.line((290, 158), (20, 204)), f.line((380, 158), (740, 204))
    f.text(380, 194, "Warp 3: 32 threads, its lanes", "middle", bold=True)
    for lane in range(32):
        f.box(20 + 22.5 * lane, 204, 22.5, 32, "a" if lane == 5 else "e", str(lane), 11)
    f.line((143.75, 236), (143.75, 258))
    f.text(20, 276, "Thread 3 * 32 + 5 = 101 of block 2:", bold=True)
    f.text(20, 297, "threadIdx.x = 101, blockIdx.x = 2, blockDim.x = 256, gridDim.x = 4")
    f.text(20, 317, "i = blockIdx.x * blockDim.x + threadIdx.x = 2 * 256 + 101 = 613")
    return f


def memory():
    f = Figure("lab00_basics/memory.svg", "The memory hierarchy of an H100", 760, 300)
    for sm, x in ((0, 20), (1, 230), (131, 530)):
        f.box(x, 20, 200, 128, "e")
        f.text(x + 10, 40, f"SM {sm}", bold=True)
        f.box(x + 10, 50, 180, 36, "a", "registers: 256 KB")
        f.box(x + 10, 96, 180, 42, "b")
        f.text(x + 100, 114, "shared memory and L1:", "middle")
        f.text(x + 100, 130, "256 KB", "middle")
        f.line((x + 100, 148), (x + 100, 172))
    f.text(480, 90, "...", "middle", 20)
    f.box(20, 172, 710, 36, "c", "L2 cache: 50 MB, for all SMs")
    f.line((375, 208), (375, 232))
    f.box(20, 232, 710, 36, "d", "device memory (HBM3): 80 GB. cudaMalloc allocates here")
    f.text(20, 289, "Registers belong to a thread, shared memory to a block; every thread "
           "sees device memory, through L2.", size=12, kind="dim")
    return f


def coalesced():
    f = Figure("lab00_basics/coalesced.svg", "A coalesced and a strided access of a warp", 760, 320)
    f.text(20, 24, "Neighbouring threads, neighbouring floats: x[i]", bold=True)
    for lane in range(32):
        f.box(28 + 22 * lane, 36, 22, 24, "a", str(lane), 11)
        f.line((39 + 22 * lane, 60), (39 + 22 * lane, 84))
        f.box(28 + 22 * lane, 84, 22, 24, "a")
    for sector in range(4):
        x = 28 + 176 * sector
        f.box(x, 84, 176, 24, "r")
        f.text(x + 88, 124, "sector of 32 bytes", "middle", 11, "dim")
    f.text(20, 144, "32 lanes read 128 bytes: 4 sectors, every byte is used")
    f.text(20, 184, "Neighbouring threads, a row apart: x[row * C]", bold=True)
    for lane in range(8):
        x = 28 + 88 * lane
        f.box(x, 196, 22, 24, "b", str(lane), 11)
        f.line((x + 11, 220), (x + 11, 244))
        for k in range(8):
            f.box(x + 10 * k, 244, 10, 24, "e" if k else "b")
        f.box(x, 244, 80, 24, "r")
    f.text(20, 286, "Every lane needs a sector of its own and uses 4 of its 32 bytes.")
    f.text(20, 304, "The picture has 8 of the 32 lanes: 32 sectors, an eighth of the bytes is used")
    return f


def banks():
    f = Figure("lab00_basics/banks.svg", "A column of a tile, without and with padding", 760, 318)
    f.text(20, 24, "Which bank has which element? Drawn with 8 banks in place of 32.", bold=True)
    for x, columns, words in ((20, 8, "tile[8][8]"), (400, 9, "tile[8][9]")):
        f.text(x, 52, words, bold=True)
        for row in range(8):
            for column in range(columns):
                bank = (row * columns + column) % 8
                kind = "b" if column == 0 else "e"
                f.box(x + 36 * column, 60 + 24 * row, 36, 24, kind, str(bank), 12)
    f.text(20, 276, "The first column lies in bank 0:")
    f.text(20, 294, "8 passes, one after the other")
    f.text(400, 276, "The first column lies in 8 banks: one pass")
    f.text(400, 294, "The last column of each row is padding", kind="dim")
    return f


# NVIDIA H100 80GB HBM3. Copy: make bench-basics, 16384x4096. Peak: NVIDIA's data sheet.
COPY_TB, PEAK_TFLOP = 3.03, 67.0
KERNELS = [  # words, FLOPs per byte, GB/s
    ("sum_rows", 1 / 4, 3003, "c"),
    ("the same, one thread per row", 1 / 4, 504, "b"),
    ("scale_rows", 1 / 8, 2518, "c"),
    ("the same, one thread per row", 1 / 8, 356, "b"),
]


def roofline():
    f = Figure("lab00_basics/roofline.svg", "Roofline of an H100 and four kernels", 760, 400)
    left, right, top, bottom = 70, 730, 50, 340
    x_low, x_high, y_low, y_high = -5, 8, -6, 8  # powers of two

    def at(flops_per_byte, tflops):
        px = (math.log2(flops_per_byte) - x_low) / (x_high - x_low)
        py = (math.log2(tflops) - y_low) / (y_high - y_low)
        return left + px * (right - left), bottom - py * (bottom - top)

    f.text(20, 24, "H100: the most that a kernel can compute per second, TFLOP/s", bold=True)
    f.line((left, top), (left, bottom), (right, bottom))
    for e in range(y_low, y_high + 1, 2):
        y = at(1, 2.0**e)[1]
        f.line((left - 5, y), (left, y))
        f.text(left - 10, y + 4, f"{2.0**e:g}" if e >= 0 else f"1/{2**-e}", "end", 12)
    for e in range(x_low, x_high + 1):
        x = at(2.0**e, 1)[0]
        f.line((x, bottom), (x, bottom + 5))
        f.text(x, bottom + 20, f"{2**e}" if e >= 0 else f"1/{2**-e}", "middle", 12)
    f.text((left + right) / 2, bottom + 44, "FLOPs per byte of device memory", "middle")
    ridge = PEAK_TFLOP / COPY_TB
    f.line(at(2.0**x_low, COPY_TB * 2.0**x_low), at(ridge, PEAK_TFLOP),
           at(2.0**x_high, PEAK_TFLOP), kind="r")
    x, y = at(2.0, COPY_TB * 2.0)
    f.text(x - 8, y - 8, "limit: bytes, 3.03 TB/s", "end")
    f.text(right, at(1, PEAK_TFLOP)[1] - 10, "limit: arithmetic, 67 TFLOP/s in float", "end")
    for words, intensity, gbs, kind in KERNELS:
        x, y = at(intensity, intensity * gbs / 1000)
        f.dot(x, y, kind)
        f.text(x + 12, y + 5, words)
    return f


FIGURES = (threads, memory, coalesced, banks, roofline)
