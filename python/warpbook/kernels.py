"""kernels.py - the kernels of a lab as Python functions on NumPy arrays: the learner's own
build, or the solution's."""

import math
import re
import sys
import warnings
from collections import namedtuple
from functools import lru_cache
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from . import _contract, _find
from ._contract import Buffer, Function
from ._find import Error
from ._process import Answer, KernelError, Worker

NUMPY = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": np.uint16,
    "i32": np.int32,
    "u8": np.uint8,
    "u64": np.uint64,
}
SOURCES = {"yours": "labs", "solution": "solutions"}
TODO = 1  # WB_TODO of wb.h

__all__ = ["KernelError", "Lab", "open_lab"]


# --- elements ---------------------------------------------------------------------------


def to_bf16(values: NDArray[Any]) -> NDArray[Any]:
    """The bits of bf16, rounded to nearest even; NumPy has no such type."""
    values = np.asarray(values, np.float32)
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def from_bf16(bits: NDArray[Any]) -> NDArray[Any]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def encode(values: Any, element: str) -> NDArray[Any]:
    if element == "bf16":
        return to_bf16(values)
    return np.asarray(values).astype(NUMPY[element])


def decode(content: bytes, element: str, shape: Tuple[int, ...]) -> NDArray[Any]:
    values = np.frombuffer(content, NUMPY[element]).reshape(shape)
    return from_bf16(values) if element == "bf16" else values.copy()


# --- one call ---------------------------------------------------------------------------


def extent(text: str, sizes: Dict[str, int]) -> int:
    """The value of R, N/2, S+T, 2."""
    total = 0
    for term in text.split("+"):
        name, _, divisor = term.strip().partition("/")
        value = int(name) if name.isdigit() else sizes[name]
        total += value // int(divisor or 1)
    return total


class Call:
    """The arguments of one call, from what the caller gave."""

    def __init__(
        self, f: Function, dtype: str, given: Dict[str, Any], want: Tuple[str, ...]
    ):
        self.f, self.dtype, self.want = f, dtype, want
        self.arrays = {
            n: np.asarray(given[n]) for n in f.buffers if given.get(n) is not None
        }
        self.scalars = {n: given[n] for n in f.scalars()}
        self.sizes: Dict[str, int] = {
            n: int(v)
            for n, v in self.scalars.items()
            if dict((b, a) for a, b in f.arguments)[n] == "int"
        }
        self.rows: Tuple[int, ...] = ()  # what the caller has in place of one dimension R
        for name, array in self.arrays.items():
            self._measure(f.buffers[name], array)
        self.sizes.setdefault("N", 0)  # without a table of angles, nothing is rotated
        for b in f.buffers.values():
            if b.stride:
                self.sizes[b.stride] = math.prod(extent(d, self.sizes) for d in b.row)

    def _set(self, b: Buffer, dim: str, value: int) -> None:
        name, _, divisor = dim.partition("/")
        value *= int(divisor or 1)
        if name.isdigit():
            known = int(name)
        else:
            known = self.sizes.setdefault(name, value)
        if known != value:
            raise ValueError(
                f"{self.f.name}: {b.name} ({','.join(b.dims)}) has {dim} = "
                f"{value}, but {dim} is {known}"
            )

    def _measure(self, b: Buffer, array: NDArray[Any]) -> None:
        shape = array.shape
        if b.dims[0] == "R" and len(shape) >= len(b.dims):
            rows = len(shape) - len(b.dims) + 1
            if len(shape) > len(b.dims) or not self.rows:
                self.rows = shape[:rows]
            shape = (math.prod(shape[:rows]), *shape[rows:])
        if len(shape) != len(b.dims):
            raise ValueError(
                f"{self.f.name}: {b.name} has the shape {array.shape}, "
                f"not ({','.join(b.dims)})"
            )
        for dim, value in zip(b.dims, shape):
            if "+" not in dim:
                self._set(b, dim, value)

    def element(self, b: Buffer) -> str:
        return self.dtype if b.element == "E" else b.element

    def shape(self, b: Buffer) -> Tuple[int, ...]:
        shape = tuple(extent(d, self.sizes) for d in b.dims)
        return (*self.rows, *shape[1:]) if self.rows and b.dims[0] == "R" else shape

    def is_null(self, b: Buffer) -> bool:
        if b.role in ("in", "inout"):
            return b.name not in self.arrays
        if b.with_input:
            return b.with_input not in self.arrays
        return b.optional and b.name not in self.want

    def results(self) -> List[Buffer]:
        return [
            b for b in self.f.buffers.values() if b.role != "in" and not self.is_null(b)
        ]

    def arguments(self, space: int) -> List[Tuple[Any, ...]]:
        given = [self._argument(kind, name, space) for kind, name in self.f.arguments]
        return [*given, ("null",)]  # the default stream

    def _argument(self, kind: str, name: str, space: int) -> Tuple[Any, ...]:
        if kind == "space":
            return "space", space
        if kind == "size":
            return "size", space
        if kind != "buffer":
            value = self.sizes[name] if kind == "int" else float(self.scalars[name])
            return kind, value
        b = self.f.buffers[name]
        if self.is_null(b):
            return ("null",)
        if name in self.arrays:
            content: Any = np.ascontiguousarray(
                encode(self.arrays[name], self.element(b))
            ).tobytes()
        else:
            size = math.prod(self.shape(b)) * np.dtype(NUMPY[self.element(b)]).itemsize
            content = bytes(size) if b.role == "acc" else size
        return "buffer", content, b.role != "in"


def workspace_arguments(f: Function, sizes: Dict[str, int]) -> List[Tuple[Any, ...]]:
    return [("int", sizes[n]) for n in f.workspace or []]


# --- a lab ------------------------------------------------------------------------------


@lru_cache(maxsize=None)
def worker(library: Path) -> Worker:
    return Worker(library)


class Lab:
    """The functions of a lab's header, as methods: `lab("rmsnorm").forward(x, w, eps)` is
    rmsnorm_forward; help(lab("rmsnorm").forward) shows the arguments.

    Inputs are arrays of the shapes in the header; sizes follow from them. A dimension R
    (rows) may be several dimensions. Scalars follow the required inputs, by position or
    by name. Optional inputs and the start value of sums (`acc`) are given by name.
    `want=("rstd",)` asks for optional outputs. The result is an array, or a named tuple
    of several. dtype is f32, f16 (as the inputs are) or bf16, whose values are float32
    arrays here. Outputs that a kernel has not written are NaN."""

    def __init__(
        self, name: str, source: Optional[str] = None, seconds: float = 60
    ) -> None:
        if source not in (None, *SOURCES):
            raise Error(f"source {source!r}: use 'yours' or 'solution', or leave it out")
        root = _find.tree()
        if root is None:
            raise Error("no tree of the workbook here: set WARPBOOK_TREE to its folder")
        folders = sorted(p.name for p in (root / "labs").glob("lab*_*"))
        found = [f for f in folders if name in (f, *f.split("_", 1))]
        if not found:
            raise Error(
                f"{name}: no such lab; there are "
                + " ".join(f.split("_", 1)[1] for f in folders)
            )
        self.folder, self.root, self.seconds = found[0], root, seconds
        self.op = self.folder.split("_", 1)[1]
        self.source = source
        self.ran: Dict[str, str] = {}  # {function: where it ran from}, of the last calls
        self.functions = _contract.functions(root / "labs" / self.folder)
        self._methods = {
            n[len(self.op) + 1 :] if n.startswith(self.op + "_") else n: n
            for n in self.functions
        }

    def __repr__(self) -> str:
        return f"<warpbook lab {self.folder}: {', '.join(self._methods)}>"

    def __dir__(self) -> List[str]:
        return [*super().__dir__(), *self._methods]

    if not TYPE_CHECKING:  # _labs.pyi declares the functions of each lab

        def __getattr__(self, name: str) -> Callable[..., Any]:
            methods = self.__dict__.get("_methods", {})
            known = name in self.__dict__.get("functions", {})
            full = name if known else methods.get(name)
            if full is None:
                raise AttributeError(
                    f"{self.__dict__.get('folder')} has no function {name}: "
                    f"it has {', '.join(methods)}"
                )
            return self._method(self.functions[full])

    def _method(self, f: Function) -> Callable[..., Any]:
        signature = _signature(f)

        def method(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return self._run(f, dict(bound.arguments))

        method.__name__ = method.__qualname__ = f.name
        method.__doc__ = f.text
        method.__signature__ = signature  # type: ignore[attr-defined]
        return method

    def _sources(self) -> List[str]:
        has_solutions = (self.root / SOURCES["solution"]).is_dir()
        if self.source == "solution" and not has_solutions:
            raise Error("a handout has no solutions: use lab() without a source")
        return [self.source] if self.source else list(SOURCES)[: 1 + has_solutions]

    def _library(self, source: str) -> Optional[Path]:
        return _find.build(f"python/{SOURCES[source]}/{self.folder}.so")

    def _check_fresh(self, source: str, library: Path) -> None:
        built = library.stat().st_mtime
        for path in (self.root / SOURCES[source] / self.folder).glob("*.cu*"):
            if path.stat().st_mtime > built:
                warnings.warn(
                    f"{path.relative_to(self.root)} is newer than what runs: "
                    "make python",
                    stacklevel=5,
                )

    def _run(self, f: Function, given: Dict[str, Any]) -> Any:
        dtype, want = given.pop("dtype"), given.pop("want")
        dtype = dtype or _dtype_of(f, given)
        if dtype not in ("f32", "f16", "bf16"):
            raise Error(f"dtype {dtype!r}: use 'f32', 'f16' or 'bf16'")
        if given.get("scale", 0) is None:
            given["scale"] = 1.0
            attends = "D" in dict((n, k) for k, n in f.arguments)
            if attends:
                given["scale"] = Call(f, dtype, given, ()).sizes["D"] ** -0.5
        want = (want,) if isinstance(want, str) else tuple(want)
        for name in want:
            if name not in f.buffers or not f.buffers[name].optional:
                raise Error(
                    f"{f.name} has no optional output {name}; want= takes "
                    f"{_optional(f) or 'nothing'}"
                )
        call = Call(f, dtype, given, want)
        name = f"{f.name}_{dtype}"
        answer = self._answer(call, name)
        status, status_name, error, results = answer
        if status or error:
            why = (
                error
                if error and (not status or status_name == "WB_BAD_CUDA")
                else status_name
            )
            raise KernelError(f"{name} of {self.ran[f.name]}: {why}")
        return _results(call, results)

    def _answer(self, call: Call, name: str) -> Tuple[int, str, str, List[bytes]]:
        """From the learner's build, or from the solution's where that has no such
        function yet."""
        missing = []
        for source in self._sources():
            place = f"{SOURCES[source]}/{self.folder}"
            library = self._library(source)
            if library is None:
                missing.append(f"{place} is not built: make python")
                continue
            self._check_fresh(source, library)
            w = worker(library)
            with w.lock:
                answer = self._ask(call, name, w)
            if answer is None or answer[0] == TODO:
                missing.append(f"{name} is not written yet in {place}")
                continue
            self.ran[call.f.name] = place
            if missing:
                warnings.warn(f"{missing[0]}: {place} runs instead", stacklevel=4)
            return answer
        raise Error(f"{self.op}: " + "; ".join(missing))

    def _ask(self, call: Call, name: str, w: Worker) -> Answer:
        space = 0
        if call.f.workspace is not None:
            function = name[: name.rindex("_")] + "_workspace" + name[name.rindex("_") :]
            size = w.call(function, workspace_arguments(call.f, call.sizes), self.seconds)
            if size is None:
                return None
            space = size[0]
        answer = w.call(name, call.arguments(space), self.seconds)
        sys.stdout.write(w.said())
        return answer


def _signature(f: Function) -> Signature:
    arrays = [b for b in f.buffers.values() if b.role in ("in", "inout")]
    named = [b.name for b in arrays if b.optional]
    named += [b.name for b in f.buffers.values() if b.role == "acc"]
    either, only = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    parameters = [Parameter(b.name, either) for b in arrays if not b.optional]
    for name in f.scalars():
        default = (
            None if name == "scale" else _contract.DEFAULTS.get(name, Parameter.empty)
        )
        parameters.append(Parameter(name, either, default=default))
    parameters += [Parameter(n, only, default=None) for n in named]
    parameters += [
        Parameter("dtype", only, default=None),
        Parameter("want", only, default=()),
    ]
    return Signature(parameters)


def _optional(f: Function) -> str:
    return " ".join(b.name for b in f.buffers.values() if b.role == "out" and b.optional)


def _dtype_of(f: Function, given: Dict[str, Any]) -> str:
    arrays = [
        np.asarray(given[n])
        for n, b in f.buffers.items()
        if b.element == "E" and given.get(n) is not None
    ]
    return "f16" if arrays and all(a.dtype == np.float16 for a in arrays) else "f32"


def _results(call: Call, contents: List[bytes]) -> Any:
    buffers = call.results()
    arrays = [
        decode(c, call.element(b), call.shape(b)) for b, c in zip(buffers, contents)
    ]
    if len(arrays) == 1:
        return arrays[0]
    kind = re.sub(r"[^A-Za-z_]", "", call.f.name)
    return namedtuple(kind, [b.name for b in buffers])(*arrays)


def open_lab(name: str, source: Optional[str] = None, seconds: float = 60) -> Lab:
    """The kernels of a lab: lab("rmsnorm"), lab("lab03"). source is "yours", the file in
    labs/, or "solution"; without it yours runs, and the solution's where a function of
    yours is not written yet, with a warning. A call may take this many seconds."""
    return Lab(name, source, seconds)
