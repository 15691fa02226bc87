"""lab_types.py [check] - writes python/warpbook/_labs.pyi from the labs' headers: what
the labs' functions take and return, for type checkers and editors. check: fails if the
file is not up to date, and writes nothing."""

import sys
import textwrap
from inspect import Parameter
from pathlib import Path

sys.path.insert(0, "python")
from warpbook import _contract, kernels  # noqa: E402

STUB = Path("python/warpbook/_labs.pyi")
HEAD = '''"""_labs.pyi - the types of the labs' functions. Do not edit it: make
python-types generates it from the labs' headers (tools/lab_types.py)."""

from typing import Any, Literal, NamedTuple, Sequence, overload

from numpy.typing import ArrayLike, NDArray

from .kernels import Lab

Array = NDArray[Any]
Dtype = Literal["f32", "f16", "bf16"] | None
Source = Literal["yours", "solution"] | None
'''


def camel(name):
    return "".join(part.capitalize() for part in name.split("_"))


def definition(indent, name, parts, result):
    """A `def` that is broken into lines between parameters."""
    whole = [part.replace(" ", "\0") for part in [*parts[:-1], f"{parts[-1]}) -> {result}:"]]
    lines = textwrap.wrap(
        f"def {name}({', '.join(whole)} ...",
        90,
        initial_indent=indent,
        subsequent_indent=indent + "    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace("\0", " ")


class Results:
    """What a function returns: an array, or a named tuple of several. A call returns the
    optional outputs in `wanted` if it asks for them, and the others if it passes the
    optional inputs in `given`."""

    def __init__(self, f):
        outputs = [b for b in f.buffers.values() if b.role != "in"]
        optional = [b for b in outputs if b.optional]
        self.wanted = [b.name for b in optional if b.role == "out" and not b.with_input]
        self.given = [b.with_input or b.name for b in optional if b.name not in self.wanted]
        self.fixed = not optional
        self.one = len(outputs) - len(optional) == 1
        self.name = camel(f.name)
        self.fields = [
            f"    {b.name}: Array" + "  # optional" * b.optional for b in outputs
        ]

    def declared(self):
        if self.one and self.fixed:
            return []
        base = "NamedTuple" if self.fixed else "tuple[Array, ...]"
        return ["", f"class {self.name}({base}):", *self.fields]


def parameter(f, p, results, required):
    """One parameter; None if this overload does not have it."""
    array = results.one and not required  # it returns an array
    if p.name == "want":
        if array or not results.wanted:
            return None
        names = f"Literal[{', '.join(repr(n) for n in results.wanted)}]"
        kind, default = f"{names} | Sequence[{names}]", " = ()"
    elif p.name == "dtype":
        kind, default = "Dtype", " = None"
    elif p.name in f.buffers:
        kind, default = "ArrayLike", ""
        if p.default is None:
            none = array and p.name in results.given
            kind, default = "None" if none else "ArrayLike | None", " = None"
    else:
        kind = f.scalars()[p.name]
        default = "" if p.default is Parameter.empty else f" = {p.default!r}"
        kind += " | None" if p.default is None else ""
    if p.name == required:
        kind, default = kind.replace(" | None", ""), ""
    return f"{p.name}: {kind}{default}"


def method(f, name, results, result, required=""):
    parts = ["self"]
    for p in kernels._signature(f).parameters.values():
        if p.kind is Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        part = parameter(f, p, results, required)
        parts += [part] if part else []
    return definition("    ", name, parts, result)


def methods(f, name):
    """The overloads. If only one output is not optional, a call that asks for no other
    output returns an array."""
    results = Results(f)
    if results.fixed or not results.one:
        result = "Array" if results.one else results.name
        return [method(f, name, results, result)]
    calls = [method(f, name, results, "Array")]
    for required in ["want"] * bool(results.wanted) + results.given:
        calls.append(method(f, name, results, results.name, required))
    return [line for call in calls for line in ("    @overload", call)]


def lab(folder):
    op = folder.name.split("_", 1)[1]
    functions = _contract.functions(folder)
    lines = [line for f in functions.values() for line in Results(f).declared()]
    lines += ["", f"class {camel(op)}(Lab):"]
    for name, f in functions.items():
        lines += methods(f, name[len(op) + 1 :] if name.startswith(op + "_") else name)
    return lines


def stub():
    lines, choices = [HEAD.rstrip()], []
    for folder in sorted(Path("labs").glob("lab*_*")):
        number, op = folder.name.split("_", 1)
        lines += lab(folder)
        names = ", ".join(f'"{n}"' for n in (op, number, folder.name))
        choices.append((f"Literal[{names}]", camel(op)))
    lines.append("")
    for name, result in [*choices, ("str", "Lab")]:
        parts = [f"name: {name}", "source: Source = None", "seconds: float = 60"]
        lines += ["@overload", definition("", "lab", parts, result)]
    return "\n".join(lines) + "\n"


def main():
    text = stub()
    if sys.argv[1:] != ["check"]:
        STUB.write_text(text)
    elif STUB.read_text() != text:
        sys.exit(f"{STUB} does not match the headers: run make python-types")


main()
