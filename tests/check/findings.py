"""findings.py REPORT.json SOURCE - the findings of a report are those that the comments
`// finds: KIND` of the source name, and no others."""
import json
import re
import sys

report, source = sys.argv[1:]
expected = set()
with open(source, encoding="utf-8") as file:
    for number, line in enumerate(file, 1):
        for kind in re.findall(r"// finds: ([a-z-]+)", line):
            expected.add((number, kind))
# The two accesses of a race: either may be the later one.
found, others = set(), set()
for f in json.load(open(report, encoding="utf-8"))["findings"]:
    found.add((f["line"], f["kind"]))
    if "other" in f:
        others.add((f["other"]["line"], f["kind"]))
missing = expected - found - others
wrong = found - expected
print("\n".join([f"line {n}: no {kind}" for n, kind in sorted(missing)] +
                [f"line {n}: unexpected {kind}" for n, kind in sorted(wrong)]) or
      f"{len(found)} findings")
sys.exit(bool(missing or wrong))
