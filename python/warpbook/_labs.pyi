"""_labs.pyi - the types of the labs' functions. Do not edit it: make
python-types generates it from the labs' headers (tools/lab_types.py)."""

from typing import Any, Literal, NamedTuple, Sequence, overload

from numpy.typing import ArrayLike, NDArray

from .kernels import Lab

Array = NDArray[Any]
Dtype = Literal["f32", "f16", "bf16"] | None
Source = Literal["yours", "solution"] | None

class Basics(Lab):
    def hello(self, blocks: int, threads: int, *, dtype: Dtype = None) -> Array: ...
    def add(self, a: ArrayLike, b: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def outer(self, a: ArrayLike, b: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def saxpy(self, y: ArrayLike, x: ArrayLike, a: float, blocks: int, threads: int, *,
        dtype: Dtype = None) -> Array: ...
    def scale_rows(self, x: ArrayLike, w: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def reverse(self, x: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def transpose(self, x: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def sum_rows(self, x: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def sum_rows_warp(self, x: ArrayLike, *, dtype: Dtype = None) -> Array: ...
    def smooth(self, x: ArrayLike, *, dtype: Dtype = None) -> Array: ...

class SwigluBackward(NamedTuple):
    dgate: Array
    dup: Array

class GegluBackward(NamedTuple):
    dgate: Array
    dup: Array

class Swiglu(Lab):
    def forward(self, gate: ArrayLike, up: ArrayLike, *, dtype: Dtype = None) -> Array:
        ...
    def backward(self, dout: ArrayLike, gate: ArrayLike, up: ArrayLike, *,
        dtype: Dtype = None) -> SwigluBackward: ...
    def geglu_forward(self, gate: ArrayLike, up: ArrayLike, *,
        dtype: Dtype = None) -> Array: ...
    def geglu_backward(self, dout: ArrayLike, gate: ArrayLike, up: ArrayLike, *,
        dtype: Dtype = None) -> GegluBackward: ...

class Rope(Lab):
    def table(self, P: int, N: int, base: float = 10000.0, *,
        dtype: Dtype = None) -> Array: ...
    def forward(self, x: ArrayLike, cis: ArrayLike, *, pos: ArrayLike | None = None,
        dtype: Dtype = None) -> Array: ...
    def backward(self, dout: ArrayLike, cis: ArrayLike, *, pos: ArrayLike | None = None,
        dtype: Dtype = None) -> Array: ...

class RmsnormForward(tuple[Array, ...]):
    out: Array
    rstd: Array  # optional

class RmsnormResidualForward(tuple[Array, ...]):
    out: Array
    sum: Array
    rstd: Array  # optional

class RmsnormBackward(NamedTuple):
    dx: Array
    dw: Array

class Rmsnorm(Lab):
    @overload
    def forward(self, x: ArrayLike, w: ArrayLike, eps: float = 1e-05, offset: float = 0.0,
        *, dtype: Dtype = None) -> Array: ...
    @overload
    def forward(self, x: ArrayLike, w: ArrayLike, eps: float = 1e-05, offset: float = 0.0,
        *, dtype: Dtype = None,
        want: Literal['rstd'] | Sequence[Literal['rstd']]) -> RmsnormForward: ...
    def residual_forward(self, x: ArrayLike, res: ArrayLike, w: ArrayLike,
        eps: float = 1e-05, offset: float = 0.0, *, dtype: Dtype = None,
        want: Literal['rstd'] | Sequence[Literal['rstd']] = ()) -> RmsnormResidualForward:
        ...
    def backward(self, dout: ArrayLike, x: ArrayLike, w: ArrayLike, rstd: ArrayLike,
        offset: float = 0.0, *, dres: ArrayLike | None = None,
        dw: ArrayLike | None = None, dtype: Dtype = None) -> RmsnormBackward: ...

class CrossEntropy(tuple[Array, ...]):
    loss: Array
    dlogits: Array  # optional

class Softmax(Lab):
    def forward(self, x: ArrayLike, scale: float | None = None, *,
        dtype: Dtype = None) -> Array: ...
    def causal_forward(self, x: ArrayLike, T: int, scale: float | None = None, *,
        dtype: Dtype = None) -> Array: ...
    def backward(self, dout: ArrayLike, p: ArrayLike, scale: float | None = None, *,
        dtype: Dtype = None) -> Array: ...
    @overload
    def cross_entropy(self, logits: ArrayLike, target: ArrayLike, softcap: float = 0.0,
        ignore: int = -1, *, gscale: ArrayLike | None = None,
        dtype: Dtype = None) -> Array: ...
    @overload
    def cross_entropy(self, logits: ArrayLike, target: ArrayLike, softcap: float = 0.0,
        ignore: int = -1, *, gscale: ArrayLike | None = None, dtype: Dtype = None,
        want: Literal['dlogits'] | Sequence[Literal['dlogits']]) -> CrossEntropy: ...

class AttentionForward(tuple[Array, ...]):
    out: Array
    lse: Array  # optional

class AttentionBackward(NamedTuple):
    dq: Array
    dk: Array
    dv: Array

class Attention(Lab):
    @overload
    def forward(self, q: ArrayLike, k: ArrayLike, v: ArrayLike, window: int = 2147483647,
        scale: float | None = None, *, pos: ArrayLike | None = None,
        dtype: Dtype = None) -> Array: ...
    @overload
    def forward(self, q: ArrayLike, k: ArrayLike, v: ArrayLike, window: int = 2147483647,
        scale: float | None = None, *, pos: ArrayLike | None = None, dtype: Dtype = None,
        want: Literal['lse'] | Sequence[Literal['lse']]) -> AttentionForward: ...
    def backward(self, dout: ArrayLike, q: ArrayLike, k: ArrayLike, v: ArrayLike,
        out: ArrayLike, lse: ArrayLike, window: int = 2147483647,
        scale: float | None = None, *, pos: ArrayLike | None = None,
        dtype: Dtype = None) -> AttentionBackward: ...

class BlockLinearForward(NamedTuple):
    px: Array
    pa: Array

class BlockLinearBackward(NamedTuple):
    dc: Array
    dwx: Array
    dbx: Array
    dwa: Array
    dba: Array

class Conv1dForward(tuple[Array, ...]):
    out: Array
    conv_state: Array  # optional

class Conv1dBackward(NamedTuple):
    dx: Array
    dw: Array
    dbias: Array

class RglruGatesForward(NamedTuple):
    a: Array
    z: Array

class RglruGatesBackward(NamedTuple):
    dc: Array
    dpx: Array
    dpa: Array
    da_param: Array

class LinearScanForward(tuple[Array, ...]):
    h: Array
    h_last: Array  # optional

class LinearScanBackward(tuple[Array, ...]):
    da: Array
    dz: Array
    dh0: Array  # optional

class RglruForward(tuple[Array, ...]):
    out: Array
    h: Array  # optional
    state: Array  # optional

class RglruBackward(tuple[Array, ...]):
    dc: Array
    dpx: Array
    dpa: Array
    dy: Array  # optional
    da_param: Array

class RglruStep(NamedTuple):
    out: Array
    conv_state: Array
    state: Array

class Rglru(Lab):
    def block_linear_forward(self, c: ArrayLike, wx: ArrayLike, bx: ArrayLike,
        wa: ArrayLike, ba: ArrayLike, *, dtype: Dtype = None) -> BlockLinearForward: ...
    def block_linear_backward(self, dpx: ArrayLike, dpa: ArrayLike, c: ArrayLike,
        wx: ArrayLike, wa: ArrayLike, *, dc_in: ArrayLike | None = None,
        dwx: ArrayLike | None = None, dbx: ArrayLike | None = None,
        dwa: ArrayLike | None = None, dba: ArrayLike | None = None,
        dtype: Dtype = None) -> BlockLinearBackward: ...
    @overload
    def conv1d_forward(self, x: ArrayLike, w: ArrayLike, bias: ArrayLike, *,
        conv_state: None = None, pos: ArrayLike | None = None,
        len: ArrayLike | None = None, dtype: Dtype = None) -> Array: ...
    @overload
    def conv1d_forward(self, x: ArrayLike, w: ArrayLike, bias: ArrayLike, *,
        conv_state: ArrayLike, pos: ArrayLike | None = None, len: ArrayLike | None = None,
        dtype: Dtype = None) -> Conv1dForward: ...
    def conv1d_backward(self, dout: ArrayLike, x: ArrayLike, w: ArrayLike, *,
        pos: ArrayLike | None = None, dw: ArrayLike | None = None,
        dbias: ArrayLike | None = None, dtype: Dtype = None) -> Conv1dBackward: ...
    def gates_forward(self, c: ArrayLike, px: ArrayLike, pa: ArrayLike,
        a_param: ArrayLike, *, pos: ArrayLike | None = None,
        dtype: Dtype = None) -> RglruGatesForward: ...
    def gates_backward(self, da: ArrayLike, dz: ArrayLike, c: ArrayLike, px: ArrayLike,
        pa: ArrayLike, a_param: ArrayLike, *, pos: ArrayLike | None = None,
        da_param: ArrayLike | None = None, dtype: Dtype = None) -> RglruGatesBackward: ...
    @overload
    def linear_scan_forward(self, a: ArrayLike, z: ArrayLike, *,
        h0: ArrayLike | None = None, dtype: Dtype = None) -> Array: ...
    @overload
    def linear_scan_forward(self, a: ArrayLike, z: ArrayLike, *,
        h0: ArrayLike | None = None, dtype: Dtype = None,
        want: Literal['h_last'] | Sequence[Literal['h_last']]) -> LinearScanForward: ...
    def linear_scan_backward(self, dh: ArrayLike, a: ArrayLike, h: ArrayLike, *,
        dh_last: ArrayLike | None = None, h0: ArrayLike | None = None,
        dtype: Dtype = None,
        want: Literal['dh0'] | Sequence[Literal['dh0']] = ()) -> LinearScanBackward: ...
    @overload
    def forward(self, c: ArrayLike, px: ArrayLike, pa: ArrayLike, a_param: ArrayLike, *,
        state: None = None, y: ArrayLike | None = None, pos: ArrayLike | None = None,
        len: ArrayLike | None = None, dtype: Dtype = None) -> Array: ...
    @overload
    def forward(self, c: ArrayLike, px: ArrayLike, pa: ArrayLike, a_param: ArrayLike, *,
        state: ArrayLike | None = None, y: ArrayLike | None = None,
        pos: ArrayLike | None = None, len: ArrayLike | None = None, dtype: Dtype = None,
        want: Literal['h'] | Sequence[Literal['h']]) -> RglruForward: ...
    @overload
    def forward(self, c: ArrayLike, px: ArrayLike, pa: ArrayLike, a_param: ArrayLike, *,
        state: ArrayLike, y: ArrayLike | None = None, pos: ArrayLike | None = None,
        len: ArrayLike | None = None, dtype: Dtype = None,
        want: Literal['h'] | Sequence[Literal['h']] = ()) -> RglruForward: ...
    def backward(self, dout: ArrayLike, c: ArrayLike, px: ArrayLike, pa: ArrayLike,
        h: ArrayLike, a_param: ArrayLike, *, y: ArrayLike | None = None,
        pos: ArrayLike | None = None, da_param: ArrayLike | None = None,
        dtype: Dtype = None) -> RglruBackward: ...
    def step(self, conv_state: ArrayLike, state: ArrayLike, x: ArrayLike, y: ArrayLike,
        w: ArrayLike, bias: ArrayLike, wx: ArrayLike, bx: ArrayLike, wa: ArrayLike,
        ba: ArrayLike, a_param: ArrayLike, pos: ArrayLike, *,
        dtype: Dtype = None) -> RglruStep: ...

class KvAppend(NamedTuple):
    kcache: Array
    vcache: Array

class KvUnroll(NamedTuple):
    kall: Array
    vall: Array

class AttentionDecode(NamedTuple):
    out: Array
    kcache: Array
    vcache: Array

class Sample(tuple[Array, ...]):
    token: Array
    seen: Array  # optional

class Kvcache(Lab):
    def kv_append(self, kcache: ArrayLike, vcache: ArrayLike, k: ArrayLike, v: ArrayLike,
        *, pos: ArrayLike | None = None, len: ArrayLike | None = None,
        dtype: Dtype = None) -> KvAppend: ...
    def kv_unroll(self, kcache: ArrayLike, vcache: ArrayLike, k: ArrayLike, v: ArrayLike,
        pos: ArrayLike, *, dtype: Dtype = None) -> KvUnroll: ...
    def attention_decode(self, kcache: ArrayLike, vcache: ArrayLike, q: ArrayLike,
        k: ArrayLike, v: ArrayLike, pos: ArrayLike, scale: float | None = None, *,
        cis: ArrayLike | None = None, dtype: Dtype = None) -> AttentionDecode: ...
    @overload
    def sample(self, logits: ArrayLike, seed: ArrayLike, pos: ArrayLike,
        softcap: float = 0.0, penalty: float = 1.0, temperature: float = 0.0,
        top_k: int = 0, top_p: float = 1.0, *, seen: None = None,
        dtype: Dtype = None) -> Array: ...
    @overload
    def sample(self, logits: ArrayLike, seed: ArrayLike, pos: ArrayLike,
        softcap: float = 0.0, penalty: float = 1.0, temperature: float = 0.0,
        top_k: int = 0, top_p: float = 1.0, *, seen: ArrayLike,
        dtype: Dtype = None) -> Sample: ...

@overload
def lab(name: Literal["basics", "lab00", "lab00_basics"], source: Source = None,
    seconds: float = 60) -> Basics: ...
@overload
def lab(name: Literal["swiglu", "lab01", "lab01_swiglu"], source: Source = None,
    seconds: float = 60) -> Swiglu: ...
@overload
def lab(name: Literal["rope", "lab02", "lab02_rope"], source: Source = None,
    seconds: float = 60) -> Rope: ...
@overload
def lab(name: Literal["rmsnorm", "lab03", "lab03_rmsnorm"], source: Source = None,
    seconds: float = 60) -> Rmsnorm: ...
@overload
def lab(name: Literal["softmax", "lab04", "lab04_softmax"], source: Source = None,
    seconds: float = 60) -> Softmax: ...
@overload
def lab(name: Literal["attention", "lab05", "lab05_attention"], source: Source = None,
    seconds: float = 60) -> Attention: ...
@overload
def lab(name: Literal["rglru", "lab06", "lab06_rglru"], source: Source = None,
    seconds: float = 60) -> Rglru: ...
@overload
def lab(name: Literal["kvcache", "lab07", "lab07_kvcache"], source: Source = None,
    seconds: float = 60) -> Kvcache: ...
@overload
def lab(name: str, source: Source = None, seconds: float = 60) -> Lab: ...
