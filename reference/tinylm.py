"""tinylm.py - the whole model in float64: loss and the gradient of every weight.

    python reference/tinylm.py     checks the gradients against finite differences

These are the two architectures that tinylm/ trains. A layer is a temporal block and an
MLP, each after an RMSNorm and added to the residual stream:
    llama     RoPE, attention with K key/value heads for H query heads; SwiGLU; no biases;
              the output matrix tied to the embedding or its own
    griffin   two layers with an RG-LRU, then one with attention in a window and RoPE on
              half of each head; GeGLU; biases; norms with weight 1 + w; soft cap
Weights have their Hugging Face names (tinylm_config.py); matrices are (outputs, inputs).
The ops are those of the other files here; matrix multiplies and the order of the ops are
written out. The tests compare with the C program and with transformers' LlamaForCausalLM
and RecurrentGemmaForCausalLM.
"""

import numpy as np

import attention
import rglru
import rmsnorm
import rope
import softmax
import swiglu
import wb
from tinylm_config import Config, from_json

GATED = {
    "llama": (swiglu.swiglu_forward, swiglu.swiglu_backward),
    "griffin": (swiglu.geglu_forward, swiglu.geglu_backward),
}


def embedding_scale(config):
    """for griffin sqrt(C), rounded to bf16 as in the published models"""
    return (
        wb.rounded(np.sqrt(np.float32(config.channels)), "bf16") if config.scaled else 1.0
    )


class Model:
    """Model(config, weights).logits(tokens); .gradients(tokens, targets) -> loss, {name:
    g}"""

    def __init__(self, config, weights, context=None):
        self.c, self.w, self.g, self.pos = config, weights, None, None
        P = context or config.context
        self.cis = np.empty((P, config.rotated // 2, 2))
        rope.rope_table(self.cis, P, config.rotated, config.rope_base)
        self.emb_scale = embedding_scale(config)
        own = "lm_head.weight" in weights
        self.head = "lm_head.weight" if own else "model.embed_tokens.weight"

    # --- norms and matrix multiplies: x (R, channels) ------------------------------------

    def norm(self, name, x):
        out, rstd = np.empty_like(x), np.empty(len(x))
        rmsnorm.rmsnorm_forward(
            out,
            rstd,
            x,
            self.w[name + ".weight"],
            *x.shape,
            self.c.eps,
            float(self.c.griffin),
        )
        return out, rstd

    def norm_backward(self, name, dout, x, rstd, dres):
        dx, name = np.empty_like(x), name + ".weight"
        rmsnorm.rmsnorm_backward(
            dx,
            self.g[name],
            dout,
            x,
            self.w[name],
            rstd,
            dres,
            *x.shape,
            float(self.c.griffin),
        )
        return dx

    def linear(self, what, l, x):
        name = self.c.name(what, l)
        return x @ self.w[name + ".weight"].T + self.w.get(name + ".bias", 0.0)

    def linear_backward(self, what, l, dy, x):
        name = self.c.name(what, l)
        self.g[name + ".weight"] += dy.T @ x
        if name + ".bias" in self.g:
            self.g[name + ".bias"] += dy.sum(0)
        return dy @ self.w[name + ".weight"]

    # --- attention ----------------------------------------------------------------------

    def rotate(self, function, x, heads):
        D, out = self.c.head_dim, np.empty_like(x)
        sizes = (*x.shape[:2], heads, D, self.c.rotated, heads * D)
        function(out, x, self.cis, self.pos, *sizes)
        return out

    def attention_sizes(self, q):
        H, K, D = self.c.heads, self.c.kv_heads, self.c.head_dim
        B, T = q.shape[:2]
        return (self.pos, B, T, T, H, K, D, H * D, K * D, self.c.before, 1 / np.sqrt(D))

    def attention(self, l, u, B, T):
        q, k, v = (self.linear(what, l, u).reshape(B, T, -1) for what in "qkv")
        q = self.rotate(rope.rope_forward, q, self.c.heads)
        k = self.rotate(rope.rope_forward, k, self.c.kv_heads)
        att, lse = np.empty_like(q), np.empty((B, self.c.heads, T))
        attention.attention_forward(att, lse, q, k, v, *self.attention_sizes(q))
        return self.linear("o", l, att.reshape(B * T, -1)), (q, k, v, att, lse)

    def attention_backward(self, l, dy, u, kept):
        q, k, v, att, lse = kept
        datt = self.linear_backward("o", l, dy, att.reshape(len(u), -1)).reshape(
            att.shape
        )
        dq, dk, dv = np.empty_like(q), np.empty_like(k), np.empty_like(v)
        attention.attention_backward(
            dq, dk, dv, datt, q, k, v, att, lse, *self.attention_sizes(q)
        )
        dq = self.rotate(rope.rope_backward, dq, self.c.heads)
        dk = self.rotate(rope.rope_backward, dk, self.c.kv_heads)
        return sum(
            self.linear_backward(what, l, d.reshape(len(u), -1), u)
            for what, d in (("q", dq), ("k", dk), ("v", dv))
        )

    # --- RG-LRU -------------------------------------------------------------------------

    def recurrence(self, weights, l):
        """from self.w or self.g: convolution, both gates, a_param, in the shapes of the
        labs"""
        conv, lru = self.c.name("conv", l), self.c.name("lru", l) + "."
        return (
            weights[conv + ".weight"][:, 0], weights[conv + ".bias"],
            weights[lru + "input_gate_weight"], weights[lru + "input_gate_bias"],
            weights[lru + "recurrent_gate_weight"], weights[lru + "recurrent_gate_bias"],
            weights[lru + "recurrent_param"],
        )  # fmt: skip

    def recurrent(self, l, u, B, T):
        Cr, G, taps = self.c.recurrent, self.c.heads, self.c.taps
        M, R = Cr // G, B * T
        cw, cb, wx, bx, wa, ba, ap = self.recurrence(self.w, l)
        x, y = (self.linear(what, l, u).reshape(B, T, Cr) for what in "xy")
        c, out, h = (np.empty_like(x) for _ in range(3))
        px, pa = (np.empty((R, G, M)) for _ in range(2))
        rglru.conv1d_forward(c, None, x, cw, cb, self.pos, None, B, T, Cr, taps, Cr)
        rglru.block_linear_forward(px, pa, c.reshape(R, G, M), wx, bx, wa, ba, R, G, M)
        px, pa = px.reshape(x.shape), pa.reshape(x.shape)
        rglru.rglru_forward(out, h, None, c, px, pa, y, ap, self.pos, None, B, T, Cr, Cr)
        return self.linear("out", l, out.reshape(R, Cr)), (x, y, c, px, pa, out, h)

    def recurrent_backward(self, l, dy, u, kept):
        x, side, c, px, pa, out, h = kept
        B, T, Cr = x.shape
        G, taps, R = self.c.heads, self.c.taps, B * T
        M, blocks = Cr // G, (R, G, Cr // G)
        cw, _, wx, _, wa, _, ap = self.recurrence(self.w, l)
        dcw, dcb, dwx, dbx, dwa, dba, dap = self.recurrence(self.g, l)
        dout = self.linear_backward("out", l, dy, out.reshape(R, Cr)).reshape(x.shape)
        dc, dpx, dpa, dside, dx = (np.empty_like(x) for _ in range(5))
        rglru.rglru_backward(
            dc, dpx, dpa, dside, dap, dout, c, px, pa, side, h, ap, self.pos, B, T, Cr, Cr
        )
        through = np.empty(blocks)
        rglru.block_linear_backward(
            through, dwx, dbx, dwa, dba, dc.reshape(blocks), dpx.reshape(blocks),
            dpa.reshape(blocks), c.reshape(blocks), wx, wa, R, G, M,
        )  # fmt: skip
        dc = through.reshape(x.shape)
        rglru.conv1d_backward(dx, dcw, dcb, dc, x, cw, self.pos, B, T, Cr, taps, Cr)
        du = self.linear_backward("x", l, dx.reshape(R, Cr), u)
        return du + self.linear_backward("y", l, dside.reshape(R, Cr), u)

    # --- MLP ----------------------------------------------------------------------------

    def mlp(self, l, u):
        gate, up = self.linear("gate", l, u), self.linear("up", l, u)
        s = np.empty_like(gate)
        GATED[self.c.arch][0](s, gate, up, *gate.shape, gate.shape[1])
        return self.linear("down", l, s), (gate, up, s)

    def mlp_backward(self, l, dy, u, kept):
        gate, up, s = kept
        ds = self.linear_backward("down", l, dy, s)
        dgate, dup = np.empty_like(gate), np.empty_like(up)
        GATED[self.c.arch][1](dgate, dup, ds, gate, up, *gate.shape, gate.shape[1])
        du = self.linear_backward("gate", l, dgate, u)
        return du + self.linear_backward("up", l, dup, u)

    # --- the whole model ----------------------------------------------------------------

    def forward(self, tokens, pos=None):
        """pos (B,T): the position of a token in its document, if a sequence has
        several"""
        (B, T), self.pos = tokens.shape, pos
        x, kept = self.emb_scale * self.w["model.embed_tokens.weight"][tokens.ravel()], []
        for l in range(self.c.layers):
            temporal = self.recurrent if self.c.is_recurrent(l) else self.attention
            h1, r1 = self.norm(self.c.name("n1", l), x)
            branch, inner = temporal(l, h1, B, T)
            x2 = x + branch
            h2, r2 = self.norm(self.c.name("n2", l), x2)
            branch, gated = self.mlp(l, h2)
            kept.append((x, h1, r1, inner, x2, h2, r2, gated))
            x = x2 + branch
        h, r = self.norm(self.c.name("norm"), x)
        return h @ self.w[self.head].T, (kept, x, h, r)

    def capped(self, z):
        return self.c.softcap * np.tanh(z / self.c.softcap) if self.c.softcap else z

    def logits(self, tokens, pos=None):
        """(B,T,V), after the soft cap"""
        return self.capped(self.forward(tokens, pos)[0].reshape(*tokens.shape, -1))

    def layer_backward(self, l, dx, kept):
        x, h1, r1, inner, x2, h2, r2, gated = kept
        dh = self.mlp_backward(l, dx, h2, gated)
        dx = self.norm_backward(self.c.name("n2", l), dh, x2, r2, dx)
        temporal = (
            self.recurrent_backward if self.c.is_recurrent(l) else self.attention_backward
        )
        dh = temporal(l, dx, h1, inner)
        return self.norm_backward(self.c.name("n1", l), dh, x, r1, dx)

    def cross_entropy(self, dlogits, logits, targets):
        (R, V), loss = logits.shape, np.empty(len(logits))
        softmax.cross_entropy(
            loss, dlogits, logits, targets.ravel(), np.array([1 / R]), R, V, V,
            self.c.softcap, -1,
        )  # fmt: skip
        return loss.mean()

    def loss(self, tokens, targets):
        return self.cross_entropy(None, self.forward(tokens)[0], targets)

    def gradients(self, tokens, targets):
        """the mean loss over all tokens, and its gradient with respect to each weight"""
        self.g = {name: np.zeros_like(w) for name, w in self.w.items()}
        logits, (kept, x, h, r) = self.forward(tokens)
        dlogits = np.empty_like(logits)
        loss = self.cross_entropy(dlogits, logits, targets)
        self.g[self.head] += dlogits.T @ h
        dx = self.norm_backward(
            self.c.name("norm"), dlogits @ self.w[self.head], x, r, None
        )
        for l in reversed(range(self.c.layers)):
            dx = self.layer_backward(l, dx, kept[l])
        embedding = self.g["model.embed_tokens.weight"]
        np.add.at(embedding, tokens.ravel(), self.emb_scale * dx)
        return loss, self.g


# --- checks of this file ----------------------------------------------------------------


def random_weights(config, rng):
    w = {}
    for name, shape in config.shapes().items():
        matrix, ones = len(shape) > 1 and "bias" not in name, not config.griffin
        w[name] = rng.standard_normal(shape) * (0.4 if matrix else 0.2) + (
            not matrix and ones
        )
        if "recurrent_param" in name:
            w[name] -= 2  # keeps a away from 0
    return w


def check(what, config, checks):
    rng = np.random.default_rng(7)
    w = random_weights(config, rng)
    m = Model(config, w)
    tokens, targets = rng.integers(0, config.vocab, (2, 2, config.context))
    g = m.gradients(tokens, targets)[1]
    worst = 0
    for name, array in w.items():
        flat, got = array.reshape(-1), g[name].reshape(-1)
        for i in rng.choice(flat.size, min(6, flat.size), replace=False):
            x, near = flat[i], []
            for step in (1e-4, -1e-4, 2e-4, -2e-4):
                flat[i] = x + step
                near.append(m.loss(tokens, targets))
            flat[i] = x
            slope = (8 * (near[0] - near[1]) - (near[2] - near[3])) / 12e-4
            worst = max(worst, abs(slope - got[i]) / np.abs(got).max())
    checks.ok(
        f"{what}: gradients of all {len(w)} weights ({worst:.1e} <= 1e-08)", worst <= 1e-8
    )
    cut = config.context // 2
    seen = m.logits(tokens[:, :cut])
    checks.close(f"{what}: later tokens are not seen", m.logits(tokens)[:, :cut], seen)


if __name__ == "__main__":
    checks = wb.Checks()
    check("grouped heads, tied", Config(), checks)
    check(
        "one key head, output matrix of its own",
        Config(kv_heads=1, tied=False, layers=1),
        checks,
    )
    check("heads wider than the residual stream", Config(head_dim=4, kv_heads=6), checks)
    griffin = dict(arch="griffin", head_dim=4, softcap=3.0, before=2)
    check("griffin", Config(layers=3, kv_heads=1, recurrent=18, **griffin), checks)
    check(
        "griffin, two key heads, two taps",
        Config(
            layers=2, heads=4, kv_heads=2, blocks="ar", recurrent=8, taps=2, **griffin
        ),
        checks,
    )
    checks.done()
