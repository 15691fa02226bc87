#!/usr/bin/env python3
"""run.py --program-dir DIR - runs the cases of programs that were built in check mode,
DIR/bugs/bounds ..., and prints TAP.

A bug is found if a finding has the kind of a mark and, for one of its two accesses, the
file and line. Of a right case no error is reported, and it exits with 0."""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import cases

FOUND = 86  # how a program in check mode exits after an error


def findings_of(case, folder, limit):
    """Runs a case. Returns its exit code (None: stopped), findings and last words."""
    with tempfile.TemporaryDirectory() as made:
        report = Path(made, "check.json")
        try:
            done = subprocess.run(
                [Path(folder, case.program), case.name], timeout=limit, text=True,
                errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE, env={**os.environ, "WB_CHECK_JSON": str(report)})
        except subprocess.TimeoutExpired:
            return None, [], f"no end within {limit} s"
        except OSError as e:
            return None, [], str(e)
        if not report.exists():
            return done.returncode, [], "no JSON; " + done.stderr[-300:]
        findings = json.loads(report.read_text())["findings"]
        return done.returncode, findings, done.stderr[-300:]


def places(finding):
    """(line, file) of both accesses."""
    for access in (finding, finding.get("other") or {}):
        if access.get("line"):
            yield access["line"], Path(access.get("file", "")).name


def hits(case, finding):
    return any(finding["kind"] == kind and (line, case.file) in places(finding)
               for line, kind in case.marks)


def shown(finding):
    line, file = next(places(finding), (0, "?"))
    return f"{finding['severity']}: {finding['kind']} {file}:{line}"


def verdict(case, code, findings, said):
    """None: as it should be; otherwise what is wrong."""
    errors = [f for f in findings if f["severity"] == "error"]
    only_note = {kind for _, kind in case.marks} == {"same-value"}
    if case.bug and not any(hits(case, f) for f in findings if only_note or f in errors):
        instead = "; ".join(map(shown, findings)) or said.strip() or "nothing reported"
        return f"not found: {instead}"
    if (not case.bug or only_note) and errors:
        return "false report: " + "; ".join(map(shown, errors))
    expected = FOUND if errors else 0
    return None if code == expected else f"exit {code}, not {expected}: {said.strip()}"


def result_line(case, code, findings):
    """For table.py: as sanitizer.sh writes it, with the kind."""
    errors = [f for f in findings if f["severity"] == "error" or hits(case, f)]
    where = {f"{file}:{line}:{f['kind']}" for f in errors for line, file in places(f)}
    return f"{case} check {code} {len(errors)} {' '.join(sorted(where))}"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--program-dir", required=True, metavar="DIR")
    options.add_argument("--results", metavar="FILE", help="for table.py")
    options.add_argument("--limit", type=float, default=30, help="seconds per case")
    options.add_argument("-k", default="", metavar="TEXT", help="only these cases")
    options.add_argument("-v", action="store_true", help="show all findings")
    given = options.parse_args()
    chosen = [case for case in cases.all_cases() if given.k in str(case)]
    failed, lines = 0, []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        run = pool.map(lambda c: findings_of(c, given.program_dir, given.limit), chosen)
        for case, (code, findings, said) in zip(chosen, run):
            wrong = verdict(case, code, findings, said)
            failed += wrong is not None
            wrong = wrong and " ".join(wrong.split())
            print(f"not ok - {case} ({wrong})" if wrong else f"ok - {case}", flush=True)
            if wrong or given.v:
                for f in findings:
                    print(f"#   {shown(f)}: {f.get('message', '')}")
            lines.append(result_line(case, code, findings))
    if given.results:
        Path(given.results).write_text("".join(line + "\n" for line in lines))
    print(f"# {len(chosen) - failed} of {len(chosen)} cases as they should be")
    sys.exit(failed != 0 or not chosen)


if __name__ == "__main__":
    main()
