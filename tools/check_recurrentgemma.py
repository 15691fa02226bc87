"""Compares the RecurrentGemma engine with Hugging Face transformers on any model folder.

    make recurrentgemma-check-transformers MODEL=folder PYTHON=/path/with/transformers
    python tools/check_recurrentgemma.py build/cpu/recurrentgemma FOLDER... [--tokens FILE]

f32: the logits at every token, in transformers' window (--hf-window). bf16: the errors of
both programs against the float32 model with the same rounded weights; the engine's may be
1.2 times that of transformers, largest and mean. Then the engine continues each sequence:
that model must prefer no other token by more than the engine's tolerance. --tokens: token
ids, one sequence per line; without it random ones, from a printed seed. transformers runs
on the GPU if one is available (--device). Needs torch and transformers: exit 77, with the
reason, where they are missing.
"""

import argparse
import sys

import rg_program
import transformers_model

import numpy as np
import torch

TOLERANCE = 2e-5  # f32: fraction of the largest logit
WORSE = 1.2  # bf16: how much larger than in transformers an error may be
SEED, LENGTHS = 5, (256, 133, 50, 7, 1)
SAMPLED = 24  # new tokens of each sequence
PENALTY = 50.0  # repetition penalty: random models would repeat the last token


def random_rows(model):
    rng = np.random.default_rng(SEED)
    V, W = model.config.vocab_size, model.config.attention_window_size
    print(f"tokens: random, seed {SEED}")
    return [rng.integers(0, V, n + min(n, W, 64)).tolist() for n in LENGTHS]


def given_rows(path):
    with open(path, encoding="utf-8") as f:
        return [[int(word) for word in line.split()] for line in f if line.split()]


def engine(o, folder, rows, dtype):
    return rg_program.logits(o.program, folder, rows, "--hf-window", "--dtype", dtype)


def penalised(logits, row, sampled):
    """the logits (T,V) of row + sampled as sample_f32 sees them"""
    logits = logits.copy()
    for t in range(len(row) - 1, len(logits)):
        had = np.unique((row + sampled)[: t + 1])
        z = logits[t, had]
        logits[t, had] = np.where(z > 0, z / PENALTY, z * PENALTY)
    return logits


def check_sampled(o, folder, model, rows, dtype, limit):
    options = ["--hf-window", "--dtype", dtype, "--repetition-penalty", str(PENALTY)]
    texts = rg_program.greedy(o.program, folder, rows, SAMPLED, *options)
    logits = transformers_model.logits(model, [r + t for r, t in zip(rows, texts)])
    logits = map(penalised, logits, rows, texts)
    worst = max(map(rg_program.shortfall, logits, rows, texts))
    ok = bool(worst <= limit) and all(len(text) == SAMPLED for text in texts)
    print(f"{dtype}: {SAMPLED} tokens after each of {len(rows)} sequences; another is likelier "
          f"by {worst:.1e}, tolerance {limit:.1e}{'' if ok else ': TOO FAR'}")  # fmt: skip
    return ok


def distances(got, want):
    """largest and mean difference"""
    d = np.concatenate([np.abs(g - w).ravel() for g, w in zip(got, want)])
    return np.array([d.max(), d.mean()])


def same_token(got, want):
    agree = [g.argmax(1) == w.argmax(1) for g, w in zip(got, want)]
    return 100 * np.concatenate(agree).mean()


def check_f32(o, folder, model, rows):
    want = transformers_model.logits(model, rows)
    size = max(np.abs(w).max() for w in want)
    off = distances(engine(o, folder, rows, "f32"), want)[0]
    ok = bool(off <= TOLERANCE * size)
    tokens = sum(map(len, rows))
    print(f"f32: logits at {tokens} tokens off by {off:.1e}, largest {size:.1f}, tolerance "
          f"{TOLERANCE * size:.1e}{'' if ok else ': TOO FAR'}")  # fmt: skip
    return ok & check_sampled(o, folder, model, rows, "f32", 2 * TOLERANCE * size)


def check_bf16(o, folder, model, rows):
    """model, in f32, comes back in bf16"""
    model = model.bfloat16()
    transformers_model.fix_rotary(model)
    theirs = transformers_model.logits(model, rows)
    model = model.float()
    transformers_model.fix_rotary(model)
    truth = transformers_model.logits(model, rows)
    ours = engine(o, folder, rows, "bf16")
    spread = np.concatenate([t.ravel() for t in truth]).std()
    print(f"bf16, against float32; logits spread by {spread:.2f}")
    print(f"  {'':14} {'largest':>9} {'mean':>9} {'same token':>11}")
    errors = []
    for name, got in (("transformers", theirs), ("engine", ours)):
        errors.append(distances(got, truth))
        print("  {:14} {:9.4f} {:9.5f} {:10.1f}%".format(
            name, *errors[-1], same_token(got, truth)))  # fmt: skip
    ratio = errors[1] / errors[0]
    ok = bool((ratio <= WORSE).all())
    print("  {:14} {:9.2f} {:9.2f}   at most {:g}{}".format(
        "ratio", *ratio, WORSE, "" if ok else ": TOO FAR"))  # fmt: skip
    return ok & check_sampled(o, folder, model, rows, "bf16", 2 * errors[1][0])


def check(o, folder):
    model, note = transformers_model.load(folder, torch.float32, o.device)
    what = f"{type(model).__name__} of {transformers_model.VERSION}{note}"
    print(f"{folder}: {what}, on {model.device}")
    if not model.config.logits_soft_cap:
        print("no soft cap: transformers divides by it, so nothing to compare")
        return True
    rows = given_rows(o.tokens) if o.tokens else random_rows(model)
    if max(map(max, rows)) >= model.config.vocab_size:
        sys.exit(f"{o.tokens}: token {max(map(max, rows))}, but {folder} has "
                 f"{model.config.vocab_size}")  # fmt: skip
    longest = transformers_model.whole_window(model)
    if longest and longest <= SAMPLED:
        print("this version has no window, and here it is short: nothing to compare")
        return True
    if longest:
        print("this version has no window: sequences are cut to fit in it")
        rows = [row[: longest - SAMPLED] for row in rows]
    return check_f32(o, folder, model, rows) & check_bf16(o, folder, model, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("program")
    parser.add_argument("folders", nargs="+", metavar="folder")
    parser.add_argument("--tokens")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    parser.add_argument("--device", default=device, help="for transformers")
    o = parser.parse_args()
    sys.exit(not all([check(o, folder) for folder in o.folders]))


if __name__ == "__main__":
    main()
