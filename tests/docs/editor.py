"""Every .cu parses without an error or a warning as clangd is told to parse it. The headers
that all of them begin with are parsed once."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path


def clang(command):
    got = subprocess.run(command, capture_output=True, text=True)
    return got.stderr or (f"exit {got.returncode}" if got.returncode else "")


def without(words, option):
    """The words without each `option WORD`."""
    return [w for before, w in zip(["", *words], words) if option not in (before, w)]


commands = json.loads(subprocess.check_output([sys.executable, "tools/compile_commands.py"]))
entries = [e for e in commands if e["file"].endswith((".cu", ".cuh"))
           and e["file"].startswith(("labs/", "solutions/", "common/ops/"))]
bad = {}
with tempfile.TemporaryDirectory() as folder:
    first = entries[0]["arguments"]
    empty, headers = Path(folder, "empty.cu"), f"{folder}/headers.pch"
    empty.write_text("")
    bad["the headers"] = clang([*first[:-1], str(empty), "-Xclang", "-emit-pch", "-o", headers])
    for entry in entries:
        assert entry["arguments"][:-1] == first[:-1], "options differ: the headers would, too"
        bad[entry["file"]] = clang([*without(first[:-1], "-include"), "-Xclang", "-include-pch",
                                    "-Xclang", headers, "-fsyntax-only", entry["file"]])
for name, said in bad.items():
    if said:
        print(f"{name}: {said[:500]}")
sys.exit(any(bad.values()))
