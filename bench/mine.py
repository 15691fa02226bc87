"""mine.py - the learner's own kernels next to the ladder that the guide records.

    python bench/mine.py labs/lab03_rmsnorm/README.md FIGURES.jsonl

The file has rows of the program OP.mine: times from a GPU, or counts of counted.py. Each
table of the guide that has such a column is printed with one more row. Standard library
only."""
import re
import sys

import table

ROW = re.compile(r"^\| (\w+) \|(.*)\|$", re.MULTILINE)


def recorded(text, columns, counted):
    """{code: cells} of the columns of this kind, from the guide's table"""
    if any(map(table.is_counted, columns)):
        keep = slice(1, None) if counted else slice(0, 1)
    else:
        keep = slice(None)
    return {code: [cell.strip() for cell in rest.split("|")][keep]
            for code, rest in ROW.findall(text)}


def least_of(cells):
    """The fewest bytes that any rung moves, from a row of counts"""
    requests, sectors, ratio = cells[0].replace(",", ""), cells[1].split()[0], cells[2]
    return 32 * int(requests) * float(sectors) / float(ratio)


def own_cells(figures, columns, counted, rows):
    shown = []
    for column in columns:
        row = figures.get(("mine", column))
        if table.is_counted(column) != counted:
            continue
        if row is None:
            shown += ["not written yet"] + [""] * (len(table.COUNTED) - 1 if counted else 0)
        elif counted:
            shown += table.counted_cells(row, least_of(rows["solution"]))
        else:
            shown.append(table.cell(row))
    return shown


def print_table(head, rows):
    lines = [["", *head], *([code, *cells] for code, cells in rows.items())]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip())
    print()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: mine.py GUIDE.md FIGURES.jsonl")
    guide, path = sys.argv[1:]
    if not open(path, encoding="utf-8").read():
        sys.exit(f"no function of {guide.rpartition('/')[0]} that is timed is written yet")
    figures = table.read(path)
    counted = any(table.is_counted(what) for _, what in figures)
    for found in table.BLOCK.finditer(open(guide, encoding="utf-8").read()):
        columns = [c.strip() for c in found[1].split("|")]
        of_kind = [c for c in columns if table.is_counted(c) == counted]
        rows = recorded(found[2], columns, counted)
        if not of_kind or not rows:
            continue
        print(of_kind[0] if counted else "fraction of the copy bandwidth (GB/s), or TFLOP/s")
        rows["mine"] = own_cells(figures, columns, counted, rows)
        print_table(table.COUNTED if counted else of_kind, rows)
    if counted:
        print("Counted by check mode, docs/check.md. On a GPU the same command measures times.")
    else:
        devices = {row["device"] for row in figures.values()}
        print(f"mine: {', '.join(sorted(devices))}. The other rows are those of {guide}, which "
              "names their GPUs: compare fractions, not GB/s.")


main()
