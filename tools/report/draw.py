"""draw.py - the drawings of the page: bars, which lanes touched which sectors or banks, and
the roofline. Colours come from page.css. Every text is escaped."""
import math
from html import escape

from .counts import SECTOR
from .values import plain, size

ROW = 128  # bytes that the 32 banks hold at the same depth
FULL = 32.0  # sectors per request, or ways of a conflict, of a full bar


def bar(good, bad=0.0):
    """A bar of two parts, as fractions of its width."""
    good = min(1.0, max(0.0, good))
    bad = min(1.0 - good, max(0.0, bad))
    return (f'<span class="bar" aria-hidden="true"><i class="good" style="width:{good:.1%}"></i>'
            f'<i class="bad" style="width:{bad:.1%}"></i></span>')


def ranges(numbers):
    """[0, 1, 2, 5] -> "0–2, 5"."""
    parts, numbers = [], sorted(numbers)
    for n in numbers:
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def label_size(text, width):
    """A font size that fits, or 0."""
    fits = min(10.5, width / (0.62 * len(text)))
    return fits if fits >= 5 else 0


def cell(x, y, width, height, lanes, kind, what):
    """A rectangle with the lanes in it."""
    text = ranges(lanes)
    font = label_size(text, width - 1)
    words = f"lane{'' if len(lanes) == 1 else 's'} {text}: {what}"
    drawn = (f'<rect class="{kind}" x="{x:.2f}" y="{y}" width="{max(width - 1, 1):.2f}" '
             f'height="{height - 1}"><title>{escape(words)}</title></rect>')
    if font:
        drawn += (f'<text x="{x + (width - 1) / 2:.2f}" y="{y + height / 2 + font / 3:.1f}" '
                  f'font-size="{font:.1f}" text-anchor="middle">{text}</text>')
    return drawn


# --- global memory: one strip per sector ------------------------------------------------

def pieces(worst):
    """{(first byte, end): lanes}, cut at the sectors' borders."""
    found = {}
    for lane, at in worst.active():
        first = at
        while first < at + worst.bytes:
            end = min(at + worst.bytes, first - first % SECTOR + SECTOR)
            found.setdefault((first, end), []).append(lane)
            first = end
    return found


def sector_strip(number, found):
    width, cells = 208, ""
    for (first, end), lanes in sorted(found.items()):
        x, w = (first % SECTOR) * width / SECTOR, (end - first) * width / SECTOR
        cells += cell(x, 13, w, 19, lanes, "good", f"bytes {first} to {end - 1}")
    used = len({b for first, end in found for b in range(first, end)})
    return (f'<svg class="sector" viewBox="0 0 {width} 33" role="img" '
            f'aria-label="sector at byte {number * SECTOR}: {used} of 32 bytes used">'
            f'<text class="dim" x="0" y="9" font-size="9">+{number * SECTOR}</text>'
            f'<text class="dim" x="{width}" y="9" font-size="9" text-anchor="end">{used} of 32 B</text>'
            f'<rect class="unused" x="0" y="13" width="{width - 1}" height="18"/>{cells}</svg>')


def sectors(worst):
    strips = {}
    for (first, end), lanes in pieces(worst).items():
        strips.setdefault(first // SECTOR, {})[first, end] = lanes
    return "".join(sector_strip(n, strips[n]) for n in sorted(strips))


# --- shared memory: banks across, rows of 128 bytes down --------------------------------

def phases(worst):
    """The lanes that are served together: all, halves (8 bytes) or quarters (16 bytes)."""
    lanes = 32 // max(1, worst.bytes // 4)
    for first in range(0, 32, lanes):
        active = [(lane, at) for lane, at in worst.active() if first <= lane < first + lanes]
        if active:
            yield first, first + lanes - 1, active


def banks_of_phase(active, width):
    """{row of memory: {bank: lanes}}, and how many rows each bank is asked for."""
    found, asked = {}, {}
    for lane, at in active:
        for word in range(at // 4, (at + width - 1) // 4 + 1):
            found.setdefault(word * 4 // ROW, {}).setdefault(word % 32, []).append(lane)
            asked.setdefault(word % 32, set()).add(word * 4 // ROW)
    return found, {bank: len(rows) for bank, rows in asked.items()}


def banks(worst):
    w, h, left = 21, 17, 62
    y, drawn = 16, "".join(
        f'<text class="dim" x="{left + w * b + w / 2}" y="10" font-size="9" '
        f'text-anchor="middle">{b}</text>' for b in range(32))
    for first, last, active in phases(worst):
        found, asked = banks_of_phase(active, worst.bytes)
        if worst.bytes > 4:
            drawn += f'<text class="dim" x="0" y="{y + 10}" font-size="9">lanes {first}–{last}</text>'
            y += 14
        for row in sorted(found):
            drawn += (f'<text class="dim" x="{left - 6}" y="{y + 12}" font-size="9" '
                      f'text-anchor="end">+{row * ROW}</text>')
            drawn += f'<rect class="empty" x="{left}" y="{y}" width="{w * 32 - 1}" height="{h - 1}"/>'
            for bank, lanes in sorted(found[row].items()):
                kind = "bad" if asked[bank] > 1 else "good"
                drawn += cell(left + w * bank, y, w, h, lanes, kind,
                              f"bank {bank}, {asked[bank]} passes")
            y += h
        y += 5
    words = f"{worst.units} passes where {worst.ideal} suffice"
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="banks and lanes">'
            f'<svg class="banks" viewBox="0 0 {left + 32 * w} {y}" width="{left + 32 * w}" '
            f'height="{y}" role="img" aria-label="{words}">{drawn}</svg></div>')


# --- the roofline -----------------------------------------------------------------------

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 400, 252, 76, 14, 388, 210


def log_scale(low, high, start, end):
    return lambda v: start + (end - start) * math.log(min(high, max(low, v)) / low) / math.log(high / low)


def line(kind, x1, y1, x2, y2):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def words_at(x, y, text, anchor="middle", kind="dim", more=""):
    return (f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="10" '
            f'text-anchor="{anchor}"{more}>{escape(text)}</text>')


def roofline(bounds, gpu):
    """Useful bytes per second over the share of DRAM's bytes that are useful."""
    low = 2.0 ** -max(5, math.ceil(-math.log2(max(1e-6, min(
        bounds.useful, bounds.speed / gpu.copy if bounds.speed else 1.0)))) + 1)
    x, y = log_scale(low, 1.0, LEFT, RIGHT), log_scale(low, 2.0, BOTTOM, TOP)
    drawn, step = "", low
    while step <= 1.0:
        name = "1" if step == 1 else f"1/{round(1 / step)}"
        drawn += line("grid", x(step), TOP, x(step), BOTTOM)
        drawn += line("grid", LEFT, y(step), RIGHT, y(step))
        drawn += words_at(x(step), BOTTOM + 13, name)
        drawn += words_at(LEFT - 5, y(step) + 3, size(gpu.copy * step).replace("B", "B/s"), "end")
        step *= 4 if low < 1 / 64 else 2
    drawn += line("roof", x(low), y(low), x(1.0), y(1.0))
    middle_x, middle_y = x(low ** 0.55), y(low ** 0.55)
    angle = math.degrees(math.atan2(y(1.0) - y(low), x(1.0) - x(low)))
    drawn += words_at(middle_x, middle_y - 6, "DRAM", kind="roofname",
                      more=f' transform="rotate({angle:.1f} {middle_x:.1f} {middle_y:.1f})"')
    if bounds.ceiling and bounds.ceiling < 1.9 * gpu.copy:
        level = y(bounds.ceiling / gpu.copy)
        drawn += line("ceiling", LEFT, level, RIGHT, level)
        drawn += words_at(LEFT + 4, level - 4, "L1 and shared memory of this kernel", "start", "ceilname")
    drawn += f'<circle class="ideal" cx="{x(1.0):.1f}" cy="{y(1.0):.1f}" r="5"><title>the ideal kernel</title></circle>'
    at = f'cx="{x(bounds.useful):.1f}" cy="{y(bounds.speed / gpu.copy):.1f}"'
    name = plain(f"this kernel: {bounds.useful:.0%} useful, at most {size(bounds.speed)}/s")
    drawn += f'<circle class="dot" {at} r="6"><title>{escape(name)}</title></circle>'
    drawn += words_at((LEFT + RIGHT) / 2, HEIGHT - 12, "useful share of the bytes that DRAM moves", kind="axis")
    middle = (TOP + BOTTOM) / 2
    drawn += words_at(12, middle, "useful bytes per second, at most", kind="axis",
                      more=f' transform="rotate(-90 12 {middle})"')
    return (f'<svg class="roofline" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
            f'aria-label="{escape("roofline: " + name)}">{drawn}</svg>')
