"""Parts of suite_cli.sh and suite_chat.sh that need more than a shell.

python tests/recurrentgemma/cli.py ids FIXTURE NAME         integers of a tensor in one line
                                   equal LOGITS FIXTURE     of its two prompts, NaN after the short one
                                   same A B                 the same tensors, bit for bit
                                   near A B                 the same logits up to rounding
                                   cut TEXTS STOP...        each text up to a stop text
                                   perplexity SAID FOLDER FILE
                                                            as by the float64 reference
                                   train FOLDER             a SentencePiece model with marks of turns
                                   turns FOLDER LAST TEXT   a turn's ids, by the library itself
                                   terminal COMMAND...      a chat with Ctrl-C
"""
import os
import pty
import re
import signal
import sys
import time

import numpy as np
from safetensors.numpy import load_file

MARKS = ["<start_of_turn>", "<end_of_turn>"]


def ids(fixture, name):
    print(*load_file(fixture)[name].ravel())


def equal(path, fixture):
    got, want = load_file(path)["logits"], load_file(fixture)
    rows, last = want["long.logits"], want["short.greedy_logits"][0]
    short = len(want["short.input_ids"])
    assert got.dtype == np.float32, got.dtype
    assert got.shape == (2, *rows.shape), got.shape
    assert np.abs(got[0] - rows).max() <= 1e-4
    assert np.abs(got[1, short - 1] - last).max() <= 1e-4
    assert np.isfinite(got[1, :short]).all()
    assert np.isnan(got[1, short:]).all(), "padding is not NaN"


def same(a, b):
    a, b = load_file(a)["logits"], load_file(b)["logits"]
    assert a.shape == b.shape and a.tobytes() == b.tobytes()


def near(a, b):
    a, b = load_file(a)["logits"], load_file(b)["logits"]
    assert a.shape == b.shape and (np.isnan(a) == np.isnan(b)).all()
    assert np.nanmax(np.abs(a - b)) <= 1e-4, np.nanmax(np.abs(a - b))


def cut(path, *stops):
    """TEXTS is one text, or a batch with a line `--- N` before each."""
    stops = [os.fsencode(s) for s in stops]
    parts = re.split(rb"((?:^|\n\n)--- \d+[^\n]*\n)", open(path, "rb").read()[:-1])
    for text in parts[::2]:
        ends = [(text.index(s) + len(s), text.index(s)) for s in stops if s in text]
        text, heading = text[: min(ends)[1] if ends else None], parts[1:2]
        sys.stdout.buffer.write(text + (heading[0] if heading else b"\n"))
        parts = parts[2:]


def perplexity(said, folder, path):
    """SAID is the program's output. Without SentencePiece the tokens are bytes."""
    sys.path[:0] = ["reference", "tools"]
    import recurrentgemma

    data = open(path, "rb").read()
    tokens = list(data)
    if os.path.exists(folder + "/tokenizer.model"):
        import sentencepiece

        model = folder + "/tokenizer.model"
        model = sentencepiece.SentencePieceProcessor(model_file=model)
        tokens = [model.bos_id()] + model.encode(data.decode())
    z, _, _ = recurrentgemma.Model.open(folder).whole(tokens)
    z = z[:-1] - z[:-1].max(1, keepdims=True)
    nats = np.log(np.exp(z).sum(1)) - z[range(len(z)), tokens[1:]]
    bits = nats.sum() / np.log(2) / len(data)
    want = [np.exp(nats.mean()), nats.mean(), len(nats), bits, len(data)]
    got = [float(n) for n in re.findall(r"[0-9][0-9.e+]*", open(said).read())]
    print(got, want)
    assert np.allclose(got, want, rtol=2e-5)


def train(folder):
    """At most 256 pieces: those of the tiny model."""
    import sentencepiece

    lines = [f"The miller counts {i % 7} sacks, and {i * i % 11} birds sit." for i in range(99)]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=os.path.join(folder, "tokenizer"),
        vocab_size=200, hard_vocab_limit=False, model_type="bpe", pad_id=0, eos_id=1, bos_id=2,
        unk_id=3, add_dummy_prefix=False, control_symbols=MARKS, user_defined_symbols=["\n"],
        normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2)


def turns(folder, last, text):
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(
        model_file=os.path.join(folder, "tokenizer.model"))
    start, end = map(model.piece_to_id, MARKS)
    newline = model.encode("\n")
    out = [model.bos_id()] if int(last) < 0 else ([] if int(last) == end else [end]) + newline
    out += [start] + model.encode("user\n" + text) + [end] + newline
    print(*out, start, *model.encode("model\n"))


def terminal(*command):
    """A chat at a terminal: Ctrl-C stops the answer, another one leaves. On a busy machine
    the answer may end before Ctrl-C comes; then again."""
    assert any(stops_answer(command) for attempt in range(8)), "no Ctrl-C came in time"


def stops_answer(command):
    """True: the first Ctrl-C came while the model answered."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    seen = b""

    def until(word, wrong):
        nonlocal seen
        end = time.time() + 20
        while word not in seen:
            assert time.time() < end, f"{wrong}: {seen[-300:]!r}"
            seen += os.read(fd, 4096)
        before, seen = seen.split(word, 1)
        return before

    try:
        until(b"> ", "does not ask for a turn")
        os.write(fd, b"hello\n")
        until(b"hello\r\n", "does not read the turn")
        while not seen:
            seen += os.read(fd, 4096)
        os.write(fd, b"\3")
        in_time = b"^C" in until(b"; context ", "the answer does not stop")
        if in_time:
            until(b"> ", "does not ask again")
            os.write(fd, b"\3")
        until(b"memory ", "does not end with its summary")
        while True:
            try:
                seen += os.read(fd, 4096)
            except OSError:
                break
        assert os.waitpid(pid, 0)[1] == 130 << 8
        return in_time
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        raise


if __name__ == "__main__":
    {"ids": ids, "equal": equal, "same": same, "near": near, "cut": cut,
     "perplexity": perplexity, "train": train, "turns": turns,
     "terminal": terminal}[sys.argv[1]](*sys.argv[2:])
