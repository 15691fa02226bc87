"""draw.py - the drawings of the page: bars, which lanes touched which sectors or banks,
and the roofline. Colours come from page.css."""
import math

from .counts import SECTOR
from .markup import region, tag
from .values import size

ROW = 128  # bytes that the 32 banks hold at the same depth
FULL = 32.0  # sectors per request, or ways of a conflict, of a full bar


def bar(good, bad=0.0):
    """A bar of two parts, as fractions of its width."""
    good = min(1.0, max(0.0, good))
    bad = min(1.0 - good, max(0.0, bad))
    return tag("span", tag("i", class_="good", style=f"width:{good:.1%}"),
               tag("i", class_="bad", style=f"width:{bad:.1%}"), class_="bar",
               aria_hidden="true")


def words(x, y, text, anchor="start", kind="dim", font=10.0, **more):
    return tag("text", text, class_=kind, x=f"{x:.1f}", y=f"{y:.1f}",
               font_size=f"{font:.1f}", text_anchor=anchor, **more)


def box(kind, x, y, width, height, *inside):
    return tag("rect", *inside, class_=kind, x=f"{x:.1f}", y=f"{y:.1f}",
               width=f"{max(1, width - 1):.1f}", height=f"{height - 1:.1f}")


def drawing(kind, width, height, label, *inside, fixed=False):
    """Fixed drawings keep their size; others fill their place."""
    measured = {"width": f"{width:g}", "height": f"{height:g}"} if fixed else {}
    return tag("svg", *inside, class_=kind, viewBox=f"0 0 {width:g} {height:g}",
               role="img", aria_label=label, **measured)


# --- lanes ------------------------------------------------------------------------------


def ranges(numbers):
    """[0, 1, 2, 5] -> "0–2, 5"."""
    parts = []
    for n in sorted(numbers):
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def lanes_box(kind, x, y, width, height, lanes, what):
    """A rectangle with the lanes in it, if they fit."""
    text = ranges(lanes)
    font = min(10.5, (width - 1) / (0.62 * len(text)))
    title = tag("title", f"lane{'' if len(lanes) == 1 else 's'} {text}: {what}")
    yield box(kind, x, y, width, height, title)
    if font >= 5:
        yield words(x + (width - 1) / 2, y + height / 2 + font / 3, text, "middle", None,
                    font)


# --- global memory: one strip per sector ------------------------------------------------


def pieces(worst):
    """{sector: {(first byte, end): lanes}}: an access may lie in two sectors."""
    found = {}
    for lane, at in worst.active():
        first = at
        while first < at + worst.bytes:
            end = min(at + worst.bytes, first - first % SECTOR + SECTOR)
            strip = found.setdefault(first // SECTOR, {})
            strip.setdefault((first, end), []).append(lane)
            first = end
    return found


def sector_strip(number, found):
    width = 208
    byte = width / SECTOR
    used = len({b for first, end in found for b in range(first, end)})
    boxes = [
        part for (first, end), lanes in sorted(found.items())
        for part in lanes_box("good", first % SECTOR * byte, 13, (end - first) *
                              byte, 19, lanes, f"bytes {first} to {end - 1}")
    ]
    return drawing("sector", width, 33,
                   f"sector at byte {number * SECTOR}: {used} of 32 bytes used",
                   words(0, 9, f"+{number * SECTOR}", font=9),
                   words(width, 9, f"{used} of 32 B", "end", font=9),
                   box("unused", 0, 13, width, 19), *boxes)


def sectors(worst):
    return [
        sector_strip(number, found) for number, found in sorted(pieces(worst).items())
    ]


# --- shared memory: banks across, rows of 128 bytes down --------------------------------

BANK, DEPTH, LEFT = 21, 17, 62  # width and height of a cell; room for the rows' names


class Phase:
    """Lanes that are served together: the words that they ask of each bank."""
    def __init__(self, lanes, first, width):
        self.lanes, self.rows, self.asked, words_asked = first, {}, {}, 0
        for lane, at in lanes:
            for word in range(at // 4, (at + width - 1) // 4 + 1):
                row = self.rows.setdefault(word // 32, {})
                row.setdefault(word % 32, []).append(lane)
        for row in self.rows.values():
            words_asked += len(row)
            for bank in row:
                self.asked[bank] = self.asked.get(bank, 0) + 1
        self.passes = max(self.asked.values())
        self.fewest = -(-words_asked // 32)


def phases_of(worst, together):
    found = [[v for v in worst.active() if first <= v[0] < first + together]
             for first in range(0, 32, together)]
    return [Phase(lanes, f"lanes {first}–{first + together - 1}", worst.bytes)
            for first, lanes in zip(range(0, 32, together), found) if lanes]


def phases(worst):
    """The whole warp at the same time, or (writes of 8 and 16 bytes, ldmatrix) halves or
    quarters of it: what takes as many passes as were counted."""
    whole = phases_of(worst, 32)
    parts = phases_of(worst, 32 // max(1, worst.bytes // 4))
    counted = sum(phase.passes for phase in parts) == worst.units
    return parts if counted and whole[0].passes != worst.units else whole


def bank_row(y, row, phase, conflicts):
    yield words(LEFT - 6, y + 12, f"+{row * ROW}", "end", font=9)
    yield box("empty", LEFT, y, BANK * 32, DEPTH)
    for bank, lanes in sorted(phase.rows[row].items()):
        asked = phase.asked[bank]
        kind = "bad" if conflicts and asked > phase.fewest else "good"
        yield from lanes_box(kind, LEFT + BANK * bank, y, BANK, DEPTH, lanes,
                             f"bank {bank} is asked for {asked} words")


def banks(worst):
    y, found = 16, phases(worst)
    drawn = [words(LEFT + BANK * (b + 0.5), 10, b, "middle", font=9) for b in range(32)]
    for phase in found:
        if len(found) > 1:
            drawn.append(words(0, y + 10, phase.lanes, font=9))
            y += 14
        for row in sorted(phase.rows):
            drawn += bank_row(y, row, phase, worst.units > worst.ideal)
            y += DEPTH
        y += 5
    label = f"{worst.units} passes where {worst.ideal} suffice"
    return region("banks and lanes",
                  drawing("banks", LEFT + BANK * 32, y, label, *drawn, fixed=True))


# --- the roofline -----------------------------------------------------------------------


class Plot:
    """Log scales: x from `low` to 1, y from `low` to 2 times the copy bandwidth."""
    width, height, left, top, right, bottom = 400, 252, 76, 14, 388, 210

    def __init__(self, least):
        self.low = 2.0 ** min(-5, math.floor(math.log2(max(least, 1e-6))) - 1)

    def x(self, v):
        return self.left + (self.right - self.left) * self.part(v, 1.0)

    def y(self, v):
        return self.bottom + (self.top - self.bottom) * self.part(v, 2.0)

    def part(self, v, high):
        return math.log(min(high, max(self.low, v)) / self.low) / math.log(
            high / self.low)

    def line(self, kind, x1, y1, x2, y2):
        return tag("line", class_=kind, x1=f"{x1:.1f}", y1=f"{y1:.1f}", x2=f"{x2:.1f}",
                   y2=f"{y2:.1f}")

    def point(self, kind, x, y, radius, title):
        return tag("circle", tag("title", title), class_=kind, cx=f"{self.x(x):.1f}",
                   cy=f"{self.y(y):.1f}", r=radius)

    def grid(self, copy):
        step = 1.0
        while step >= self.low:
            x, y = self.x(step), self.y(step)
            yield self.line("grid", x, self.top, x, self.bottom)
            yield self.line("grid", self.left, y, self.right, y)
            yield words(x, self.bottom + 13, "1" if step == 1 else f"1/{round(1 / step)}",
                        "middle")
            yield words(self.left - 5, y + 3, f"{size(copy * step)}/s", "end")
            step /= 4 if self.low < 1 / 64 else 2
        middle = (self.top + self.bottom) / 2
        yield words((self.left + self.right) / 2, self.height - 12,
                    "useful share of the bytes that DRAM moves", "middle", "axis")
        yield words(12, middle, "useful bytes per second, at most", "middle", "axis",
                    transform=f"rotate(-90 12 {middle})")

    def roof(self):
        x, y = self.x(self.low), self.y(self.low)
        angle = math.degrees(math.atan2(self.y(1.0) - y, self.right - x))
        at = self.low ** 0.55
        yield self.line("roof", x, y, self.right, self.y(1.0))
        yield words(self.x(at),
                    self.y(at) - 6, "DRAM", "middle", "roofname",
                    transform=f"rotate({angle:.1f} {self.x(at):.1f} {self.y(at):.1f})")

    def ceiling(self, part):
        y = self.y(part)
        yield self.line("ceiling", self.left, y, self.right, y)
        yield words(self.left + 4, y - 4, "L1 and shared memory of this kernel",
                    kind="ceilname")


def roofline(bounds, gpu):
    """Useful bytes per second over the share of DRAM's bytes that are useful."""
    speed, ceiling = bounds.speed / gpu.copy, bounds.ceiling / gpu.copy
    plot = Plot(min(bounds.useful, speed))
    name = f"this kernel: {bounds.useful:.0%} useful, at most {size(bounds.speed)}/s"
    return drawing("roofline", plot.width, plot.height, f"roofline: {name}",
                   *plot.grid(gpu.copy), *plot.roof(),
                   *(plot.ceiling(ceiling) if 0 < ceiling < 1.9 else ()),
                   plot.point("ideal", 1.0, 1.0, 5, "the ideal kernel"),
                   plot.point("dot", bounds.useful, speed, 6, name))
