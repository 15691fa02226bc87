"""dry.py - the arguments of a dry case: real sizes, data only for filled integers.

A case with dry=1 has sizes at which an int index overflows, or a grid has more rows than
gridDim.y allows. Nothing is computed: the grader gives the launcher buffers of zeros and
looks at its launches (docs/grader.md). So a dry case needs no X_data; the lab's header
says it all:

    float *out,      // out (R,C), ld; may be x
    float *rstd,     // out opt (R), always float
    const int *pos,  // in opt (B,T)

Integers are keys of the case; a missing row length (ld, ldq, ...) is the shortest. Other
numbers are 1 if they are missing. Optional inputs are NULL; so is what null=a,b names.
pos=7 fills an input of integers with 7. writes=a,b names arguments that are updated in
place and whose last element the call must write, without reading it before.
"""

import glob
import math
import re

import numpy as np

import wb
from call import Call

ARGUMENT = re.compile(
    r"^\s*(?:const )?(\w+) \*(\w+),\s*// (in|out|inout|acc)\s+(opt )?\(([^)]*)\)(.*)$"
)
ELEMENTS = {"int": "i32", "uint8_t": "u8", "uint64_t": "i64"}


def prototype(folder, function):
    """the lines of the declaration of function_f32"""
    for path in sorted(glob.glob(f"{folder}/*.h")):
        with open(path, encoding="utf-8") as lines:
            text = lines.read()
        pattern = rf"^wb_status {function}_f32\((.*?)\bstream\);"
        found = re.search(pattern, text, re.M | re.S)
        if found:
            return found[1]
    raise wb.Broken(f"no header in {folder} declares {function}_f32")


def extent(text, sizes, case):
    """the value of R, N/2, S+T, ..."""
    if not re.fullmatch(r"[\w+/*-]+", text):
        raise wb.Broken(f"{case['at']}: a dimension {text} in the header")
    missing = [n for n in re.findall(r"[A-Za-z_]\w*", text) if n not in sizes]
    if missing:
        raise wb.Broken(f"{case['at']}: {case['function']} needs {missing[0]}=...")
    return int(eval(text.replace("/", "//"), {"__builtins__": {}}, sizes))


def names_in(case, key):
    """the arguments that null= or writes= names"""
    return str(case["keys"].get(key, "")).split(",")


def add_argument(call, case, sizes, line):
    C_type, name, role, optional, dims, rest = line.groups()
    null = name in names_in(case, "null")
    filling = case["keys"].get(name) if C_type == "int" else None
    dims = [d.strip() for d in dims.split(",")]
    dtype = ELEMENTS.get(C_type, "f32" if "always float" in rest else call.E)
    if name in names_in(case, "writes"):
        role = "out"
    elif optional and role in ("in", "inout") and filling is None:
        null = True
    # the rows of (B,T,H,D), ld are tokens
    leading = 2 if len(dims) > 2 and dims[1] in ("T", "S") else 1
    stride = re.match(r", (ld\w*)", rest)
    if not stride:
        leading = len(dims) - 1
    if null:
        call.null(name, role, dtype)
        if not stride:
            return
    shape = [extent(d, sizes, case) for d in dims]
    rows, cols = math.prod(shape[:leading]), math.prod(shape[leading:])
    ld = sizes.setdefault(stride[1], cols) if stride else cols
    if null:
        return
    values = None if filling is None else np.full(rows * ld, filling)
    call.buffer(name, values, rows * ld, dtype)
    call.view(name, role, name, (rows, cols) if leading else (cols,), stride=ld)


def make_call(folder, case):
    """A Call whose buffers have no values."""
    call = Call(case["dtype"], 0)
    sizes = {k: v for k, v in case["keys"].items() if isinstance(v, int)}
    text = prototype(folder, case["function"])
    for line in text.splitlines():
        argument = ARGUMENT.match(line)
        if argument:
            add_argument(call, case, sizes, argument)
    numbers = re.sub(r"//.*", "", text)
    for kind, name in re.findall(r"\b(int|float) (\w+)", numbers):
        value = case["keys"].get(name, sizes.get(name, 1.0 if kind == "float" else None))
        if value is None:
            raise wb.Broken(f"{case['at']}: {case['function']} needs {name}=...")
        call.scalar(name, value)
    dims = re.findall(r"[A-Za-z_]\w*", " ".join(re.findall(r"\(([\w,/+]*)\)", text)))
    integers = {n for n, a in call.args.items() if a["dtype"] == "i32"}
    unknown = set(case["keys"]) - {*call.scalars, *integers, *dims, "null", "writes"}
    unknown |= {*names_in(case, "writes")} - {"", *call.args}
    if unknown:
        raise wb.Broken(f"{case['at']}: {case['function']} has no {min(unknown)}")
    return call
