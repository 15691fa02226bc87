"""model.py - a model folder on the engine: RecurrentGemma, or a Griffin that TinyLM has
trained."""

import ctypes
import os
from ctypes import POINTER, byref, c_int
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Iterator, List, Optional, Sequence, Type, Union, overload

import numpy as np
from numpy.typing import NDArray

from ._engine import DTYPES, Settings, Sink, Stream, Text, WbError, load
from ._find import Error

Tokens = Sequence[int]


@dataclass(frozen=True)
class Info:
    """What the folder holds."""

    layers: int
    attention_layers: int
    channels: int
    vocab: int
    window: int
    parameters: int
    dtype: str
    weight_bytes: int
    cache_bytes: int
    bos: int
    eos: int
    load_seconds: float


@dataclass(frozen=True)
class State:
    """What a sequence holds after some tokens, as bytes that can be kept in a file; the
    same size however many tokens there were."""

    data: bytes

    def __repr__(self) -> str:
        return f"<warpbook state of {len(self.data)} bytes>"


def _array(tokens: Tokens) -> Any:
    return (c_int * len(tokens))(*(int(t) for t in tokens))


class Model:
    """One sequence on an engine. Only one thread at a time may use it; other threads may
    use other models at the same time. `generate` and `logits` start a new sequence, or
    continue a `state`."""

    def __init__(
        self, folder: Union[str, "os.PathLike[str]"], settings: Settings
    ) -> None:
        self._library, self._folder, error = load(), os.fspath(folder), WbError()
        self._text: Optional[Text] = None
        self._uses = 0  # an iterator of `generate` ends when the model is used again
        self._engine: Optional[int] = self._library.rg_open(
            os.fsencode(self._folder), byref(settings), byref(error)
        )
        if not self._engine:
            raise Error(error.text.decode(errors="replace"))
        self.info = self._describe()

    @classmethod
    def open(
        cls,
        folder: Union[str, "os.PathLike[str]"],
        *,
        dtype: str = "auto",
        context: int = 8192,
        chunk: int = 2048,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        repetition_penalty: float = 1.0,
        hf_window: bool = False,
        stop: Optional[Tokens] = None,
    ) -> "Model":
        """Loads config.json, the weights and, for text, the tokenizer of a folder. dtype
        is auto (that of the file), f32 or bf16; context the most tokens of a sequence;
        chunk the tokens of one pass; stop the tokens that end a sequence, by default
        those of the folder, [] for none. Sampling is greedy unless temperature is given.
        """
        if dtype not in DTYPES:
            raise Error(f"dtype {dtype!r}: use 'auto', 'f32' or 'bf16'")
        settings = load().rg_defaults()
        settings.dtype, settings.context, settings.chunk = DTYPES[dtype], context, chunk
        settings.max_new_tokens, settings.hf_window = max(context - 1, 1), hf_window
        settings.whole_window = True  # a state fits a model of any context
        settings.temperature, settings.top_k, settings.top_p = temperature, top_k, top_p
        settings.min_p, settings.repetition_penalty = min_p, repetition_penalty
        if stop is not None:
            kept = _array(stop)
            settings.stop, settings.stop_count = ctypes.cast(kept, POINTER(c_int)), len(
                stop
            )
        return cls(folder, settings)

    def _describe(self) -> Info:
        i = self._library.rg_describe(self._handle).contents
        s = i.shape
        return Info(
            layers=s.layers,
            attention_layers=i.attention_layers,
            channels=s.channels,
            vocab=s.vocab,
            window=s.window,
            parameters=i.parameters,
            dtype={1: "f32", 2: "bf16"}[i.dtype],
            weight_bytes=i.weight_bytes,
            cache_bytes=i.cache_bytes,
            bos=i.bos,
            eos=i.eos,
            load_seconds=i.load_seconds,
        )

    @property
    def _handle(self) -> int:
        if not self._engine:
            raise Error(f"the model {self._folder} is closed")
        return self._engine

    def __repr__(self) -> str:
        millions = self.info.parameters / 1e6
        return f"<warpbook model {self._folder}: {millions:.1f} M parameters>"

    # --- text ---------------------------------------------------------------------------

    @property
    def _codec(self) -> Text:
        if self._text is None:
            self._text = Text(self._folder)
        return self._text

    def encode(self, text: str) -> List[int]:
        """The text's tokens, without a beginning-of-sequence token."""
        return self._codec.encode(text)

    def decode(self, tokens: Tokens) -> str:
        return self._codec.decode([int(t) for t in tokens])

    def _prompt(self, prompt: Union[str, Tokens], continues: bool) -> List[int]:
        if not isinstance(prompt, str):
            return [int(t) for t in prompt]
        bos = self._codec.bos
        return [bos] * (bos >= 0 and not continues) + self.encode(prompt)

    # --- sequences ----------------------------------------------------------------------

    def _begin(self, state: Optional[State], seed: int) -> None:
        self._uses += 1
        self._library.rg_reset(self._handle, 0, seed)
        if state is not None:
            error = WbError()
            if self._library.rg_state_load(
                self._handle, 0, state.data, len(state.data), byref(error)
            ):
                raise Error(error.text.decode(errors="replace"))

    def _process(self, function: Any, tokens: List[int], *more: Any) -> int:
        if not tokens:
            raise Error("an empty prompt: give at least one token")
        error, ids = WbError(), _array(tokens)
        pointers = (POINTER(c_int) * 1)(ctypes.cast(ids, POINTER(c_int)))
        result: int = function(
            self._handle, pointers, _array([len(tokens)]), *more, byref(error)
        )
        if result < 0:
            raise Error(error.text.decode(errors="replace"))
        return result

    @overload
    def generate(
        self,
        prompt: str,
        max_new_tokens: int = ...,
        *,
        seed: int = ...,
        state: Optional[State] = ...,
    ) -> Iterator[str]: ...

    @overload
    def generate(
        self,
        prompt: Tokens,
        max_new_tokens: int = ...,
        *,
        seed: int = ...,
        state: Optional[State] = ...,
    ) -> Iterator[int]: ...

    def generate(
        self,
        prompt: Union[str, Tokens],
        max_new_tokens: int = 256,
        *,
        seed: int = 1,
        state: Optional[State] = None,
    ) -> Iterator[Any]:
        """Continues a text, piece by piece, or token ids, one by one; a stop token is the
        last one. The prompt is processed now, each token when the iterator is asked for
        it. With a state, the prompt follows what the state holds."""
        if max_new_tokens < 0:
            raise Error(f"max_new_tokens is {max_new_tokens}: give 0 or more")
        tokens = self._prompt(prompt, state is not None)
        self._begin(state, seed)
        self._process(self._library.rg_prefill, tokens)
        ids = self._sampled(max_new_tokens, self._uses)
        return self._pieces(ids) if isinstance(prompt, str) else ids

    def _sampled(self, count: int, use: int) -> Iterator[int]:
        error = WbError()
        for i in range(count):
            if use != self._uses:
                raise Error("the model was used again while this text was generated")
            sampled = self._library.rg_sampled(self._handle, 0)
            if i == sampled:  # the first token comes with the prompt
                if self._library.rg_done(self._handle, 0):
                    return
                if self._library.rg_step(self._handle, 1, byref(error)) < 0:
                    raise Error(error.text.decode(errors="replace"))
            yield self._library.rg_tokens(self._handle, 0)[i]

    def _pieces(self, ids: Iterator[int]) -> Iterator[str]:
        stream = Stream(self._codec)
        for token in ids:
            piece = stream.add(token)
            if piece:
                yield piece
        rest = stream.end()
        if rest:
            yield rest

    def logits(
        self, tokens: Union[str, Tokens], *, state: Optional[State] = None
    ) -> NDArray[Any]:
        """(T,V) float32: the logits after each token, soft cap included."""
        ids = self._prompt(tokens, state is not None)
        found = np.full((len(ids), self.info.vocab), np.nan, np.float32)

        def keep(_user: Any, _sequence: int, at: int, row: Any, vocab: int) -> int:
            found[at] = np.ctypeslib.as_array(row, (vocab,))
            return 0

        self._begin(state, 1)
        self._process(self._library.rg_score, ids, Sink(keep), None)
        return found

    def state(self) -> State:
        """What the sequence holds now: the prompt and the tokens generated so far. The
        same model continues it, in this process or another; a model with other weights
        refuses it."""
        data, error = (
            ctypes.create_string_buffer(self._library.rg_state_bytes(self._handle, 0)),
            WbError(),
        )
        if self._library.rg_state_save(self._handle, 0, data, byref(error)):
            raise Error(error.text.decode(errors="replace"))
        return State(data.raw)

    # --- closing ------------------------------------------------------------------------

    def close(self) -> None:
        """Frees the weights; the model cannot be used afterwards."""
        if getattr(self, "_engine", None):
            self._library.rg_close(self._engine)
            self._engine = None

    def __enter__(self) -> "Model":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()
