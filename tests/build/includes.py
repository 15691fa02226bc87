"""includes.py [ROOT] - checks every #include of the tree against the table of modules
below, and that no file includes itself by way of others. Prints a line per violation;
exit 1."""
import re
import subprocess
import sys
from pathlib import Path

# Which module a file is in: the first pattern that matches its path. \1 is the lab.
MODULES = [
    ("contract", r"labs/lab\d\d_(\w+)/\1\.h"),
    ("lab",      r"(?:labs|solutions)/(lab\d\d_\w+)/.*"),
    ("wb",       r"common/(wb|wb_error)\.[ch]"),
    ("cuda",     r"common/cuda/.*"),
    ("toolkit",  r"common/cpu/include/(?!wbcpu).*"),
    ("lanes",    r"common/cpu/include/wbcpu/(lanes|mma)\.h"),
    ("cpu",      r"common/cpu/.*"),
    ("griffin",  r"common/griffin/.*"),
    ("ops",      r"common/(?:ops/.*|ceiling\.[ch])"),  # the ceilings are measured by ops
    ("decoder",  r"common/decoder/.*"),
    ("model",    r"common/model_(?:shape|weights)\.[ch]"),
    ("common",   r"common/[^/]*"),
    ("adapter",  r"grader/adapters/.*"),
    ("grader",   r"grader/.*"),
    ("tinylm",   r"tinylm/.*"),
    ("public",   r"recurrentgemma/[^/]*\.h"),
    ("example",  r"recurrentgemma/[^/]*\.(?:c|cpp)"),
    ("engine",   r"recurrentgemma/engine/.*"),
    ("text",     r"recurrentgemma/text/.*"),
    ("program",  r"recurrentgemma/program/.*"),
    ("random",   r"recurrentgemma/random/.*"),
    ("bench",    r"bench/.*"),
    ("tests",    r"(?:tests|docs)/.*"),
]

# What a module may include besides its own files. Only a lab's own files include "lab".
MAY_INCLUDE = {
    # the device layer and what learners write on it
    "wb":       "toolkit",
    "lanes":    "toolkit",
    "cuda":     "wb toolkit lanes",
    "contract": "wb toolkit",
    "lab":      "contract cuda wb toolkit",
    # what the programs share
    "common":   "wb toolkit",
    "model":    "common wb",
    "griffin":  "model common wb",
    "ops":      "contract cuda common wb toolkit lanes",
    "decoder":  "ops model griffin contract common wb toolkit",
    # the programs
    "tinylm":   "decoder ops model griffin contract common wb toolkit",
    "public":   "model wb",
    "engine":   "public decoder ops model griffin contract common wb toolkit",
    "text":     "public common wb",
    "program":  "public text ops common wb toolkit",
    "example":  "public text",
    "random":   "model griffin common wb",
    # the judges, and the CPU back end
    "grader":   "common wb cpu toolkit",
    "adapter":  "grader contract common wb",
    "toolkit":  "cpu",
    "cpu":      "toolkit wb lanes",
    # measurements and tests see everything but the inside of a lab
    "bench":    "contract cuda ops decoder model griffin common wb tinylm engine public toolkit",
    "tests":    "contract cuda ops decoder model griffin common wb tinylm engine text public grader "
                "cpu toolkit",
}

# Where a name is looked for besides the including file's own folder.
SEARCHED = ["common", "common/ops", "common/decoder", "recurrentgemma", "common/cpu/include",
            "common/cpu/include/wbcpu"]
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.MULTILINE)
SOURCES = (".c", ".h", ".cu", ".cuh", ".cpp")
NOT_OURS = ("tests/mutants/", "tests/cpu/wrong/", "tests/grader/threats/")  # wrong on purpose


def module_of(path):
    for module, pattern in MODULES:
        match = re.fullmatch(pattern, path)
        if match:
            return module, match[1] if module == "lab" else None
    return None, None


def tracked(root):
    try:
        listed = subprocess.run(["git", "-C", root, "ls-files"], capture_output=True, text=True)
        names = listed.stdout.split("\n") if listed.returncode == 0 else []
    except FileNotFoundError:
        names = []
    names = names or [str(p.relative_to(root)) for p in Path(root).rglob("*")]
    return sorted(n for n in names if n.endswith(SOURCES) and not n.startswith(NOT_OURS)
                  and Path(root, n).is_file())


def resolve(root, source, quote, name, folders):
    """The file of the tree that an include means, or None: the system's."""
    own = [str(Path(source).parent)] if quote == '"' else []
    for folder in own + folders:
        path = Path(root, folder, name).resolve()
        if path.is_file() and path.is_relative_to(root):
            return str(path.relative_to(root))
    return None


def check(source, target):
    """Why `source` may not include `target`, or None."""
    (module, lab), (other, its_lab) = module_of(source), module_of(target)
    if module is None or other is None:
        return f"{source if module is None else target} is in no module of the table"
    if other == "lab":
        same = module == "lab" and lab == its_lab
        return None if same else f"only files of {its_lab} may include it"
    if module == other or other in MAY_INCLUDE[module].split():
        return None
    return f"{module} may include: {MAY_INCLUDE[module]}"


def cycle(graph):
    """A list of files that include each other in a ring, or None."""
    done, path = set(), []

    def visit(node):
        if node in path:
            return path[path.index(node):] + [node]
        if node in done:
            return None
        path.append(node)
        for target in graph.get(node, ()):
            ring = visit(target)
            if ring:
                return ring
        path.pop()
        done.add(node)
        return None

    for node in sorted(graph):
        ring = visit(node)
        if ring:
            return ring
    return None


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    folders = SEARCHED + sorted(str(p.relative_to(root)) for p in root.glob("labs/lab*"))
    graph, violations = {}, []
    for source in tracked(root):
        text = Path(root, source).read_text(errors="replace")
        if "__CUDACPU__" in text and not source.startswith(("common/", "tests/cpu/")):
            violations.append(f"{source}: __CUDACPU__ belongs in common/")
        for quote, name in INCLUDE.findall(text):
            target = resolve(root, source, quote, name, folders)
            if target is None:
                continue
            graph.setdefault(source, []).append(target)
            why = check(source, target)
            if why:
                violations.append(f"{source} includes {target}: {why}")
    ring = cycle(graph)
    if ring:
        violations.append("include cycle: " + " -> ".join(ring))
    print("\n".join(violations) or f"{len(graph)} files include only what they may")
    sys.exit(bool(violations))


main()
