"""class_summary.py - what the results of a course have in common, as text: a histogram of
scores, the parts that fail, and which cases no submission passes. tools/grade_all prints it."""
import collections

BARS, WIDTH = 10, 50


def histogram(found):
    """Counts of scores from 0 to 100 in tens; full scores have a line of their own."""
    counts = collections.Counter()
    for r in found:
        counts[BARS if r.score == r.of else min(BARS * r.score // max(r.of, 1), BARS - 1)] += 1
    most = max(counts.values())
    names = [f"{10 * i:3d} to {10 * i + 9}" for i in range(BARS)] + ["      full"]
    return ["score (of 100)"] + [
        f"  {name:>10}  {counts[i]:4d}  {'#' * -(-WIDTH * counts[i] // most)}".rstrip()
        for i, name in enumerate(names)]


def first_failures(found):
    """{part: Counter of the first case that fails}, of the submissions that were built."""
    firsts = collections.defaultdict(collections.Counter)
    for r in found:
        seen = set()
        for test in r.tests:
            if not test.passed and test.part not in seen:
                seen.add(test.part)
                firsts[test.part][test.name] += 1
    return firsts


def parts(found):
    firsts = first_failures(found)
    lines = [f"  {'part':6} {'full':>5} {'some':>5} {'none':>5}  first case that fails, how often"]
    for part in dict.fromkeys(p for r in found for p in r.parts()):
        sums = [r.parts().get(part, (0, 0)) for r in found]
        full = sum(points == of for points, of in sums)
        none = sum(points == 0 for points, _ in sums)
        often = ", ".join(f"{name} {n}" for name, n in firsts[part].most_common(3))
        lines.append(f"  {part:6} {full:5d} {len(found) - full - none:5d} {none:5d}  {often}")
    return ["points per part, of the submissions that were built", *lines]


def unsolved(found):
    """Cases that no submission passes."""
    tests = {}
    for r in found:
        for test in r.tests:
            tests[test.name] = test if test.passed else tests.get(test.name, test)
    return [f"  {test.part} {test.name}: {test.catches}" for test in tests.values()
            if not test.passed]


ENDS = {2: "not built", 3: "crashed", 4: "timed out", 5: "the exercise is broken"}


def summary(found):
    """The whole text. found: results.Result of one lab, not empty."""
    built = [r for r in found if r.built]
    scores = sorted(r.score for r in found)
    lines = [f"{found[0].lab}: {len(found)} submissions, mean "
             f"{sum(scores) / len(scores):.1f}, median {scores[len(scores) // 2]}", "",
             *histogram(found)]
    if built:
        hard = unsolved(built)
        lines += ["", *parts(built), "", "cases that no submission passes:" if hard else
                  "each case is passed by at least one submission", *hard]
    for code, words in ENDS.items():
        names = sorted(r.name for r in found if r.exit == code)
        if names:
            lines += ["", f"{words}: {', '.join(map(repr, names))}"]
    return "\n".join(lines) + "\n"
