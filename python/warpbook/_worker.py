"""_worker.py LIBRARY REQUESTS ANSWERS - the process that runs the kernels of one library.
A kernel that crashes or never ends takes this process with it, not the notebook.

Requests and answers are pickles on two pipes. A request is the name of a function and its
arguments: ("buffer", bytes to copy in, or their number, whether to copy back), ("null",),
("int", n), ("float", x), ("size", n), ("space", bytes of the workspace). The answer:
(status, its name, CUDA error, bytes that were asked back), or None: no such function."""

import ctypes
import pickle
import sys
from typing import Any, List, Optional, Tuple, Union

TO_DEVICE, TO_HOST = 1, 2
SCALARS = {"int": ctypes.c_int, "float": ctypes.c_float, "size": ctypes.c_size_t}


class Device:
    """The runtime API of the library, and the buffers of one call."""

    def __init__(self, library: Any) -> None:
        self.library = library
        self.buffers: List[ctypes.c_void_p] = []
        library.cudaGetErrorString.restype = ctypes.c_char_p
        library.wb_status_name.restype = ctypes.c_char_p
        library.cudaMalloc.argtypes = ctypes.c_void_p, ctypes.c_size_t
        library.cudaFree.argtypes = (ctypes.c_void_p,)
        library.cudaMemcpy.argtypes = (
            ctypes.c_void_p,
            ctypes.c_void_p,
            ctypes.c_size_t,
            ctypes.c_int,
        )
        library.cudaMemset.argtypes = ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t

    def check(self, error: int) -> None:
        if error:
            raise MemoryError(self.library.cudaGetErrorString(error).decode())

    def buffer(self, content: Union[bytes, int]) -> Tuple[ctypes.c_void_p, int]:
        """Device memory with these bytes, or with as many as the number says: NaN"""
        size = content if isinstance(content, int) else len(content)
        at = ctypes.c_void_p()
        self.check(self.library.cudaMalloc(ctypes.byref(at), max(size, 1)))
        self.buffers.append(at)
        if isinstance(content, int):
            self.check(self.library.cudaMemset(at, 0xFF, size))
        else:
            self.check(self.library.cudaMemcpy(at, content, size, TO_DEVICE))
        return at, size

    def read(self, at: ctypes.c_void_p, size: int) -> bytes:
        content = ctypes.create_string_buffer(max(size, 1))
        self.check(self.library.cudaMemcpy(content, at, size, TO_HOST))
        return content.raw[:size]

    def free(self) -> None:
        for at in self.buffers:
            self.library.cudaFree(at)
        self.buffers.clear()


def call(
    device: Device, name: str, arguments: List[Tuple[Any, ...]]
) -> Optional[Tuple[Any, ...]]:
    library = device.library
    function = getattr(library, name, None)
    if function is None:
        return None
    function.restype = ctypes.c_size_t if "_workspace_" in name else ctypes.c_int
    values: List[Any] = []
    back: List[Tuple[ctypes.c_void_p, int]] = []
    for kind, *rest in arguments:
        if kind == "buffer":
            at, size = device.buffer(rest[0])
            values.append(at)
            if rest[1]:
                back.append((at, size))
        elif kind == "space":
            values.append(device.buffer(rest[0])[0])
        elif kind == "null":
            values.append(ctypes.c_void_p())
        else:
            values.append(SCALARS[kind](rest[0]))
    status = function(*values)
    if "_workspace_" in name:
        return status, "", "", []
    error = library.cudaDeviceSynchronize() or library.cudaGetLastError()
    said = library.cudaGetErrorString(error).decode() if error else ""
    results = [] if status or error else [device.read(*b) for b in back]
    return status, library.wb_status_name(status).decode(), said, results


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    requests = open(int(sys.argv[2]), "rb")
    answers = open(int(sys.argv[3]), "wb")
    flush = ctypes.CDLL(None).fflush
    device = Device(library)
    while True:
        try:
            name, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            answer: Optional[Tuple[Any, ...]] = call(device, name, arguments)
        except MemoryError as e:
            answer = -1, "no device memory", str(e), []
        device.free()
        flush(None)  # what the kernel has printed
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
