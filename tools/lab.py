"""lab.py - prepares the objects of a lab's sources for linking its executable.

    lab.py --lab lab03 --backend cpu --source labs/lab03_rmsnorm --parts DIR
           --harness OBJECT... --sources FILE... --objects OBJECT...

Writes into DIR: student.o (isolated: only the contract's functions are visible), missing.c
(stubs for functions that the sources do not define) and lab.json, which make copies to
build/<backend>/labs/lab03.json after linking the executable:
    lab, backend      lab03_rmsnorm, cpu
    source            what was asked for: labs/lab03_rmsnorm, submission.cu, ...
    own               true if the source is in labs/: only then can a pass count
    files             {path: sha256} of sources, their includes, common/cuda, header, cases and
                      grader: the build is stale when one of them changes
    defined, missing  functions of the header
    breaches          [{symbol, why}]: names that a launcher must not use
The grader's receipt, build/<backend>/passed/lab03.json, has lab, files (as here) and
functions: those whose cases have all passed."""
import argparse
import json
import os
import re
import sys
from pathlib import Path

import labkit
import scan


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lab", required=True)
    parser.add_argument("--backend", required=True)
    parser.add_argument("--source", required=True, help="what was asked for")
    parser.add_argument("--parts", required=True)
    for several in ("--harness", "--sources", "--objects"):
        parser.add_argument(several, nargs="*", default=[])
    return parser.parse_args()


def prerequisites(path):
    """The files that a dependency file lists for its object."""
    rule = path.read_text().replace("\\\n", " ").split("\n")[0]
    return rule.partition(": ")[2].split()


def included(obj, source):
    """Files that one source was compiled from, without the compiler's and the back end's own
    headers. On the CPU back end the compiler saw translated copies next to the object; the
    translator's list has the original files. Both become one dependency file for make, with
    a rule for each file, so that a deleted header is no error."""
    compiled = Path(obj).with_suffix(".d")
    translated = Path(f"{os.path.dirname(obj)}/{os.path.basename(source)}.headers.d")
    names = prerequisites(compiled)
    if translated.exists():
        names = [n for n in names if not n.startswith(os.path.dirname(obj))]
        names += prerequisites(translated)
        translated.unlink()
    files = {source, *(os.path.normpath(n) for n in names if os.path.exists(n))}
    phony = "".join(f"{name}:\n" for name in sorted(files))
    labkit.write_if_changed(compiled, f"{obj}: {' '.join(sorted(files))}\n{phony}")
    # Neither system headers nor those of the back end.
    return [f for f in files if not f.startswith(("/usr/", "/opt/", "common/cpu/"))]


def not_matching(functions, names, sources):
    """A contract function that is defined with other arguments, or without including its
    header, has a C++ name. Linking would only report it as missing."""
    for name in names:
        mangled = re.match(r"_Z(\d+)(\w+)", name)
        function = mangled and mangled[2][: int(mangled[1])]
        if function in functions:
            labkit.stop(
                f"{function} in {' '.join(sources)} is not the function of the header: "
                "include the header, and use exactly the header's arguments")


def main():
    a = arguments()
    name = labkit.lab_folder(a.lab)
    functions = labkit.header_functions(name)
    names = labkit.exported(*a.objects)
    not_matching(functions, names - set(functions), a.sources)
    defined = [f for f in functions if f in names]
    missing = [f for f in functions if f not in names]
    if not defined:
        labkit.stop(f"{a.source} defines no function of labs/{name}: is it the right file?")
    offered = {"wb_status_name", "wb_fail"}  # of wb.h
    found = scan.breaches(a.objects, a.harness, offered, a.backend)
    files = set(labkit.judged_by(name))
    for obj, source in zip(a.objects, a.sources):
        own = included(obj, source)
        files.update(own)
        for what, why in scan.foreign_sources(source, own):
            found.append({"symbol": what, "why": why})

    parts = Path(a.parts)
    labkit.isolate(a.objects, parts / "student.o", defined)
    stubs = labkit.stubs({name: functions[name] for name in missing})
    labkit.write_if_changed(parts / "missing.c", stubs)
    record = {
        "lab": name,
        "backend": a.backend,
        "source": a.source,
        "own": os.path.normpath(a.source) == f"labs/{name}",
        "sources": a.sources,
        "files": labkit.hashes(files),
        "defined": defined,
        "missing": missing,
        "breaches": found,
    }
    (parts / "lab.json").write_text(json.dumps(record, indent=1) + "\n")
    if missing:
        more = f" … and {len(missing) - 3} more" if len(missing) > 3 else ""
        print(f"{a.lab}: not in this file: {' '.join(missing[:3])}{more}")
    for breach in found:
        sys.stderr.write(f"{a.lab}: contract breach: {breach['symbol']}: {breach['why']}\n")


main()
