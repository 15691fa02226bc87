"""notebook.py - runs the code cells of a notebook in this process, one after the other.

    notebook.py FILE

Like IPython, it passes lines that begin with `!` to the shell, with {names} replaced; unlike
IPython, it ends at a command that fails, unless the line is about a grade below full
score."""
import json
import re
import subprocess
import sys
from pathlib import Path


def shell(line, names):
    command = re.sub(r"\{(\w+)\}", lambda m: str(names[m[1]]), line)
    print(f"$ {command}", flush=True)
    code = subprocess.run(command, shell=True, check=False).returncode
    graded = "./grade" in command or "-check" in command
    if code and not (graded and code in (1, 2)):
        sys.exit(f"{command}: exit {code}")


def main():
    notebook = json.loads(Path(sys.argv[1]).read_text())
    assert notebook["nbformat"] == 4
    names = {}
    for cell in notebook["cells"]:
        assert cell["cell_type"] in ("code", "markdown") and cell["id"]
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "a notebook is committed without outputs"
        text = re.sub(r"(?m)^( *)!(.*)$", r"\1_shell(\2)", "".join(cell["source"]))
        text = re.sub(r"(?m)_shell\((.*)\)$", lambda m: f"_shell({m[1]!r}, globals())", text)
        names["_shell"] = shell
        exec(compile(text, cell["id"], "exec"), names)


main()
