"""gradebook.py - the results of a course as CSV: for a spreadsheet, for Moodle, for Canvas.
tools/export describes them."""
import csv
import io
import re
import sys

import results


def cell(text):
    """Text that a spreadsheet does not take for a formula."""
    return "'" + text if re.match(r"[=+\-@\t\r]", text) else text


def table(rows):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def as_csv(all_results, _):
    parts = list(dict.fromkeys(p for r in all_results if r.built for p in r.parts()))
    rows = [["submission", "lab", "score", "of", "exit", *parts]]
    for r in all_results:
        points = r.parts() if r.built else {}
        rows.append([cell(r.name), r.lab, r.score, r.of, r.exit,
                     *(points[part][0] if part in points else "" for part in parts)])
    return table(rows)


def feedback(result):
    """The parts that lack points, each with the first case that failed."""
    lines = [result.text()]
    for part, (points, of) in result.parts().items():
        failed = next((t for t in result.tests if t.part == part and not t.passed), None)
        if failed and result.built:
            lines.append(f"{part}: {points}/{of}, {failed.name}: {failed.text}")
    return "\n".join(lines)[:results.SHOWN]


def identities(name):
    """What may stand for a submission in a roster. Moodle and Canvas put their numbers into
    the names of the files that they collect: `Ann Lee_4711_assignsubmission_file`,
    `leeann_4711_90210_rmsnorm`."""
    found = {name.casefold()}
    moodle = re.fullmatch(r"(.*)_(\d+)_assignsubmission_\w+", name)
    canvas = re.match(r"[^_]+_(?:late_)?(\d+)_\d+_", name, re.IGNORECASE)
    if moodle:
        found |= {f"participant {moodle[2]}", moodle[1].casefold()}
    elif canvas:
        found.add(canvas[1])
    return found


IDENTIFYING = re.compile(r"identifier|email( address)?|e-mail|user ?name|id( number)?"
                         r"|sis (login|user) id|full name|student|login", re.IGNORECASE)


def fill_roster(all_results, options, with_feedback):
    try:
        with open(options.roster, newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeError, csv.Error) as e:
        raise results.Bad(f"{options.roster}: {getattr(e, 'strerror', None) or e}") from None
    head = rows[0] if rows else []
    keys = [i for i, title in enumerate(head) if IDENTIFYING.fullmatch(title.strip())]
    if not keys:
        raise results.Bad(f"{options.roster} has no column such as Email address, Username or ID")

    def column(name):
        if name not in head:
            head.append(name)
        return head.index(name)

    wanted = options.column or ("Grade" if "Grade" in head else all_results[0].lab)
    grade = column(wanted)
    comment = column("Feedback comments") if with_feedback else None
    missing = dict.fromkeys(r.name for r in all_results)
    students = [(identities(r.name), r) for r in all_results]
    for row in rows[1:]:
        row += [""] * (len(head) - len(row))
        own = {row[i].strip().casefold() for i in keys}
        own |= {text.partition("@")[0] for text in own if "@" in text}
        for names, result in students:
            if names & own - {""}:
                row[grade] = str(result.score)
                if comment is not None:
                    row[comment] = cell(feedback(result))
                missing.pop(result.name, None)
    for name in missing:
        print(f"export: {name!r} is in no row of {options.roster}", file=sys.stderr)
    return table(rows)


def moodle(all_results, options):
    if options.roster:
        return fill_roster(all_results, options, True)
    rows = [["Username", options.column or all_results[0].lab, "Feedback"]]
    rows += [[cell(r.name), r.score, cell(feedback(r))] for r in all_results]
    return table(rows)


def canvas(all_results, options):
    if not options.roster:
        raise results.Bad("canvas needs --roster FILE: export the gradebook, and name that file")
    return fill_roster(all_results, options, False)
