#!/usr/bin/env python3
"""table.py DIR - the table case x tool, in Markdown, of the lines in DIR/results*
(sanitizer.sh, run.py --results)."""
import sys
from collections import Counter
from pathlib import Path

import cases

TOOLS = "check memcheck racecheck initcheck synccheck".split()


def read(folder):
    """{(program, case, tool): (exit, errors, places)}"""
    results = {}
    for path in sorted(Path(folder).glob("results*")):
        for line in path.read_text().splitlines():
            program, name, tool, code, errors, *where = line.split()
            results[program, name, tool] = code, int(errors), where
    return results


def word(case, result):
    if result is None:
        return "-"
    code, errors, where = result
    if errors < 0:
        return "hangs" if code in ("124", "137") else "no report"
    if not case.bug:
        wrong = "" if code == "0" else f"exit {code}"
        return "false report" if errors else wrong or "clean"
    marked = {f"{case.file}:{line}" for line, _ in case.marks}
    marked |= {f"{case.file}:{line}:{kind}" for line, kind in case.marks}
    if errors:
        return "found" if marked & set(where) else "found elsewhere"
    return "hangs" if code == "None" else "missed"


def summary(every, words):
    print("\n| | " + " | ".join(TOOLS) + " |\n|---|" + "---|" * len(TOOLS))
    for bug, what in ((True, "bugs"), (False, "right")):
        chosen = [case for case in every if case.bug == bug]
        counts = {
            tool: Counter(words[case, tool].replace("-", "not run") for case in chosen)
            for tool in TOOLS
        }
        for kind in sorted(set().union(*counts.values())):
            row = " | ".join(str(counts[tool][kind]) for tool in TOOLS)
            print(f"| {what} ({len(chosen)}): {kind} | {row} |")


def together(every, words):
    """What the tools of compute-sanitizer find, of the bugs on which all of them ran."""
    tools, bugs = TOOLS[1:], [case for case in every if case.bug]
    ran = [{words[case, tool] for tool in tools} for case in bugs]
    ran = [said for said in ran if "-" not in said]
    found = sum("found" in said for said in ran)
    other = sum("found elsewhere" in said and "found" not in said for said in ran)
    print(f"\nAll {len(tools)} tools of compute-sanitizer ran on {len(ran)} of the "
          f"{len(bugs)} bugs. They found {found} and named another line for {other}.")


def main():
    if len(sys.argv) != 2 or not Path(sys.argv[1]).is_dir():
        sys.exit("table.py DIR: name the folder with the results")
    results, every, words = read(sys.argv[1]), cases.all_cases(), {}
    if not results:
        sys.exit(f"{sys.argv[1]}/results*: none; run sanitizer.sh or run.py first")
    print("| case | kind | " + " | ".join(TOOLS) + " |\n|---|---|" + "---|" * len(TOOLS))
    for case in every:
        for tool in TOOLS:
            words[case, tool] = word(case, results.get((case.program, case.name, tool)))
        kinds = ", ".join(dict.fromkeys(kind for _, kind in case.marks)) or "right"
        row = " | ".join(words[case, tool] for tool in TOOLS)
        print(f"| {case.program} {case.name} | {kinds} | {row} |")
    summary(every, words)
    together(every, words)
    for case in every:  # without a tool
        code = results.get((case.program, case.name, "none"), ("0",))[0]
        if code != "0":
            print(f"\n{case}: exit {code} without a tool")


if __name__ == "__main__":
    main()
