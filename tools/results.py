"""results.py - reads what the grader writes with --json: the score of one submission, case
by case. tools/export and tools/grade_all turn it into other formats. Standard library only.

A submission that was not built has no cases. Its file has `message`: what the compiler
said."""
import json
from pathlib import Path

FAILED_BUILD = 2  # the grader's exit code
SHOWN = 60_000  # characters of a message, for services that refuse long ones


class Bad(Exception):
    """One line that names the file and what is wrong with it."""


class Test:
    """One line of a report: a case, or the build if that failed.

    points, of: what it got and what it is worth. verdict: pass, fail, skip, crash,
    timeout, broken. seconds: how long the grader took for it. bound: whether it counts
    structure (docs/grader.md)."""

    def __init__(self, case):
        self.name, self.part = str(case["name"]), str(case["part"])
        self.function = str(case.get("function", ""))
        self.points, self.of = int(case["points"]), int(case["of"])
        self.verdict = str(case["verdict"])
        self.seconds = float(case.get("seconds", 0))
        self.bound = bool(case.get("bound", False))
        self.catches = str(case.get("catches", ""))
        self.text = "\n".join(map(str, case.get("findings", [])))[:SHOWN]

    @property
    def passed(self):
        return self.verdict == "pass"


class Result:
    def __init__(self, data, name):
        self.name = name  # of the submission: ann, for results/ann.json
        self.lab, self.exit = str(data["lab"]), int(data["exit"])
        self.score, self.of = int(data["score"]), int(data["of"])
        self.seed = str(data.get("seed", ""))
        self.message = str(data.get("message", ""))[:SHOWN]
        self.tests = [Test(case) for case in data["cases"]]
        self.breaches = [f"contract breach: {b['symbol']}: {b['why']}"
                         for b in data.get("breaches", [])]
        self.reports = data.get("check") or {}
        if not self.tests:
            self.tests = [Test({"name": "build", "part": self.lab, "points": 0,
                                "of": self.of, "verdict": "broken",
                                "findings": [self.message or "not built"]})]

    @property
    def built(self):
        return self.exit != FAILED_BUILD

    def parts(self):
        """{part: (points, of)}, in the order of the cases."""
        sums = {}
        for test in self.tests:
            points, of = sums.get(test.part, (0, 0))
            sums[test.part] = points + test.points, of + test.of
        return sums

    def structure(self):
        """(points, of) of the cases that count accesses."""
        counted = [test for test in self.tests if test.bound]
        return sum(t.points for t in counted), sum(t.of for t in counted)

    def traffic(self):
        """Bytes of device memory that the kernels move in the cases that count accesses,
        divided by the bytes that suffice: 1 is the best. None if one of them did not
        run."""
        moved = least = 0
        for test in self.tests:
            if not test.bound:
                continue
            kernels = self.reports.get(test.name, {}).get("kernels")
            if not kernels:
                return None
            for kernel in kernels:
                moved += kernel["dram"]["read"] + kernel["dram"]["written"]
                least += kernel["least"]["read"] + kernel["least"]["written"]
        return moved / least if least else None

    def text(self):
        """What concerns the whole submission."""
        if not self.built:
            return self.message or "not built"
        return "\n".join([f"Score: {self.score}/{self.of}", *self.breaches])


def read(path):
    """The result in a file; its name is that of the submission. Raises Bad."""
    path = Path(path)
    try:
        return Result(json.loads(path.read_text()), path.stem)
    except OSError as e:
        raise Bad(f"{path}: {e.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Bad(f"{path} is not a result: write it with --json") from None
