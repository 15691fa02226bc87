"""recurrentgemma.py - RecurrentGemma in float64, from any model folder.

    python reference/recurrentgemma.py      checks itself on tests/recurrentgemma/tiny
    python reference/recurrentgemma.py FOLDER TOKENS OUT.safetensors
                                       [--hf-window] [--greedy N]

Each line of TOKENS has the token ids of a sequence; lengths may differ. OUT has
    logits (B,T,V)          after the soft cap; NaN after the end of a sequence
    hidden (B,layers+2,T,C) the scaled embedding, the stream after each layer, and after
                            the last norm
    greedy (B,N)            the likeliest next tokens, one by one
    greedy_logits (B,N,V)   the logits that they were taken from

The layers are those of griffin in tinylm.py. This file adds inference: whole sequences,
packed documents, and tokens one by one with states and rings.
"""

import argparse
import dataclasses
import os
import sys

import numpy as np

import dump
import folder
import kvcache
import rglru
import tinylm
import wb
from swiglu import gelu, sigmoid
from tinylm_config import from_json

TINY = os.path.join(dump.ROOT, "tests/recurrentgemma/tiny")


class Model(tinylm.Model):
    def __init__(self, config, weights, hf_window=False, longest=4096):
        """longest: the most tokens of a sequence"""
        if hf_window:
            config = dataclasses.replace(config, before=config.before - 1)
        super().__init__(config, weights, longest)

    @classmethod
    def open(cls, path, E="f64", **options):
        """E: the type to which weights are rounded"""
        c, weights = folder.load(path)
        weights = {name: wb.rounded(w, E) for name, w in weights.items()}
        config = from_json(c)
        config.vocab = len(weights["model.embed_tokens.weight"])
        shapes = config.shapes()
        if "lm_head.weight" in weights:
            shapes["lm_head.weight"] = weights["lm_head.weight"].shape
        got = {name: w.shape for name, w in weights.items()}
        if got != shapes:
            odd = sorted(set(got.items()) ^ set(shapes.items()))
            sys.exit(f"{path}: weights and config.json do not match: {odd[:4]}")
        return cls(config, weights, **options)

    def whole(self, tokens, pos=None):
        """tokens (T), or packed documents with their positions. Returns logits (T,V),
        hidden (layers+2,T,C), and the activations that each layer kept (see
        tinylm.py)."""
        pos = None if pos is None else np.asarray(pos)[None]
        z, (kept, x, h, _) = self.forward(np.asarray(tokens)[None], pos)
        return self.capped(z), np.stack([k[0] for k in kept] + [x, h]), kept


class Sequence:
    """A sequence, token by token. Each recurrent layer has a ring of convolution inputs
    and a float state, each attention layer rings of keys and values. They start with
    large numbers or NaN, because only positions decide what may be read."""

    def __init__(self, model):
        c, self.m, self.length = model.c, model, 0
        S, KD = max(c.before, 1), c.kv_heads * c.head_dim
        self.layers = [
            (
                (np.full((1, c.taps, c.recurrent), 3e4), np.full((1, c.recurrent), 3e4))
                if c.is_recurrent(l)
                else (np.full((1, S, KD), np.nan), np.full((1, S, KD), np.nan))
            )
            for l in range(c.layers)
        ]

    def recurrent(self, l, u, pos):
        m, c = self.m, self.m.c
        x, y = (m.linear(what, l, u)[:, None] for what in "xy")
        ring, state = self.layers[l]
        out = np.empty((1, c.recurrent))
        cw, cb, wx, bx, wa, ba, ap = m.recurrence(m.w, l)
        rglru.rglru_step(
            out, ring, state, x, y, cw, cb, wx, bx, wa, ba, ap, pos, 1, c.heads,
            c.recurrent // c.heads, c.taps, c.recurrent,
        )  # fmt: skip
        return m.linear("out", l, out)

    def attention(self, l, u, pos):
        m, c, (keys, values) = self.m, self.m.c, self.layers[l]
        q, k, v = (m.linear(what, l, u) for what in "qkv")
        q, k = (
            kvcache.rotate_heads(x, m.cis, pos, c.head_dim, c.rotated) for x in (q, k)
        )
        out = kvcache.decoded(
            q, k, v, keys, values, pos, c.before, c.heads, c.kv_heads, c.head_dim,
            1 / np.sqrt(c.head_dim),
        )[0]  # fmt: skip
        if c.before:
            keys[0, pos % c.before], values[0, pos % c.before] = k, v
        return m.linear("o", l, out)

    def step(self, token):
        """appends a token; returns the logits (V) of the next one"""
        m, c, pos = self.m, self.m.c, np.array([self.length])
        x = m.emb_scale * m.w["model.embed_tokens.weight"][[token]]
        for l in range(c.layers):
            temporal = self.recurrent if c.is_recurrent(l) else self.attention
            x = x + temporal(l, m.norm(c.name("n1", l), x)[0], pos)
            x = x + m.mlp(l, m.norm(c.name("n2", l), x)[0])[0]
        self.length += 1
        return m.capped(m.norm(c.name("norm"), x)[0] @ m.w[m.head].T)[0]

    def follow(self, tokens):
        """appends tokens; returns the logits after each one"""
        return np.stack([self.step(t) for t in tokens])

    def greedy(self, prompt, n):
        """the n likeliest tokens after a prompt, and their logits (n,V)"""
        logits, chosen, seen = self.follow(prompt)[-1], [], []
        for _ in range(n):
            chosen.append(int(np.argmax(logits)))
            seen.append(logits)
            logits = self.step(chosen[-1])
        return np.array(chosen), np.stack(seen)


def taps(model, tokens):
    """activations of layers 0 and 2, with the names of tests/recurrentgemma/tiny"""
    _, hidden, kept = model.whole(tokens)
    (_, h0, _, (x, y, c, px, pa, out, h), x2), (_, h2, _, (q, k, v, att, lse), y2) = (
        kept[l][:5] for l in (0, 2)
    )
    ap = model.recurrence(model.w, 0)[-1]
    a, z = np.empty_like(c), np.empty_like(c)
    rglru.rglru_gates_forward(a, z, c, px, pa, ap, None, *c.shape)
    mult = np.sqrt(-np.expm1(2 * rglru.decay(pa, ap)))
    mult[:, 0] = 1
    recurrent = {
        "norm": h0[None], "linear_x": x, "gelu_y": gelu(y), "conv": c,
        "gate_x": sigmoid(px),
        "gate_a": sigmoid(pa), "a": a, "mult": mult, "scan_in": z, "scan_out": h,
        "out": (x2 - hidden[0])[None],
    }  # fmt: skip
    attention = {
        "norm": h2[None], "k_rot": k,
        "q_rot": q.reshape(1, len(tokens), model.c.heads, -1),
        "v": v, "attn": att, "out": (y2 - hidden[2])[None],
    }  # fmt: skip
    return {f"tap.0.{k}": v[0] for k, v in recurrent.items()} | {
        f"tap.2.{k}": v[0] for k, v in attention.items()
    }


# --- checks of this file ----------------------------------------------------------------


def check_window(checks, model, suffix, want):
    for which in ("long", "short"):
        ids = want[which + ".input_ids"]
        chosen, logits = Sequence(model).greedy(ids, 40)
        same = np.array_equal(chosen, want[f"{which}.greedy{suffix}"])
        checks.ok(f"{which}: the 40 likeliest tokens{suffix}", same)
        if not suffix:
            checks.close(
                f"{which}: their logits", logits, want[which + ".greedy_logits"], 1e-6
            )
        everything = model.whole(np.concatenate([ids, chosen]))[0]
        steps = Sequence(model).follow(np.concatenate([ids, chosen]))
        checks.close(
            f"{which}: one by one gives the same as all together{suffix}",
            steps,
            everything,
        )


def check_documents(checks, model, want):
    ids, pos = want["packed.input_ids"], want["packed.segment_pos"]
    logits = model.whole(ids, pos)[0]
    checks.close("packed documents", logits, want["packed.logits"], 1e-6)
    starts = [*np.flatnonzero(pos == 0), len(ids)]
    apart = [model.whole(ids[a:b])[0] for a, b in zip(starts, starts[1:])]
    checks.close(
        "packed documents give the same as each alone", logits, np.concatenate(apart)
    )


def check_tiny():
    checks = wb.Checks()
    model, narrow = (Model.open(TINY, hf_window=hf) for hf in (False, True))
    want = folder.read(TINY + "/fixture.safetensors")[1]
    ids = want["long.input_ids"]
    logits, hidden, _ = model.whole(ids)
    checks.close("logits", logits, want["long.logits"], 1e-6)
    checks.close("logits, W keys", narrow.whole(ids)[0], want["long.logits_hfwin"], 1e-6)
    for l, (got, truth) in enumerate(zip(hidden, want["long.hidden"])):
        checks.close(f"hidden {l}", got, truth, 1e-6)
    for name, tap in taps(model, ids).items():
        skip = (
            name == "tap.0.a"
        )  # its value at token 0, before the reset at a document's start
        checks.close(name, tap[skip:], want[name][skip:], 1e-6)
    check_window(checks, model, "", want)
    check_window(checks, narrow, "_hfwin", want)
    check_documents(checks, model, want)
    checks.done()


# --- the program -----------------------------------------------------------------


def padded(parts, n):
    """(B,...,n,.) from parts (...,t,.): NaN after t, the second to last axis"""
    out = np.full((len(parts), *parts[0].shape[:-2], n, parts[0].shape[-1]), np.nan)
    for row, part in zip(out, parts):
        row[..., : part.shape[-2], :] = part
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("tokens")
    parser.add_argument("out")
    parser.add_argument("--hf-window", action="store_true")
    parser.add_argument("--greedy", type=int, default=0)
    o = parser.parse_args()
    with open(o.tokens, encoding="utf-8") as f:
        rows = [[int(word) for word in line.split()] for line in f if line.split()]
    model = Model.open(o.folder, hf_window=o.hf_window)
    longest, parts = max(map(len, rows)), [model.whole(row)[:2] for row in rows]
    out = {
        "logits": ("f64", padded([p[0] for p in parts], longest)),
        "hidden": ("f64", padded([p[1] for p in parts], longest)),
    }
    if o.greedy:
        found = [Sequence(model).greedy(row, o.greedy) for row in rows]
        out["greedy"] = ("i32", np.stack([d[0] for d in found]).astype(np.int32))
        out["greedy_logits"] = ("f64", np.stack([d[1] for d in found]))
    dump.save(o.out, out, {"folder": o.folder})


if __name__ == "__main__":
    check_tiny() if len(sys.argv) == 1 else main()
