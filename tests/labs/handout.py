"""handout.py - what is in a handout, for suite_handout.sh. Run it in the handout's folder.

    handout.py names               lines that name what a handout has not
    handout.py links               links of its pages that lead nowhere
    handout.py solutions ROOT      lines of ROOT's SOLUTION blocks that it contains
    handout.py scoring TRANSLATE   files outside of labs/ and starters/ that define a
                                   function of a lab: "lab03 PATH FUNCTION..."

Each prints one line per finding."""
import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, "tools")
import labkit  # noqa: E402

CODE = (".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".S", ".inl")
# Programs that also run in a tree with solutions.
KNOW_SOLUTIONS = re.compile(r"(Makefile|mk/[^/]+\.mk|tools/[^/]+\.(py|sh|awk))\Z")
INCLUDE = re.compile(r'#\s*include\s+(["<])([^">]+)[">]')
WORD = re.compile(r"[a-z]\w+", re.ASCII)
LONG = 60  # characters of a line that does not occur in two files by chance


def files():
    return sorted(str(p.relative_to(".")) for p in Path(".").rglob("*")
                  if p.is_file() and not str(p).startswith("build/"))


def text_of(path):
    return Path(path).read_text(encoding="utf-8", errors="replace")


def names():
    for path in files():
        if KNOW_SOLUTIONS.match(path):
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if "solutions/" in line:
                print(f"{path}:{number}: {line.strip()}")


def links():
    for path in (p for p in files() if p.endswith(".md")):
        text = re.sub(r"`[^`]*`", "", text_of(path))
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            if "://" not in target and not Path(Path(path).parent, target).exists():
                print(f"{path}: {target}")


def solution_lines(root):
    """Long lines inside of SOLUTION blocks, and of files without a starter."""
    found = set()
    for path in sorted(Path(root, "solutions").rglob("*.cu*")):
        text = text_of(path)
        inside = "BEGIN SOLUTION" not in text  # the rungs, helper headers
        for line in text.splitlines():
            if "BEGIN SOLUTION" in line:
                inside = True
            elif "END SOLUTION" in line:
                inside = False
            elif inside and "//>" not in line and len(line.strip(" /*-")) >= LONG:
                found.add(line.strip())
    return found


def solutions(root):
    """The starters carry some of these lines themselves: declarations, given kernels."""
    given = {line.strip() for path in files() if path.startswith("starters/")
             for line in text_of(path).splitlines()}
    given |= {line.strip() for lab in Path("labs").glob("*/*.h")
              for line in text_of(lab).splitlines()}
    wanted = solution_lines(root) - given
    if not wanted:
        print("no solution to compare with")
    for path in files():
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if line.strip() in wanted:
                print(f"{path}:{number}: {line.strip()}")


# --- what defines a function of a lab ---------------------------------------------------

def reached(path, included):
    """A file and all that it includes."""
    seen, wanted = set(), [path]
    while wanted:
        one = wanted.pop()
        if one not in seen:
            seen.add(one)
            wanted += included[one]
    return seen


def candidates(functions):
    """Files that can define a function: they, or what they include, name it or paste names
    together. What is left out cannot have its name. An include that is not next to the
    file stands for every header of that name."""
    paths, known = files(), collections.defaultdict(list)
    for path in paths:
        known[os.path.basename(path)].append(path)

    def headers(path, text):
        for quote, header in INCLUDE.findall(text):
            named = known.get(os.path.basename(header), [])
            near = os.path.normpath(os.path.join(os.path.dirname(path), header))
            yield from [near] if quote == '"' and near in named else named

    name = re.compile(r"\b(%s)\b|##" % "|".join(functions))
    included, names_one = {}, set()
    for path in paths:
        text = text_of(path)
        if path.startswith("common/cpu/"):  # it pastes names of CUDA and of the back end
            text = text.replace("##", "")
        if name.search(text):
            names_one.add(path)
        included[path] = list(headers(path, text))
    return [path for path in paths
            if path.endswith(CODE) and not path.startswith(("labs/", "starters/"))
            and reached(path, included) & names_one]


def has_body(text, functions):
    """Is one of the functions defined in preprocessed text? Its parameters and a body or an
    attribute follow its name there."""
    named = sorted(set(WORD.findall(text)).intersection(functions))
    if not named:
        return False
    for name in re.finditer(r"\b(?:%s)\b\s*\(" % "|".join(named), text):
        end, depth = name.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        if re.match(r"\s*[{\w:]", text[end:end + 100]):
            return True
    return False


def defined(translate, path, functions):
    """Those of the functions that a file defines if it is handed in as a .cu."""
    includes = ["-Icommon", "-Icommon/ops", "-Icommon/decoder", "-Icommon/cuda", "-Igrader",
                "-Irecurrentgemma", "-Itinylm", "-Icommon/cpu/include"]
    includes += [f"-I{p}" for p in sorted(Path("labs").glob("lab*"))]
    cxx = [os.environ.get("CXX", "g++"), "-std=gnu++17", "-w", "-fpermissive", *includes,
           "-iquote", os.path.dirname(path) or ".", "-include", "cuda_runtime.h", "-x", "c++"]
    text = subprocess.run([*cxx, "-E", "-P", path], capture_output=True, text=True).stdout
    if not has_body(text, functions):  # a seventh of the time of compiling it
        return set()
    with tempfile.TemporaryDirectory() as out:
        source = path
        if not path.endswith(".cu"):
            source = f"{out}/in.cu"
            Path(source).write_text(f'#include "{os.path.abspath(path)}"\n')
        made = subprocess.run([translate, source, out, *includes], capture_output=True)
        if made.returncode:
            return set()
        name = os.path.basename(source)
        made = subprocess.run([*cxx, "-O0", "-c", f"{out}/{name}.cpp", "-o", f"{out}/o.o"],
                              capture_output=True)
        return labkit.exported(f"{out}/o.o") & functions if made.returncode == 0 else set()


def scoring(translate):
    labs = {short: set(labkit.header_functions(name)) for short, name in labkit.lab_folders()}
    wanted = set().union(*labs.values())
    paths = candidates(sorted(wanted))
    sys.stderr.write(f"{len(paths)} files can define a function\n")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, found in zip(paths, pool.map(lambda p: defined(translate, p, wanted), paths)):
            for lab, functions in labs.items():
                if found & functions:
                    print(lab, path, *sorted(found & functions))


command = {"names": names, "links": links, "solutions": solutions, "scoring": scoring}
command[sys.argv[1]](*sys.argv[2:])
