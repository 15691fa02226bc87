"""labkit.py - shared by the tools: the words after ./grade, where a lab's files are,
which functions its header declares, hashes, and isolated objects. Standard library and
binutils only."""
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import elf

LD = os.environ.get("LD", "ld")
OBJCOPY = os.environ.get("OBJCOPY", "objcopy")
CC = os.environ.get("CC", "gcc")


def stop(message):
    """Prints one line that names the thing and the fix, and exits."""
    sys.exit(message)


def lab_and_k(option, k):
    """(LAB, K) of `./grade LAB OPTION K` or `./grade LAB OPTION -k K`; None where one is
    missing. k: what a message calls the second."""
    lab, chosen, words = None, None, sys.argv[1:]
    while words:
        word = words.pop(0)
        if word == option:
            continue
        if word == "-k" and words:
            chosen = words.pop(0)
        elif word.startswith("-") or (lab and chosen):
            stop(f"{option} takes a lab and {k}, not {word}")
        elif lab:
            chosen = word
        else:
            lab = word
    return lab, chosen


def run(*command, **more):
    """Runs a tool and returns its output; shows its message if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **more)
    except FileNotFoundError:
        stop(f"{command[0]} is missing: run `make setup`")
    if done.returncode:
        sys.stderr.write(done.stderr)
        stop(f"{command[0]} failed on {command[-1]}")
    return done.stdout


def write_if_changed(path, text):
    """Keeps the time stamp if nothing changes, so that make has nothing to do."""
    path = Path(path)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


# --- where things are -------------------------------------------------------------------

def lab_folders():
    """[("lab01", "lab01_swiglu"), ...] in order."""
    names = sorted(p.name for p in Path("labs").glob("lab[0-9][0-9]_*") if p.is_dir())
    return [(name.partition("_")[0], name) for name in names]


def program_labs():
    """Those whose functions programs call: lab 00 teaches the language."""
    return [lab for lab in lab_folders() if lab[0] != "lab00"]


def lab_folder(lab):
    """The folder's name from `lab03` or `lab03_rmsnorm`."""
    for short, name in lab_folders():
        if lab in (short, name):
            return name
    known = " ".join(short for short, _ in lab_folders())
    stop(f"{lab}: no such lab; there are {known}")


def sources(folder):
    """The .cu files of a lab: those in its folder, without the rungs of ladder/."""
    return sorted(str(p) for p in Path(folder).glob("*.cu"))


# --- the contract -----------------------------------------------------------------------

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"\b(wb_status|size_t)\s+(\w+)\s*\([^;{]*\)\s*;")


def has_host_code(name):
    """Has a function of a lab an argument in host memory (host_x)?"""
    headers = Path("labs", name).glob("*.h")
    return any(re.search(r"\*host_\w+", header.read_text()) for header in headers)


def header_functions(name):
    """{function: return type} of a lab's headers, in order. The preprocessor expands the
    lists for f16 and bf16; its line markers tell which file a line is from."""
    functions = {}
    for header in sorted(Path("labs", name).glob("*.h")):
        text = run(CC, "-E", "-x", "c", "-Icommon", str(header))
        own, inside = [], False
        for line in text.splitlines():
            marker = re.match(r'# \d+ "(.*?)"', line)
            if marker:
                inside = os.path.normpath(marker[1]) == str(header)
            elif inside:
                own.append(line)
        for returned, function in DECLARATION.findall("\n".join(own)):
            functions[function] = returned
    if not functions:
        stop(f"labs/{name}: its header declares no function")
    return functions


# --- hashes and receipts ----------------------------------------------------------------

def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def hashes(paths):
    """{path: sha256}: what a build or a pass depends on."""
    return {str(p): sha256(p) for p in sorted(set(map(str, paths)))}


def reference_files(*names):
    """These files of reference/ and those that they import."""
    found = set()
    wanted = [Path("reference", name) for name in names]
    while wanted:
        path = wanted.pop()
        if path in found or not path.exists():
            continue
        found.add(path)
        imported = re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.MULTILINE)
        wanted += [Path("reference", f"{module}.py") for module in imported]
    return found


def judged_by(name):
    """The files that decide what a pass of this lab means."""
    short, _, op = name.partition("_")
    return [str(p) for p in [
        *Path("labs", name).glob("*.h"),
        Path("common/wb.h"),
        *Path("common/cuda").glob("*.cuh"),
        Path("labs", name, "cases"),
        *Path("grader").glob("*.[ch]"),
        Path("grader/adapters", short + ".c"),
        *reference_files("wb.py", "dump.py", f"{op}.py"),
    ] if p.exists()]


def changed(files):
    """The first path whose content has changed since it was hashed, or None."""
    for path, digest in files.items():
        if not os.path.exists(path) or sha256(path) != digest:
            return path
    return None


def read_json(path):
    try:
        return json.loads(Path(path).read_text())
    except (OSError, ValueError):
        return None


# --- objects ----------------------------------------------------------------------------

def exported(*objects):
    """Names that these objects define for others."""
    return set().union(*(elf.read(path).exported() for path in objects))


def stubs(functions, attribute=""):
    """C stubs for missing functions: their callers link, and get WB_TODO."""
    lines = ["/* Functions that are not in these objects. */", "#include <stddef.h>"]
    for name, returned in functions.items():
        value = "0" if returned == "size_t" else "1"
        kind = "size_t" if returned == "size_t" else "int"
        lines.append(f"{attribute}{kind} {name}(void) {{ return {value}; }}")
    return "\n".join(lines) + "\n"


def own_templates(obj, out, tool):
    """A copy of the object with local templates and inline functions. Another part of the
    lab may define different ones of the same name, and a linker would use either for
    both."""
    tool(LD, "-r", "--force-group-allocation", "-o", out, str(obj))
    weak = elf.read(out).weak()
    if weak:
        Path(out + ".weak").write_text("".join(n + "\n" for n in sorted(weak)))
        tool(OBJCOPY, f"--localize-symbols={out}.weak", out)
        os.remove(out + ".weak")


def isolate(objects, out, functions, tool=run, without_starts=False):
    """Joins the objects of one lab into `out`, in which only `functions` are visible. tool:
    runs a program that reads them; without_starts: nothing of them runs before main.

    Learners copy helpers from lab to lab. Two plain functions with one name clash at link
    time; two templates with one name are silently merged, and one lab then runs the
    other's code. So every name except the contract's becomes local: the groups in which
    templates are shared are dissolved (--force-group-allocation), then all other symbols
    are hidden. (g++ needs -fno-gnu-unique when compiling, or some stay shared.) Within a
    lab, parts see each other's plain functions, but not each other's templates."""
    joined = str(out) + ".joined"
    keep = str(out) + ".keep"
    Path(keep).write_text("".join(f + "\n" for f in functions) or "none-at-all\n")
    parts = [f"{out}.part{i}" for i in range(len(objects))]
    for obj, part in zip(objects, parts):
        own_templates(obj, part, tool)
    if len(parts) == 1:
        os.rename(parts[0], joined)
    else:
        tool(LD, "-r", "-o", joined, *parts)
    # A linker knows what runs before and after main by the names of these sections.
    starts = {s.name for s in elf.read(joined).sections if s.name.startswith(elf.POINTERS)}
    unused = [f"--rename-section={name}=.unused{i}" for i, name in enumerate(sorted(starts))]
    tool(OBJCOPY, *(unused if without_starts else []), f"--keep-global-symbols={keep}",
         joined, str(out))
    for path in (joined, keep, *parts):
        if os.path.exists(path):
            os.remove(path)
