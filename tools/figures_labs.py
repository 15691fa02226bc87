"""figures_labs.py - the figures of the guides of labs 01 to 07, for figures.py."""

import math

from drawing import Figure

COLOURS = "abcd"


def sigmoid(z):
    return 1 / (1 + math.exp(-z))


def gelu(z):
    return z * sigmoid(1.5957691216 * (z + 0.044715 * z**3))


def slope(function, z):
    return (function(z + 1e-4) - function(z - 1e-4)) / 2e-4


def activations():
    f = Figure("lab01_swiglu/activations.svg", "SiLU and GELU, and their derivatives", 690, 250)

    def panel(left, title, curves):
        x0, y0 = left + 187.5, 184.8  # of the origin; a unit is 37.5 wide and 73.1 high
        f.text(left, 18, title, bold=True)
        f.line((left, 24), (left + 300, 24), (left + 300, 214), (left, 214), (left, 24))
        f.line((left, y0), (left + 300, y0)), f.line((x0, 24), (x0, 214))
        for z in (-4, -2, 0, 2):
            f.text(x0 + 37.5 * z, 230, str(z), "middle", 12, "dim")
        for y in (0, 1, 2):
            f.text(left - 6, y0 + 4 - 73.1 * y, str(y), "end", 12, "dim")
        for k, (words, kind, function) in enumerate(curves):
            zs = [-5 + k / 8 for k in range(65)]
            seen = [(x0 + 37.5 * z, y0 - 73.1 * function(z)) for z in zs if function(z) < 2.2]
            f.line(*[(round(x, 1), round(y, 1)) for x, y in seen], kind=kind)
            f.line((left + 8, 46 + 18 * k), (left + 32, 46 + 18 * k), kind=kind)
            f.text(left + 38, 50 + 18 * k, words)

    def silu(z):
        return z * sigmoid(z)

    panel(30, "act(z)", [("SiLU: z s(z)", "p", silu), ("GELU, tanh form", "q", gelu),
                         ("max(z, 0), to compare", "s", lambda z: max(z, 0))])
    panel(370, "act'(z)", [("SiLU", "p", lambda z: slope(silu, z)),
                           ("GELU: up to 1.13", "q", lambda z: slope(gelu, z)),
                           ("s(z): not the derivative", "s", sigmoid)])
    return f


def pairs():
    f = Figure("lab02_rope/pairs.svg", "Which channels form a pair, and which thread rotates it",
               760, 316)

    def head(y, words, of_channel, height):
        f.text(20, y - 50, words, bold=True)
        for c in range(10):
            kind = COLOURS[of_channel[c]] if c < 8 else "e"
            f.box(20 + 38 * c, y, 38, 26, kind, str(c))
        for pair in range(4):
            x1, x2 = (39 + 38 * c for c in range(8) if of_channel[c] == pair)
            f.curve(x1, x2, y, height)

    head(74, "Half-split (here): pair i is (x[i], x[i + N/2])", [0, 1, 2, 3] * 2, 40)
    f.text(420, 74, "A head of D = 10 channels. The first")
    f.text(420, 92, "N = 8 are rotated: four pairs, each")
    f.text(420, 110, "with a frequency of its own.")
    for pair in range(4):
        f.box(20 + 76 * pair, 124, 76, 26, COLOURS[pair], f"thread {pair}")
    f.text(340, 141, "thread i reads x[i] and x[i + 4], then writes both")
    f.text(20, 170, "Grey: channels N to D-1, copied unchanged", size=12, kind="dim")
    head(244, "Interleaved: pair i is (x[2i], x[2i + 1])", [c // 2 for c in range(8)], 22)
    f.text(420, 244, "The same rotations, but the channels")
    f.text(420, 262, "are numbered differently.")
    f.text(20, 296, "A checkpoint has one order or the other, and nothing in it says which.",
           size=12, kind="dim")
    return f


def lane_sums():
    f = Figure("lab03_rmsnorm/lanes.svg", "A warp's sum with __shfl_xor_sync, drawn with 8 lanes",
               760, 350)
    f.text(20, 24, "v += __shfl_xor_sync(~0u, v, d): a lane adds the value of lane ^ d. "
           "Drawn with 8 of the 32 lanes.", bold=True)
    groups = {t: str(t) for t in range(8)}
    for row, d in enumerate((4, 2, 1, 0)):
        y = 40 + 84 * row
        for t in range(8):
            kind = "c" if not d else "a" if t in (0, d) else "e"
            f.box(100 + 80 * t, y, 72, 26, kind, groups[t], 11)
        f.text(20, y + 17, f"d = {d}" if d else "sum")
        if not d:
            break
        for t in range(8):
            f.line((136 + 80 * t, y + 26), (136 + 80 * t, y + 84))
            f.line((136 + 80 * (t ^ d), y + 26), (136 + 80 * t, y + 84))
        groups = {t: merged(groups[t], groups[t ^ d]) for t in range(8)}
    f.text(100, 338, "Blue: what lane 0 adds", size=12)
    return f


def merged(one, other):
    """'0+4' and '2+6': '0+2+4+6'; all eight: '0+…+7'"""
    lanes = sorted({*one.split("+"), *other.split("+")})
    return "+".join(lanes) if len(lanes) < 8 else "0+…+7"


def online():
    f = Figure("lab04_softmax/online.svg",
               "Each thread keeps the maximum and sum of its own columns; pairs are merged",
               760, 336)
    f.text(20, 26, "A row of x: threads 0 to 3 load four columns at a time", bold=True)
    for k in range(8):
        f.box(20 + 60 * k, 40, 60, 30, COLOURS[k % 4], str(k % 4))
    for k in range(3):
        f.box(500 + 15 * k, 40, 15, 30, COLOURS[k])
    f.text(522, 88, "tail", "middle", 11)
    f.box(545, 40, 75, 30, "e", "masked: 0", 11)
    f.text(20, 124, "Each thread: maximum and sum of its own columns", bold=True)
    own = [(2, 3.1), (5, 1.4), (1, 4.0), (4, 2.2)]
    for t, (m, s) in enumerate(own):
        x = 20 + 160 * t
        f.box(x, 136, 130, 44, COLOURS[t])
        f.text(x + 65, 154, f"m = {m}", "middle")
        f.text(x + 65, 172, f"s = {s}", "middle")
    pair = []
    for p in range(2):
        (m1, s1), (m2, s2) = own[2 * p], own[2 * p + 1]  # m1 < m2
        pair.append((m2, s1 * math.exp(m1 - m2) + s2))
        x = 50 + 320 * p
        f.arrow(x + 35, 180, x + 95, 214), f.arrow(x + 195, 180, x + 135, 214)
        f.box(x, 214, 230, 44, "e")
        f.text(x + 115, 231, f"m = max({m1}, {m2}) = {m2}", "middle")
        f.text(x + 115, 249, f"s = {s1} exp({m1}-{m2}) + {s2} = {pair[p][1]:.2f}", "middle")
    (m1, s1), (m2, s2) = pair  # m1 > m2
    f.arrow(165, 258, 265, 286), f.arrow(485, 258, 385, 286)
    f.box(175, 286, 300, 36, "e")
    f.box(175, 286, 300, 36, "r")
    f.text(325, 309, f"m = {m1}, s = {s1:.2f} + {s2:.2f} exp({m2}-{m1}) = "
           f"{s1 + s2 * math.exp(m2 - m1):.2f}", "middle")
    f.text(490, 302, "out = exp(x - 2) exp(2 - m) / s")
    f.text(490, 319, "for thread 0, which kept exp(x - 2)", size=11)
    return f


def seen():
    f = Figure("lab05_attention/seen.svg",
               "Which keys a query sees: causal, with a window, with documents", 760, 282)

    def panel(left, title, first):
        f.text(left, 22, title, bold=True, size=12)
        f.text(left, 42, "key j", size=11, kind="dim")
        for i in range(12):
            for j in range(12):
                kind = "m" if i == j else "a" if first(i) <= j < i else "e"
                f.box(left + 15 * j, 50 + 15 * i, 15, 15, kind)
        for i in range(0, 12, 4):
            for j in range(0, 12, 4):
                if any(first(q) <= k <= q for q in range(i, i + 4) for k in range(j, j + 4)):
                    f.box(left + 15 * j, 50 + 15 * i, 60, 60, "r")

    f.text(14, 60, "i", size=11, kind="dim")
    panel(30, "causal: j ≤ i", lambda i: 0)
    panel(275, "window = 3: itself and 3 more", lambda i: i - 3)
    panel(520, "documents of 5, 4 and 3 tokens", lambda i: 0 if i < 5 else 5 if i < 9 else 9)
    f.box(30, 244, 15, 15, "m"), f.text(52, 256, "the query itself, a row i for each query")
    f.box(320, 244, 15, 15, "a"), f.text(342, 256, "keys that it sees")
    f.text(30, 276, "Framed: the 4 x 4 tiles that must be computed. The others are never loaded.",
           size=12)
    return f


def lookback():
    f = Figure("lab06_rglru/lookback.svg", "How chunk 6 gets its start state by look-back",
               760, 336)
    f.text(20, 24, "What each chunk publishes as soon as it knows it: groups of 4 chunks", bold=True)
    for chunk in range(10):
        x = 20 + 72 * chunk
        state = chunk == 0 or chunk % 4 == 3
        f.text(x + 34, 50, f"chunk {chunk}", "middle", 12)
        f.box(x, 58, 68, 34, "b" if chunk == 6 else "c" if state else "a",
              f"state {chunk}" if state else f"A{chunk}, H{chunk}")
    for x in (308, 596):
        f.line((x - 2, 36), (x - 2, 100))
    for group, x in enumerate((300, 588, 734)):
        f.text(x, 110, f"group {group}", "end", 11, "dim")
    for chunk in (3, 4, 5):
        f.arrow(54 + 72 * chunk, 92, 486, 150)
    f.box(300, 150, 372, 30, "b", "chunk 6 starts from A5 (A4 state 3 + H4) + H5")
    f.box(20, 204, 24, 20, "a")
    f.text(52, 219, "a pair: needs only the chunk's own a and z. All chunks compute it in "
           "parallel")
    f.box(20, 232, 24, 20, "c")
    f.text(52, 247, "a state, from chunk 0 and the last chunk of each group: state 3 is the state "
           "after chunk 3.")
    f.text(52, 265, "It needs the previous state and the pairs of its group")
    f.box(20, 278, 24, 20, "b")
    f.text(52, 293, "looks back to the last published state, at most 4 chunks. Which chunks it "
           "reads depends only")
    f.text(52, 311, "on its index, never on timing")
    return f


def ring():
    f = Figure("lab07_kvcache/ring.svg", "A ring of six slots, before the token at position 14",
               760, 296)
    f.text(20, 24, "S = 6. The token at position p = 14 sees positions 8 to 13 and itself", bold=True)
    f.text(20, 64, "slot"), f.text(20, 92, "position")
    for slot in range(6):
        x, position = 100 + 76 * slot, 13 - (13 - slot) % 6
        f.text(x + 38, 64, str(slot), "middle", 12, "dim")
        f.box(x, 74, 76, 30, "b" if position == 8 else "a", str(position))
    f.curve(290, 600, 74, 34), f.box(568, 74, 64, 30, "c", "14")
    f.text(646, 94, "k, v: new")
    f.text(100, 128, "14 mod 6 = 2: slot 2 holds position 8, which is still visible. Read it, "
           "then write 14 there.")
    f.text(20, 178, "p = 4: the first tokens", bold=True)
    f.text(20, 212, "slot"), f.text(20, 240, "position")
    for slot in range(6):
        x = 100 + 76 * slot
        f.text(x + 38, 212, str(slot), "middle", 12, "dim")
        f.box(x, 222, 76, 30, "a" if slot < 4 else "e", str(slot) if slot < 4 else "?")
    f.box(568, 222, 64, 30, "c", "4")
    f.text(646, 242, "k, v: new")
    f.text(100, 276, "Slots 4 and 5 are not filled yet and may contain NaN, and 0 · NaN is NaN: do "
           "not read them.")
    return f


FIGURES = (activations, pairs, lane_sums, online, seen, lookback, ring)
