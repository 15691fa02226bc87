"""Every .cu parses without an error or a warning as clangd is told to parse it."""
import json
import subprocess
import sys

bad = 0
for entry in json.loads(subprocess.check_output([sys.executable, "tools/compile_commands.py"])):
    name = entry["file"]
    if not name.startswith(("labs/", "solutions/", "common/ops/")) or name.endswith(".c"):
        continue
    command = [a for a in entry["arguments"] if a != "-c"] + ["-fsyntax-only"]
    got = subprocess.run(command, capture_output=True, text=True)
    if got.returncode or got.stderr:
        bad += 1
        print(f"{name}: {got.stderr[:500]}")
sys.exit(bad != 0)
