"""formats.py - checks what tools/export wrote against the documentation of its readers.

    formats.py junit|gradescope|autolab|github FILE

junit       attributes and order of elements of the JUnit schema of Jenkins and GitLab
gradescope  https://gradescope-autograders.readthedocs.io/en/latest/specs/
autolab     https://docs.autolabproject.com/lab/
github      workflow commands, and the totals of GitHub Classroom's reporter"""
import json
import re
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


def fields(made, needed, optional):
    """Has it these fields with these types, and no others?"""
    known = {**needed, **optional}
    assert not needed.keys() - made.keys(), f"lacks {needed.keys() - made.keys()}"
    for key, value in made.items():
        assert key in known, f"unknown field {key}"
        assert isinstance(value, known[key]) and not isinstance(value, bool), key


NUMBER, FORMATS = (int, float), {"text", "html", "simple_format", "md", "ansi"}
SHOWN = {"hidden", "after_due_date", "after_published", "visible"}


def gradescope(text):
    made = json.loads(text)
    fields(made, {"tests": list}, {
        "score": NUMBER, "execution_time": NUMBER, "output": str, "output_format": str,
        "test_output_format": str, "test_name_format": str, "visibility": str,
        "stdout_visibility": str, "extra_data": dict, "leaderboard": list})
    assert made["output_format"] in FORMATS and made["stdout_visibility"] in SHOWN
    for test in made["tests"]:
        fields(test, {"score": NUMBER, "max_score": NUMBER}, {
            "status": str, "name": str, "name_format": str, "number": str, "output": str,
            "output_format": str, "tags": list, "visibility": str, "extra_data": dict})
        assert test["status"] in ("passed", "failed") and test["visibility"] in SHOWN
        assert 0 <= test["score"] <= test["max_score"]
        assert test["output_format"] in FORMATS and test["name"]
    assert sum(test["score"] for test in made["tests"]) == made["score"]
    for row in made.get("leaderboard", []):
        fields(row, {"name": str, "value": (int, float, str)}, {"order": str})
        assert row["order"] in ("asc", "desc")


def properties(element, names):
    found = {p.get("name"): int(p.get("value")) for p in element[0]}
    assert element[0].tag == "properties" and list(found) == names
    return found


def junit(text):
    suite = xml.fromstring(text)
    assert suite.tag == "testsuite"
    assert set(suite.attrib) == {"name", "tests", "failures", "errors", "skipped", "time"}
    total = properties(suite, ["points", "max_points"])
    cases = suite[1:]
    assert len(cases) == int(suite.get("tests")) > 0
    points = most = 0
    for case in cases:
        assert case.tag == "testcase" and set(case.attrib) == {"classname", "name", "time"}
        assert float(case.get("time")) >= 0 and len(case) in (1, 2)
        found = properties(case, ["points", "max_points"])
        points, most = points + found["points"], most + found["max_points"]
        assert all(e.tag in ("failure", "error", "skipped") and "message" in e.attrib
                   for e in case[1:])
        assert len(case) == 1 or not found["points"]
    assert total == {"points": points, "max_points": most}
    for tag, count in ("failure", "failures"), ("error", "errors"), ("skipped", "skipped"):
        assert len(suite.findall(f"testcase/{tag}")) == int(suite.get(count))


def autolab(text):
    assert text.endswith("\n") and "\n" not in text[:-1], "not one line"
    made = json.loads(text)
    fields(made, {"scores": dict}, {"scoreboard": list})
    assert all(isinstance(v, NUMBER) for v in made["scores"].values()) and made["scores"]
    assert all(isinstance(v, NUMBER) for v in made.get("scoreboard", []))


def github(text):
    lines = text.splitlines()
    assert all(re.fullmatch(r"::(notice|error) title=[^:,]+::.+", line) for line in lines)
    assert re.search(r"title=Autograding complete::Points \d+/\d+$", lines[-2])
    total = json.loads(lines[-1].split("title=Autograding report::")[1])
    assert set(total) == {"totalPoints", "maxPoints"}


{"junit": junit, "gradescope": gradescope, "autolab": autolab, "github": github}[
    sys.argv[1]](Path(sys.argv[2]).read_text())
