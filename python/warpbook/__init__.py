"""warpbook - the workbook from Python: models on its engine, and the labs' kernels on
NumPy arrays.

    import numpy as np, warpbook

    model = warpbook.Model.open("runs/laptop-griffin/best")
    for piece in model.generate("ROMEO:", 100):
        print(piece, end="")

    rmsnorm = warpbook.lab("rmsnorm")
    out = rmsnorm.forward(np.ones((4, 8)), np.ones(8), 1e-5)

Both need libraries that `make python` builds in the tree of the workbook; nothing is
compiled here.
"""

from typing import TYPE_CHECKING

from ._find import Error, __version__
from .kernels import KernelError, Lab
from .model import Info, Model, State

if TYPE_CHECKING:
    from ._labs import lab
else:
    from .kernels import open_lab as lab

__all__ = ["Error", "Info", "KernelError", "Lab", "Model", "State", "lab", "__version__"]
