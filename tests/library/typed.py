"""typed.py - right and wrong uses of the package, for mypy, which runs nothing. A line
with `type: ignore` must have an error, else mypy --strict reports an unused comment."""

from typing import Any, Iterator, List, Tuple

import numpy as np
from numpy.typing import NDArray

import warpbook

x, w = np.ones((4, 8)), np.ones(8)

# --- labs -------------------------------------------------------------------------------

rmsnorm = warpbook.lab("rmsnorm")
out: NDArray[Any] = rmsnorm.forward(x, w, 1e-5)
also: NDArray[Any] = warpbook.lab("lab03", "yours", seconds=5).forward([[1.0]], [1.0])
both = rmsnorm.forward(x, w, want="rstd")
rstd: NDArray[Any] = both.rstd
grads = rmsnorm.backward(x, x, w, rstd, dtype="bf16", dw=w)
dx, dw = grads
total: NDArray[Any] = grads.dx + dx + dw
added, summed = rmsnorm.residual_forward(x, x, w)
again = warpbook.lab("rglru").forward(x, x, x, w, state=x)
state: NDArray[Any] = again.state
names: List[str] = list(rmsnorm.functions)

rmsnorm.forwards(x, w)  # type: ignore
rmsnorm.forward(x)  # type: ignore
rmsnorm.forward(x, w, epsilon=1e-5)  # type: ignore
rmsnorm.forward(x, w, want="rst")  # type: ignore
rmsnorm.forward(x, w).rstd  # type: ignore
rmsnorm.backward(x, x, w, rstd, dtype="f8")  # type: ignore
one, two, three = grads  # type: ignore
grads.dy  # type: ignore
warpbook.lab("rmsnorm", "mine")  # type: ignore
warpbook.lab("softmax").forward(x, "2")  # type: ignore

# --- models -----------------------------------------------------------------------------

with warpbook.Model.open("folder", dtype="bf16", stop=[1]) as model:
    pieces: Iterator[str] = model.generate("text", 10, seed=1)
    ids: Iterator[int] = model.generate([1, 2], state=model.state())
    logits: NDArray[Any] = model.logits("text")
    shape: Tuple[int, int] = model.info.vocab, model.info.layers

model.generate(3)  # type: ignore
model.generate("text", seeds=1)  # type: ignore
model.logits([1], state=b"")  # type: ignore
model.info.vocab = 3  # type: ignore
warpbook.Model.open("folder", temprature=1)  # type: ignore
