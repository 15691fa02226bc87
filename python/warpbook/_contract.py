"""_contract.py - what a lab's header says about its functions. The declarations for
float are the specification, and have a comment for each buffer:

    wb_status rmsnorm_forward_f32(
        float *out,      // out (R,C); may be x
        float *rstd,     // out opt (R), always float; the backward pass needs it
        const float *x,  // in  (R,C)
        int R, int C, float eps, float offset, cudaStream_t stream);
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

from ._find import Error

BUFFER = re.compile(
    r"^\s*(?:const )?(\w+) \*(\w+),\s*// (in|out|inout|acc)\s+(opt )?\(([^)]*)\)(.*)$"
)
FUNCTION = re.compile(
    r"(?:/\*((?:(?!\*/).)*)\*/\s*)?"
    r"^wb_status (\w+)_f32\(((?:(?!^wb_status).)*?)\bstream\);",  # not host code
    re.M | re.S,
)
SPACE = re.compile(r"^size_t (\w+)_workspace_f32\(([^)]*)\);", re.M)
ELEMENTS = {"int": "i32", "uint8_t": "u8", "uint64_t": "u64"}
WB_ALL = 2**31 - 1

# Of scalars; `scale` of an attention is 1/sqrt(D).
DEFAULTS: Dict[str, float] = {
    "eps": 1e-5,
    "offset": 0.0,
    "scale": 1.0,
    "softcap": 0.0,
    "ignore": -1,
    "window": WB_ALL,
    "base": 10000.0,
    "penalty": 1.0,
    "temperature": 0.0,
    "top_k": 0,
    "top_p": 1.0,
}


@dataclass
class Buffer:
    name: str
    role: str  # in, out, inout, acc
    optional: bool
    element: str  # E, or always f32, i32, u8, u64
    dims: List[str]
    stride: Optional[str]  # ld: the distance between two rows
    with_input: Optional[str]  # an optional output that is NULL exactly if this input is

    @property
    def row(self) -> List[str]:
        """the dimensions of one row"""
        tokens = len(self.dims) > 2 and self.dims[1] in ("T", "S")
        return self.dims[2 if tokens else 1 :]


@dataclass
class Function:
    name: str
    text: str
    arguments: List[Tuple[str, str]] = field(default_factory=list)  # (kind, name), all
    buffers: Dict[str, Buffer] = field(default_factory=dict)
    workspace: Optional[List[str]] = None  # the arguments of X_workspace

    def inferred(self) -> List[str]:
        """the sizes that follow from the shapes of inputs, and strides"""
        found = [b.stride for b in self.buffers.values() if b.stride]
        for b in self.buffers.values():
            if b.role != "out":
                found += re.findall(r"[A-Za-z]\w*", " ".join(b.dims))
        return found

    def scalars(self) -> Dict[str, str]:
        """{name: kind} of the numbers that a caller gives"""
        inferred = self.inferred()
        return {
            n: k for k, n in self.arguments if k in ("int", "float") and n not in inferred
        }


def _buffer(line: str) -> Optional[Buffer]:
    found = BUFFER.match(line)
    if not found:
        return None
    kind, name, role, optional, dims, rest = found.groups()
    stride = re.match(r", (ld\w*)", rest)
    follows = re.search(r"NULL exactly if (\w+) is", rest)
    element = ELEMENTS.get(kind, "f32" if "always float" in rest else "E")
    return Buffer(
        name,
        role,
        bool(optional),
        element,
        dims.split(","),
        stride[1] if stride else None,
        follows[1] if follows else None,
    )


def _function(comment: Optional[str], name: str, body: str) -> Function:
    text = re.sub(r"\n \* ?", "\n", (comment or "").strip())
    f = Function(name, text)
    for line in body.splitlines():
        buffer = _buffer(line)
        if buffer:
            f.buffers[buffer.name] = buffer
            f.arguments.append(("buffer", buffer.name))
            continue
        for kind, n in re.findall(
            r"(int|float|void \*|size_t) ?(\w+)", line.split("//")[0]
        ):
            kinds = {"void *": "space", "size_t": "size"}
            f.arguments.append((kinds.get(kind, kind), n))
    return f


def functions(folder: Path) -> Dict[str, Function]:
    """Those that a lab's header declares, by their names without the type."""
    found: Dict[str, Function] = {}
    for header in sorted(folder.glob("*.h")):
        text = header.read_text(encoding="utf-8")
        for comment, name, body in FUNCTION.findall(text):
            found[name] = _function(comment, name, body)
        for name, sizes in SPACE.findall(text):
            if name in found:
                found[name].workspace = re.findall(r"int (\w+)", sizes)
    if not found:
        raise Error(f"{folder}: its header declares no function")
    return found
