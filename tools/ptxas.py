"""ptxas.py - the registers, spills and static shared memory of each kernel of a source,
as nvcc's assembler reports them: a list for the report's "ptxas". Empty without nvcc,
or if nvcc does not compile the source."""
import re
import subprocess
import tempfile

ENTRY = re.compile(r"Compiling entry function '([^']+)' for 'sm_(\d+)")
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
SECONDS = 120


def parse(text):
    """What `ptxas -v` prints; names are mangled."""
    found = []
    for line in text.splitlines():
        if entry := ENTRY.search(line):
            found.append({
                "name": entry[1], "sm": int(entry[2]), "registers": 0, "spill_stores": 0,
                "spill_loads": 0, "shared": 0
            })
        elif found and (spills := SPILLS.search(line)):
            found[-1]["spill_stores"], found[-1]["spill_loads"] = map(
                int, spills.groups())
        elif found and (used := USED.search(line)):
            found[-1]["registers"] = int(used[1])
            shared = SHARED.search(line)
            found[-1]["shared"] = int(shared[1]) if shared else 0
    return [entry for entry in found if entry["registers"]]


def demangle(entries):
    """Readable names, without the result and the parameters: norm<float>."""
    try:
        done = subprocess.run(["c++filt", "-p", *(e["name"] for e in entries)],
                              capture_output=True, text=True, timeout=SECONDS)
        names = done.stdout.splitlines()
    except OSError:
        names = []
    for entry, name in zip(entries, names):
        entry["name"] = name.removeprefix("void ")
    return entries


def of_source(nvcc, source, options, sm):
    """[{name, sm, registers, spill_stores, spill_loads, shared}]"""
    if not nvcc:
        return []
    arch = "sm_90a" if sm == 90 else f"sm_{sm}"  # as mk/toolchain.mk
    with tempfile.TemporaryDirectory() as folder:
        command = [
            nvcc, "--extended-lambda", f"-arch={arch}", "--resource-usage", "-cubin",
            *options, "-o", f"{folder}/out.cubin", source
        ]
        if not any(option.startswith("-std=") for option in options):
            command.append("-std=c++17")
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL,
                                  timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired):
            return []
    entries = parse(done.stdout + done.stderr) if done.returncode == 0 else []
    return demangle(entries) if entries else []
