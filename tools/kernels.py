"""kernels.py - chooses for each function whose kernel the programs run, and joins the chosen
kernels into one object. Standard library and binutils only.

    kernels.py choose BUILD MINE [RECEIPTS]
                                        writes BUILD/kernels.json (only if it changes);
                                        RECEIPTS: the build folder whose grades count
    kernels.py objects BUILD            prints the objects that the choice needs, for make
    kernels.py link BUILD               BUILD/kernels/*.o and BUILD/kernels/table.c
    kernels.py fallback BUILD           BUILD/fallback.a from the solutions' objects
    kernels.py join OUT LAB OBJECT...   one object with the contract's functions of a lab
    kernels.py stubs OUT LAB            C stubs for the functions that an object lacks"""
import json
import re
import subprocess
import sys
from pathlib import Path

import labkit


def launcher(function):
    """softmax_forward_f32 for softmax_forward_workspace_f32: the two belong together."""
    return function.replace("_workspace_", "_")


def receipt(build, short, name):
    """({functions that passed}, why they no longer count, or "")."""
    passed = labkit.read_json(Path(build, "passed", short + ".json"))
    if not passed:
        return set(), ""
    functions = {launcher(f) for f in passed["functions"]}
    path = labkit.changed(passed["files"])
    hashed = {p for p in passed["files"] if re.match(rf"labs/{name}/[^/]*\.cu\Z", p)}
    if path is None and hashed == set(labkit.sources(f"labs/{name}")):
        return functions, ""
    source = (".cu", ".cuh")
    own = path is None or path.startswith(f"labs/{name}/") and path.endswith(source)
    return functions, " (edited since it passed)" if own else f" ({path} changed since)"


def wanted(mine, name):
    """True, False, or None where the receipts decide."""
    op = name.partition("_")[2]
    if mine == "all":
        return True
    if mine == "none":
        return False
    return True if op in mine.split() else None


def check_mine(mine):
    ops = [name.partition("_")[2] for _, name in labkit.program_labs()]
    for word in mine.split():
        if word not in ops and mine not in ("all", "none"):
            labkit.stop(f"MINE={word}: no such lab; use all, none or some of {' '.join(ops)}")


def choose(build, mine, receipts=None):
    check_mine(mine)
    choice = []
    for short, name in labkit.program_labs():
        passed, why = receipt(receipts or build, short, name)
        decided = wanted(mine, name)
        given = "solution" if labkit.sources(f"solutions/{name}") else "fallback"
        if given == "fallback" and not Path(build, "fallback.a").exists():
            given = None
        for function in labkit.header_functions(name):
            ours = launcher(function) in passed and not why
            if decided or (ours and decided is None):
                source, note = "yours", "" if ours else " (not passed)"
            else:
                source = given
                note = why if decided is None and launcher(function) in passed else ""
            if source is None:
                labkit.stop(f"{name}: {function} has not passed, and no solution is "
                            f"available: finish it (make {short} && ./grade {short}) or "
                            f"use MINE={name.partition('_')[2]} to try yours as it is")
            choice.append({"function": function, "lab": name, "source": source, "note": note})
    labkit.write_if_changed(Path(build, "kernels.json"), json.dumps(choice, indent=1) + "\n")


def chosen(build):
    """{(lab, source): [function, ...]}"""
    groups = {}
    for c in labkit.read_json(Path(build, "kernels.json")):
        groups.setdefault((c["lab"], c["source"]), []).append(c["function"])
    return groups


FOLDER = {"yours": "labs", "solution": "solutions"}


def objects_of(build, name, source):
    """The objects of one lab from one place."""
    return [f"{build}/objects/{s[:-3]}.o" for s in labkit.sources(f"{FOLDER[source]}/{name}")]


def objects(build):
    for name, source in chosen(build):
        if source != "fallback":
            print(*objects_of(build, name, source))


def link(build):
    folder = Path(build, "kernels")
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.o"):
        old.unlink()
    for (name, source), functions in chosen(build).items():
        if source == "fallback":
            member = folder / f"{name}.member"
            member.write_bytes(from_archive(build, name))
            parts = [member]
        else:
            parts = objects_of(build, name, source)
        missing = set(functions) - labkit.exported(*parts)
        if missing:
            place = "fallback.a" if source == "fallback" else f"{FOLDER[source]}/{name}"
            labkit.stop(f"{place} does not define {sorted(missing)[0]}: write it, or leave "
                        f"{name.partition('_')[2]} out of MINE")
        labkit.isolate(parts, folder / f"{name}.{source}.o", functions)
    labkit.write_if_changed(folder / "table.c", table(build))


def from_archive(build, name):
    archive = str(Path(build, "fallback.a"))
    members = labkit.run("ar", "t", archive).split()
    if name + ".o" not in members:
        labkit.stop(f"{archive} has no kernels of {name}: the archive is older than the lab")
    return subprocess.run(["ar", "p", archive, name + ".o"], capture_output=True).stdout


def table(build):
    """C code that prints a line for each function, with the dtypes that share a source, or
    one line with their number."""
    rows, order = {}, []
    for c in labkit.read_json(Path(build, "kernels.json")):
        if "_workspace_" in c["function"]:
            continue
        op, _, dtype = c["function"].rpartition("_")
        order += [op] if op not in order else []
        rows.setdefault((op, c["source"] + c["note"]), []).append(dtype)
    by_op = sorted(rows.items(), key=lambda row: order.index(row[0][0]))
    lines = [f'    "  {op:<26} {" ".join(types):<14} {source}\\n"'
             for (op, source), types in by_op]
    yours = sorted({op for op, source in rows if source.startswith("yours")})
    stale = len({op for op, source in rows if "since" in source})
    count = f"{len(yours)} of {len(order)} are yours"
    count += f", {stale} changed since they passed" if stale else ""
    names = "".join(f'"{op}", ' for op in yours)
    return ('#include "kernels.h"\n\n#include <string.h>\n\n'
            'void wb_print_kernels(FILE *out)\n{\n'
            '    fputs("kernels:\\n"\n' + "\n".join(lines) + ", out);\n}\n\n"
            'void wb_count_kernels(FILE *out)\n{\n'
            f'    fputs("kernels: {count} (--kernels lists them)\\n", out);\n}}\n\n'
            'int wb_kernel_is_yours(const char *op)\n{\n'
            f'    static const char *const yours[] = {{{names}NULL}};\n'
            '    for (int i = 0; yours[i]; i++)\n'
            '        if (strcmp(yours[i], op) == 0) return 1;\n    return 0;\n}\n')


def fallback(build):
    """An archive with one isolated object per lab: all functions, no source lines."""
    archive = Path(build, "fallback.a")
    folder = Path(build, "fallback")
    folder.mkdir(parents=True, exist_ok=True)
    members = []
    for _, name in labkit.program_labs():
        parts = objects_of(build, name, "solution")
        if parts:
            member = folder / f"{name}.o"
            labkit.isolate(parts, member, list(labkit.header_functions(name)))
            labkit.run(labkit.OBJCOPY, "--strip-debug", str(member))
            members.append(str(member))
    archive.unlink(missing_ok=True)
    labkit.run("ar", "rcs", str(archive), *members)


def join(out, name, *parts):
    functions = labkit.header_functions(name)
    labkit.isolate(parts, out, [f for f in functions if f in labkit.exported(*parts)])


def stubs(out, name):
    functions = labkit.header_functions(name)
    labkit.write_if_changed(out, labkit.stubs(functions, "__attribute__((weak)) "))


COMMANDS = {"choose": choose, "objects": objects, "link": link, "fallback": fallback,
            "join": join, "stubs": stubs}
if len(sys.argv) < 3 or sys.argv[1] not in COMMANDS:
    labkit.stop(__doc__)
COMMANDS[sys.argv[1]](*sys.argv[2:])
