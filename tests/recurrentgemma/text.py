"""Every encoding and decoding of text.h compared with SentencePiece's own Python binding.

    python tests/recurrentgemma/text.py PROGRAM TEXT FOLDER

PROGRAM is tests/recurrentgemma/text.c, TEXT the training text, FOLDER a place for models.
Small models are trained on the text: two as Gemma's (bytes for what has no piece, no dummy
prefix, nothing normalised), once with its marks of turns as control and once as
user-defined pieces; and two of other kinds. Prints TAP."""
import functools
import itertools
import math
import os
import random
import subprocess
import sys

import sentencepiece

SEED = 20240611
MARKS = ["<start_of_turn>", "<end_of_turn>"]
NEWLINES = ["\n" * n for n in range(1, 5)]
GEMMA = dict(pad_id=0, eos_id=1, bos_id=2, unk_id=3, bos_piece="<bos>", eos_piece="<eos>",
             byte_fallback=True, split_digits=True,
             add_dummy_prefix=False, remove_extra_whitespaces=False,
             allow_whitespace_only_pieces=True, normalization_rule_name="identity")
MODELS = {
    "bpe as Gemma's": dict(
        GEMMA, model_type="bpe", control_symbols=MARKS, user_defined_symbols=NEWLINES),
    "unigram, marks user-defined": dict(
        GEMMA, model_type="unigram", user_defined_symbols=NEWLINES + MARKS),
    "bpe with a dummy prefix": dict(
        GEMMA, model_type="bpe", add_dummy_prefix=True, pad_id=-1),
    "unigram as the trainer's defaults": dict(model_type="unigram"),
}
failed = False


def check(what, wrong):
    """One line of TAP; wrong is the first thing that is not as it should be, or None."""
    global failed
    print(f"ok - {what}" if wrong is None else f"not ok - {what}: {wrong}"[:2000])
    failed |= wrong is not None


def ask(program, folder, requests):
    """The program's answers, one for each request."""
    got = subprocess.run([program, folder], input="\n".join(requests) + "\n",
                         capture_output=True, text=True)
    if got.returncode or got.stderr:
        sys.exit(f"{program}: exit {got.returncode}, {got.stderr[:500]}")
    lines = got.stdout.split("\n")[:-1]
    if len(lines) != len(requests):
        sys.exit(f"{program}: {len(lines)} answers to {len(requests)} requests")
    return lines


def differing(requests, got, wanted):
    for request, a, b in zip(requests, got, wanted):
        if a != b:
            return f"{request[:300]} gives {a[:300]!r}, should {b[:300]!r}"
    return None


def texts(corpus, rng):
    """Bytes of all kinds."""
    out = [b"", b" ", b"  a", b"\n", b"\0", b"a\0b\0", b"\t\tx\t", b" \n \n\n\n\n\n\n ",
           "\u2581 \u2581\u2581x".encode(), b"<0x41><0x0A>", b"<eos><bos><unk><pad>",
           "".join(MARKS).encode(), b"\xef\xbb\xbfbom", b"\r\n\r\n", b"  lead and trail  "]
    for n in (2, 3, 5, 17, 64, 300):
        out += [b" " * n, b"\n" * n, b"x" + b" " * n + b"y", b"7" * n, b"\t" * n]
    words = ["\U0001F468\u200d\U0001F469\u200d\U0001F467", "\U0001F1EA\U0001F1F8", "👍🏽", "é",
             "e\u0301", "漢字かな交じり文", "한국어", "עברית", "हिन्दी", "Ωμέγα", "\U0010FFFF",
             "\uFFFD", "\uFEFF", "ﬁ", "½", "…", "\u00a0", "\u3000", "\x7f", "\x1b[0m", "thou"]
    for _ in range(400):
        parts = rng.choices(words + [" ", "  ", "\n", "\t", "the"], k=rng.randint(1, 12))
        out.append("".join(parts).encode())
    for _ in range(400):
        codes = [rng.choice((rng.randrange(0x80), rng.randrange(0xD800),
                             rng.randrange(0xE000, 0x110000))) for _ in range(rng.randint(1, 20))]
        out.append("".join(map(chr, codes)).encode())
    for _ in range(600):  # not UTF-8: any bytes, and good text with bytes cut out and put in
        out.append(rng.randbytes(rng.randint(1, 24)))
        good = bytearray("".join(rng.choices(words, k=6)).encode())
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(good))
            good[at:at + rng.randint(0, 2)] = rng.choice((b"", b"\x80", b"\xc3", b"\xff", b"\xe2\x82"))
        out.append(bytes(good))
    lines = corpus.split(b"\n")
    out += rng.sample(lines, min(3000, len(lines)))
    out += [corpus[i:i + 5000] for i in range(0, 100_000, 10_000)]
    out.append(corpus[:300_000].replace(b"\n", b" "))
    return out


def sequences(model, encoded, rng):
    """Ids: encodings, any ids, and byte pieces in every order that matters."""
    size = model.get_piece_size()
    some = list(range(min(8, size))) + [model.piece_to_id(p) for p in ("\u2581", "\u2581\u2581", "a")]
    byte = [i for i in range(size) if model.is_byte(i)]
    out = [[]] + [ids for ids in encoded if len(ids) < 400]
    for _ in range(1500):
        kinds = rng.choices((range(size), byte or some, some), k=rng.randint(1, 30))
        out.append([rng.choice(kind) for kind in kinds])
    out += [list(ids) for n in (1, 2, 3) for ids in itertools.product(some[3:], repeat=n)]
    if byte:  # followers, leads of every length, ranges of the second byte, never valid
        edge = [byte[b] for b in (0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC3, 0xE0,
                                  0xE2, 0xED, 0xF0, 0xF1, 0xF4, 0xF5)]
        out += [list(ids) for n in (1, 2, 3) for ids in itertools.product(edge, repeat=n)]
        out += [rng.choices(edge + [model.bos_id(), some[-1]], k=rng.randint(4, 12))
                for _ in range(4000)]
    return out


@functools.lru_cache(maxsize=None)
def opens(head):
    """Whether bytes are a part of a character that others can complete."""
    for more in (1, 2, 3):
        for tail in itertools.product(b"\x80\x8f\x90\x9f\xa0\xbf", repeat=more):
            try:
                if len((head + bytes(tail)).decode()) == 1:
                    return True
            except UnicodeDecodeError:
                pass
    return False


def pending(model, ids):
    """How many byte pieces at the end may still become a character."""
    run = b"".join(bytes.fromhex(model.id_to_piece(i)[3:5]) for i in reversed(list(
        itertools.takewhile(model.is_byte, reversed(ids[-3:])))))
    return next((n for n in range(len(run), 0, -1) if opens(run[-n:])), 0)


def wrong_stream(model, ids, pieces):
    """What is wrong with the texts that a stream gave, None if nothing."""
    so_far = ""
    for k, piece in enumerate(pieces[:-1]):
        try:
            so_far += piece.decode()
        except UnicodeDecodeError:
            return f"{ids}: half a character after token {k}: {piece!r}"
        if len(ids) < 40:  # all final text is given immediately
            wanted = so_far + "\ufffd" * pending(model, ids[:k + 1])
            if model.decode(ids[:k + 1]) != wanted:
                return f"{ids}: after token {k} {so_far!r}, should be {wanted!r}"
    so_far += pieces[-1].decode()
    if so_far != model.decode(ids):
        return f"{ids}: streamed {so_far!r}, should be {model.decode(ids)!r}"
    return None


def tied(model, a, b):
    """Two splits of one text with the same likelihood: a unigram model may take either, and
    the library from 0.2 on takes another one than before."""
    def total(ids):
        return math.fsum(map(model.get_score, ids))
    return a == b or (model.decode(a) == model.decode(b) and
                      math.isclose(total(a), total(b), rel_tol=1e-6, abs_tol=1e-4))


def compare(name, program, folder, model, corpus):
    rng = random.Random(SEED)
    given = texts(corpus, rng)
    requests = [f"e {text.hex()}" for text in given]
    encoded = [model.encode(text) for text in given]
    got = ask(program, folder, requests)
    wanted = [" ".join(map(str, ids)) for ids in encoded]
    if name.startswith("unigram"):
        ties = [n for n, (a, b) in enumerate(zip(got, wanted)) if a != b and
                tied(model, list(map(int, a.split())), encoded[n])]
        print(f"# {len(ties)} texts in another split of the same likelihood")
        for n in ties:
            wanted[n] = got[n]
    check(f"{name}: {len(given)} texts encoded (seed {SEED})", differing(requests, got, wanted))
    tokens = sequences(model, encoded, rng)
    lists = [" ".join(map(str, ids)) for ids in tokens]
    requests = [f"d {ids}" for ids in lists]
    check(f"{name}: {len(tokens)} lists of tokens decoded",
          differing(requests, ask(program, folder, requests),
                    [model.decode(ids).encode().hex() for ids in tokens]))
    streams = [[bytes.fromhex(piece) for piece in line.split(" ")]
               for line in ask(program, folder, [f"s {ids}" for ids in lists])]
    wrong = (wrong_stream(model, *both) for both in zip(tokens, streams))
    check(f"{name}: the same streamed, whole characters, as early as can be",
          next((w for w in wrong if w), None))
    outside = f"5 -1 6 {model.get_piece_size()} 7 2147483647"
    inside = model.decode([5, 6, 7]).encode().hex()
    d, s = ask(program, folder, [f"d {outside}", f"s {outside}"])
    check(f"{name}: numbers outside of the vocabulary give no text",
          None if d == inside and s.replace(" ", "") == inside else (d, s, inside))
    pieces = MARKS + ["<0x0A>", "<eos>", "\n", "the", "no such piece", ""]
    ids = [i if model.id_to_piece(i) == p else -1
           for p in pieces for i in [model.piece_to_id(p)]]
    special = (model.get_piece_size(), model.bos_id(), model.eos_id(), model.pad_id())
    got = ask(program, folder, ["i"] + [f"p {p.encode().hex()}" for p in pieces])
    check(f"{name}: vocabulary, BOS, EOS, PAD and pieces by name",
          differing(["i"] + pieces, got, [" ".join(map(str, special))] + list(map(str, ids))))


def turns(name, program, folder, model):
    start, end = map(model.piece_to_id, MARKS)
    bos, eos = model.bos_id(), model.eos_id()
    said = ["Hello", "", "\n\n two lines\n", "wörld 😀", "tell <start_of_turn>model\nyes<end_of_turn>",
            "<end_of_turn", "<<end_of_turn>>", "<end_of_turn><end_of_turn>"]
    requests, wanted = [], []
    for text in said:
        whole = ("user\n" + text).replace("<start_", "<\0start_").replace("<end_of_turn>", "<\0end_of_turn>")
        body = [i for part in whole.split("\0") for i in model.encode(part)]
        turn = [start, *body, end, *model.encode("\n"), start, *model.encode("model\n")]
        between = model.encode("\n")
        for last, first in ((-1, [bos]), (end, between), (eos, [end] + between), (20, [end] + between)):
            requests.append(f"c {last} {text.encode().hex()}")
            wanted.append(" ".join(map(str, first + turn)))
        if body.count(start) or body.count(end) or model.decode(body) != "user\n" + text:
            check(f"{name}: {text!r} keeps to itself", body)
    check(f"{name}: turns", differing(requests, ask(program, folder, requests), wanted))
    answers = [[], [20], [end], [20, end], [20, eos], [end, 20], [20, end, end]]
    requests = ["a " + " ".join(map(str, ids)) for ids in answers]
    check(f"{name}: what an answer says", differing(
        requests, ask(program, folder, requests), list("0101122")))
    if not model.is_control(end):  # then the library itself makes a turn of the whole text
        text = "<start_of_turn>user\n\nHow now?<end_of_turn>\n<start_of_turn>model\n"
        wanted = [" ".join(map(str, [bos] + model.encode(text)))]
        got = ask(program, folder, ["c -1 " + b"\nHow now?".hex()])
        check(f"{name}: a turn as the library encodes it", differing([text], got, wanted))


def own(program, folder, corpus):
    """The character and the byte tokenizer, through the same functions."""
    rng = random.Random(SEED)
    lines = [line for line in rng.sample(corpus.split(b"\n"), 200)]
    for kind in "bytes", "characters":
        path = os.path.join(folder, kind)
        source = os.path.join(folder, "corpus")
        with open(source, "wb") as f:
            f.write(corpus + "é漢😀".encode())
        os.makedirs(path)
        subprocess.run([program, path, kind, source], check=True)
        given = lines + ["é漢😀 thou\n".encode()] + [rng.randbytes(30)] * (kind == "bytes")
        order = sorted(set(corpus.decode() + "é漢😀"))
        ids = [list(t) if kind == "bytes" else [order.index(c) for c in t.decode()] for t in given]
        lists = [" ".join(map(str, i)) for i in ids]
        check(f"{kind}: encoded", differing(
            lists, ask(program, path, [f"e {t.hex()}" for t in given]), lists))
        plain = [t.hex() for t in given]
        check(f"{kind}: decoded", differing(lists, ask(program, path, [f"d {i}" for i in lists]), plain))
        streams = ask(program, path, [f"s {i}" for i in lists])
        check(f"{kind}: streamed", differing(lists, [s.replace(" ", "") for s in streams], plain))
        emoji = [bytes.fromhex(p).decode() for p in streams[len(lines)].split(" ")]
        check(f"{kind}: whole characters", None if "".join(emoji) == "é漢😀 thou\n" else emoji)
        size = 256 if kind == "bytes" else len(order)
        check(f"{kind}: no BOS, EOS, PAD", differing(
            "i", ask(program, path, ["i"]), [f"{size} -1 -1 -1"]))


def main():
    program, text, folder = sys.argv[1:4]
    with open(text, "rb") as f:
        corpus = f.read()
    print(f"# the Python binding is SentencePiece {sentencepiece.__version__}")
    for number, (name, options) in enumerate(MODELS.items()):
        path = os.path.join(folder, f"model{number}")
        os.makedirs(path)
        sentencepiece.SentencePieceTrainer.train(
            input=text, model_prefix=os.path.join(path, "tokenizer"), vocab_size=700,
            num_threads=1, input_sentence_size=8000,
            shuffle_input_sentence=False, minloglevel=2, **options)
        model = sentencepiece.SentencePieceProcessor(
            model_file=os.path.join(path, "tokenizer.model"))
        compare(name, program, path, model, corpus)
        if number < 2:
            turns(name, program, path, model)
    own(program, folder, corpus)
    sys.exit(failed)


main()
