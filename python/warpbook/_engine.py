"""_engine.py - librecurrentgemma through ctypes: the structures and functions of
recurrentgemma.h and text/text.h."""

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    byref,
    c_bool,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_size_t,
    c_uint64,
    c_void_p,
)
from functools import lru_cache
from typing import Any, Optional, Tuple

from ._find import LIBRARY, Error, __version__, build


class WbError(Structure):
    _fields_ = [("text", c_char * 1024)]


class Settings(Structure):
    _fields_ = [
        ("dtype", c_int),
        ("batch", c_int),
        ("context", c_int),
        ("chunk", c_int),
        ("max_new_tokens", c_int),
        ("hf_window", c_bool),
        ("whole_window", c_bool),
        ("graph", c_bool),
        ("temperature", c_float),
        ("top_k", c_int),
        ("top_p", c_float),
        ("min_p", c_float),
        ("repetition_penalty", c_float),
        ("seed", c_uint64),
        ("stop", POINTER(c_int)),
        ("stop_count", c_int),
    ]


class Shape(Structure):
    _fields_ = [
        *(
            (name, c_int)
            for name in (
                "layers",
                "channels",
                "heads",
                "kv_heads",
                "head_dim",
                "rotated",
                "hidden",
                "vocab",
                "context",
            )
        ),
        ("eps", c_float),
        ("rope_base", c_float),
        ("tied", c_bool),
        ("blocks", c_char * 64),
        ("recurrent", c_int),
        ("conv_width", c_int),
        ("window", c_int),
        ("hf_window", c_bool),
        ("scaled", c_bool),
        ("softcap", c_float),
    ]


class RgInfo(Structure):
    _fields_ = [
        ("shape", Shape),
        ("attention_layers", c_int),
        ("bos", c_int),
        ("eos", c_int),
        ("pad", c_int),
        ("dtype", c_int),
        ("parameters", c_size_t),
        ("weight_bytes", c_size_t),
        ("cache_bytes", c_size_t),
        ("buffer_bytes", c_size_t),
        ("load_seconds", c_double),
        ("fused", c_bool),
    ]


Sink = CFUNCTYPE(c_int, c_void_p, c_int, c_int, POINTER(c_float), c_int)
DTYPES = {"auto": 0, "f32": 1, "bf16": 2}

# {function: (result, arguments)}
FUNCTIONS: dict[str, Tuple[Any, ...]] = {
    "rg_version": (c_char_p,),
    "rg_defaults": (Settings,),
    "rg_open": (c_void_p, c_char_p, POINTER(Settings), POINTER(WbError)),
    "rg_close": (None, c_void_p),
    "rg_describe": (POINTER(RgInfo), c_void_p),
    "rg_prefill": (
        c_int,
        c_void_p,
        POINTER(POINTER(c_int)),
        POINTER(c_int),
        POINTER(WbError),
    ),
    "rg_step": (c_int, c_void_p, c_int, POINTER(WbError)),
    "rg_tokens": (POINTER(c_int), c_void_p, c_int),
    "rg_sampled": (c_int, c_void_p, c_int),
    "rg_done": (c_bool, c_void_p, c_int),
    "rg_reset": (None, c_void_p, c_int, c_uint64),
    "rg_state_bytes": (c_size_t, c_void_p, c_int),
    "rg_state_save": (c_int, c_void_p, c_int, c_char_p, POINTER(WbError)),
    "rg_state_load": (c_int, c_void_p, c_int, c_char_p, c_size_t, POINTER(WbError)),
    "rg_score": (
        c_int,
        c_void_p,
        POINTER(POINTER(c_int)),
        POINTER(c_int),
        Sink,
        c_void_p,
        POINTER(WbError),
    ),
    "text_open": (c_void_p, c_char_p, POINTER(WbError)),
    "text_close": (None, c_void_p),
    "text_bos": (c_int, c_void_p),
    "text_encode": (
        c_void_p,
        c_void_p,
        c_char_p,
        c_size_t,
        POINTER(c_size_t),
        POINTER(WbError),
    ),
    "text_decode": (c_void_p, c_void_p, POINTER(c_int), c_size_t, POINTER(c_size_t)),
    "text_stream_begin": (c_void_p, c_void_p),
    "text_stream_add": (c_void_p, c_void_p, c_int, POINTER(c_size_t)),
    "text_stream_end": (c_void_p, c_void_p, POINTER(c_size_t)),
    "text_stream_free": (None, c_void_p),
}


@lru_cache(maxsize=None)
def load() -> Any:
    """WARPBOOK_LIBRARY, else the library in the tree, else the one that `make install`
    has installed: at the path that its wheel holds, or where the loader looks."""
    major = __version__.split(".")[0]
    installed = LIBRARY if LIBRARY and os.path.exists(LIBRARY) else None
    name = os.environ.get("WARPBOOK_LIBRARY") or str(
        build("librecurrentgemma.so") or installed or f"librecurrentgemma.so.{major}"
    )
    try:
        library = ctypes.CDLL(name)
    except OSError as e:
        raise Error(
            f"{name} cannot be loaded ({e}): run `make python` in the tree of the "
            "workbook, or name the library in WARPBOOK_LIBRARY"
        ) from None
    for function, (result, *arguments) in FUNCTIONS.items():
        try:
            f = getattr(library, function)
        except AttributeError:
            raise Error(
                f"{name} has no {function}: it is older than this package: " "make python"
            ) from None
        f.restype, f.argtypes = result, arguments
    version = library.rg_version().decode()
    if version.split(".")[0] != major:
        raise Error(
            f"{name} has version {version}, this package {__version__}: make python"
        )
    return library


@lru_cache(maxsize=None)
def c_library() -> Any:
    library = ctypes.CDLL(None)
    library.free.argtypes = (c_void_p,)
    return library


class Text:
    """A tokenizer; see text.h."""

    def __init__(self, folder: str) -> None:
        self.library, error = load(), WbError()
        self.codec: Optional[int] = self.library.text_open(
            os.fsencode(folder), byref(error)
        )
        if not self.codec:
            raise Error(error.text.decode(errors="replace"))
        self.bos: int = self.library.text_bos(self.codec)

    def encode(self, text: str) -> list[int]:
        data, count, error = text.encode(), c_size_t(), WbError()
        ids = self.library.text_encode(
            self.codec, data, len(data), byref(count), byref(error)
        )
        if not ids:
            raise Error(error.text.decode(errors="replace"))
        found = list((c_int * count.value).from_address(ids))
        c_library().free(ids)
        return found

    def decode(self, ids: list[int]) -> str:
        size = c_size_t()
        data = self.library.text_decode(
            self.codec, (c_int * len(ids))(*ids), len(ids), byref(size)
        )
        if not data:
            raise MemoryError("no memory for a text")
        found = ctypes.string_at(data, size.value).decode(errors="replace")
        c_library().free(data)
        return found

    def __del__(self) -> None:
        if getattr(self, "codec", None):
            self.library.text_close(self.codec)


class Stream:
    """Text token by token: no piece ends inside a character."""

    def __init__(self, text: Text) -> None:
        self.text = text  # must outlive the stream
        self.stream = text.library.text_stream_begin(text.codec)
        if not self.stream:
            raise MemoryError("no memory for a stream of text")

    def _piece(self, data: Optional[int], size: c_size_t) -> str:
        return ctypes.string_at(data, size.value).decode(errors="replace") if data else ""

    def add(self, token: int) -> str:
        size = c_size_t()
        return self._piece(
            self.text.library.text_stream_add(self.stream, token, byref(size)), size
        )

    def end(self) -> str:
        size = c_size_t()
        return self._piece(
            self.text.library.text_stream_end(self.stream, byref(size)), size
        )

    def __del__(self) -> None:
        if getattr(self, "stream", None):
            self.text.library.text_stream_free(self.stream)
