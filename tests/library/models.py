"""models.py FOLDER - models from Python. FOLDER has the tiny model with a tokenizer.
Prints TAP."""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from testing import close, raises, random, run_tests, test, together

import warpbook

FOLDER = sys.argv[1]
PROMPT = random.integers(3, 256, 40).tolist()


@test
def generating_is_greedy_over_the_logits():
    with warpbook.Model.open(FOLDER, stop=[]) as model:
        assert model.info.vocab == 256 and model.info.window == 16
        tokens = list(PROMPT)
        for token in model.generate(PROMPT, 12):
            assert token == model_argmax(FOLDER, tokens), f"after {len(tokens)} tokens"
            tokens.append(token)
        logits = model.logits(PROMPT)
        assert logits.shape == (40, 256) and logits.dtype == np.float32
        assert np.isfinite(logits).all() and len(tokens) == 52
    with warpbook.Model.open(FOLDER, stop=[], temperature=3, min_p=1) as model:
        assert PROMPT + list(model.generate(PROMPT, 12)) == tokens, "only the best"
    raises(warpbook.Error, "is closed", model.logits, PROMPT)


other = {}


def model_argmax(folder, tokens):
    if folder not in other:
        other[folder] = warpbook.Model.open(folder, chunk=7)
    return int(other[folder].logits(tokens)[-1].argmax())


@test
def a_state_continues_in_another_model():
    model = warpbook.Model.open(FOLDER, stop=[], temperature=0.8, repetition_penalty=1.2)
    whole = list(model.generate(PROMPT, 30, seed=3))
    again = model.generate(PROMPT, 30, seed=3)
    begun = [next(again) for _ in range(9)]
    state = model.state()
    fresh = warpbook.Model.open(FOLDER, stop=[], temperature=0.8, repetition_penalty=1.2)
    assert begun == whole[:9] == list(fresh.generate(PROMPT, 9, seed=3))
    assert begun + list(again) == whole, "a state changes nothing"
    close(
        fresh.logits([5, 6, 7], state=state),
        model.logits(PROMPT + begun + [5, 6, 7])[-3:],
    )
    one = list(fresh.generate([5, 6, 7], 20, seed=4, state=state))
    assert one == list(model.generate(PROMPT + begun + [5, 6, 7], 20, seed=4))
    model.generate(PROMPT * 9, 1)
    assert len(model.state().data) == len(state.data), "however long the sequence is"
    with warpbook.Model.open(FOLDER, stop=[], context=60, chunk=9) as short:
        close(short.logits([5, 6], state=state), fresh.logits([5, 6], state=state))
    damaged = warpbook.State(state.data[:-1])
    raises(warpbook.Error, "damaged", model.logits, [5], state=damaged)
    raises(warpbook.Error, "cut off", model.logits, [5], state=warpbook.State(b"rg"))
    bf16 = warpbook.Model.open(FOLDER, dtype="bf16")
    raises(warpbook.Error, "saved with other weights", bf16.logits, [5], state=state)
    old = warpbook.State(b"rgstate" + state.data[7:])
    raises(warpbook.Error, "this version of the library", model.logits, [5], state=old)
    for at, value in (28, 255), (32, 255):  # the newest token, and a bit for each token
        wrong = bytearray(state.data)
        wrong[at : at + 32] = [value] * 32
        bad = warpbook.State(bytes(wrong))
        raises(warpbook.Error, "it is damaged", model.logits, [5], state=bad)


@test
def a_state_of_other_weights_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(FOLDER, folder, dirs_exist_ok=True)
        weights = Path(folder, "model.safetensors")
        data = bytearray(weights.read_bytes())
        data[-9] ^= 1  # one bit of one weight: every shape stays
        weights.write_bytes(data)
        with warpbook.Model.open(folder, stop=[]) as other:
            list(other.generate(PROMPT, 3))
            state = other.state()
    with warpbook.Model.open(FOLDER, stop=[]) as model:
        for use in model.generate, model.logits:
            raises(warpbook.Error, "saved with other weights", use, [5], state=state)
        own = model.logits(PROMPT)
        close(model.logits(PROMPT[3:], state=model_state(model, PROMPT[:3])), own[3:])


def model_state(model, prompt):
    model.logits(prompt)
    return model.state()


@test
def two_threads_use_two_models_at_the_same_time():
    settings = dict(stop=[], temperature=0.8, chunk=9)
    f32 = warpbook.Model.open(FOLDER, **settings)
    bf16 = warpbook.Model.open(FOLDER, dtype="bf16", **settings)

    def use(model, seed):
        tokens = list(model.generate(PROMPT, 30, seed=seed))
        return tokens, model.logits(tokens), model.state().data

    def often(model, seed):
        return [use(model, seed) for _ in range(10)]

    alone = use(f32, 3), use(bf16, 4)
    for found, want in zip(together(lambda: often(f32, 3), lambda: often(bf16, 4)), alone):
        for tokens, logits, state in found:
            assert tokens == want[0] and state == want[2], "another sequence"
            assert np.array_equal(logits, want[1])


@test
def texts_and_stop_tokens():
    model = warpbook.Model.open(FOLDER, stop=[])
    ids = model.encode("a new lab: é")
    assert model.decode(ids) == "a new lab: é"
    pieces = list(model.generate("a new lab", 20, seed=1))
    assert all(isinstance(piece, str) for piece in pieces)
    tokens = list(model.generate(model.encode("a new lab"), 20, seed=1))
    assert "".join(pieces) == model.decode(tokens) and len(tokens) == 20
    stops = warpbook.Model.open(FOLDER, stop=[tokens[4]])
    assert (
        list(stops.generate(stops.encode("a new lab"), 20))
        == tokens[: tokens.index(tokens[4]) + 1]
    )


@test
def wrong_use_of_a_model_is_refused():
    model = warpbook.Model.open(FOLDER, context=16)
    raises(warpbook.Error, "no-such-folder", warpbook.Model.open, "no-such-folder")
    raises(
        warpbook.Error,
        "use 'auto', 'f32' or 'bf16'",
        warpbook.Model.open,
        FOLDER,
        dtype="f8",
    )
    raises(warpbook.Error, "token 1 is 256", model.generate, [5, 256])
    raises(warpbook.Error, "context of 16", model.logits, [5] * 17)
    raises(warpbook.Error, "an empty prompt", model.generate, [])
    first = model.generate([5, 6], 8)
    next(first)
    model.logits([7])
    raises(warpbook.Error, "used again", next, first)


run_tests()
