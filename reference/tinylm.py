"""tinylm.py - the whole model in float64: loss and the gradient of every weight.

    python reference/tinylm.py     checks the gradients against finite differences

A Llama-type decoder as tinylm/ trains it: RMSNorm, RoPE (half-split), attention with K
key/value heads for H query heads, SwiGLU, no biases, the output matrix tied to the
embedding or its own. Weights go by their Hugging Face names, matrices are (outputs,
inputs). The labs' ops are those of the other files here; attention, products and the order
of everything are written out. Two other ways lead to the same numbers in the tests: the C
program, and transformers' LlamaForCausalLM.
"""

from dataclasses import dataclass

import numpy as np

import rmsnorm
import rope
import softmax
import swiglu
import wb


@dataclass
class Config:
    layers: int = 2
    channels: int = 12
    heads: int = 6
    kv_heads: int = 3
    head_dim: int = 2
    hidden: int = 9
    vocab: int = 11
    context: int = 5
    tied: bool = True
    eps: float = 1e-5
    rope_base: float = 10000.0

    def shapes(self):
        """{name: shape} of all weights"""
        C, F, V = self.channels, self.hidden, self.vocab
        HD, KD = self.heads * self.head_dim, self.kv_heads * self.head_dim
        s = {"model.embed_tokens.weight": (V, C), "model.norm.weight": (C,)}
        if not self.tied:
            s["lm_head.weight"] = (V, C)
        for l in range(self.layers):
            p = f"model.layers.{l}."
            s[p + "self_attn.q_proj.weight"] = (HD, C)
            s[p + "self_attn.k_proj.weight"] = (KD, C)
            s[p + "self_attn.v_proj.weight"] = (KD, C)
            s[p + "self_attn.o_proj.weight"] = (C, HD)
            s[p + "mlp.gate_proj.weight"] = (F, C)
            s[p + "mlp.up_proj.weight"] = (F, C)
            s[p + "mlp.down_proj.weight"] = (C, F)
            s[p + "input_layernorm.weight"] = (C,)
            s[p + "post_attention_layernorm.weight"] = (C,)
        return s


# --- ops, returning what the contract functions write --------------------------------------


def norm(x, w, eps):
    out, rstd = np.empty_like(x), np.empty(len(x))
    rmsnorm.rmsnorm_forward(out, rstd, x, w, *x.shape, eps, 0.0)
    return out, rstd


def norm_backward(dout, x, w, rstd, dres, dw):
    dx = np.empty_like(x)
    rmsnorm.rmsnorm_backward(dx, dw, dout, x, w, rstd, dres, *x.shape, 0.0)
    return dx


def turn(function, x, cis, B, T, heads, D):
    out = np.empty((B, T, heads * D))
    function(out, x.reshape(B, T, heads * D), cis, None, B, T, heads, D, D, heads * D)
    return out.reshape(B * T, heads * D)


def split(x, B, T, heads, D):
    """(B*T, heads*D) as (B, heads, T, D)"""
    return x.reshape(B, T, heads, D).transpose(0, 2, 1, 3)


def merge(x):
    """the inverse"""
    B, heads, T, D = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B * T, heads * D)


def attention(q, k, v, scale):
    """q (B,H,T,D), k and v (B,K,T,D); head h reads key/value head h // (H/K)"""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    scores = q @ k.transpose(0, 1, 3, 2)
    T = q.shape[2]
    p = np.empty((scores.size // T, T))
    softmax.softmax_causal_forward(p, scores.reshape(-1, T), len(p), T, T, scale)
    p = p.reshape(scores.shape)
    return p @ v, p


def attention_backward(dout, q, k, v, p, scale):
    B, H, T, D = q.shape
    K = k.shape[1]
    kk, vv = k.repeat(H // K, 1), v.repeat(H // K, 1)
    dp = dout @ vv.transpose(0, 1, 3, 2)
    ds = np.empty((dp.size // T, T))
    softmax.softmax_backward(ds, dp.reshape(-1, T), p.reshape(-1, T), len(ds), T, scale)
    ds = ds.reshape(p.shape)

    def grouped(x):
        return x.reshape(B, K, H // K, T, D).sum(2)

    back = (0, 1, 3, 2)
    return ds @ kk, grouped(ds.transpose(back) @ q), grouped(p.transpose(back) @ dout)


# --- the model -----------------------------------------------------------------------------


class Model:
    """Model(config, weights).logits(tokens); .gradients(tokens, targets) -> loss, {name: g}"""

    def __init__(self, config, weights):
        self.c, self.w = config, weights
        self.cis = np.empty((config.context, config.head_dim // 2, 2))
        rope.rope_table(self.cis, config.context, config.head_dim, config.rope_base)

    def head(self):
        return "model.embed_tokens.weight" if self.c.tied else "lm_head.weight"

    def layer(self, l, x, B, T):
        """the residual stream behind layer l, and what its backward pass needs"""
        c, w, p = self.c, self.w, f"model.layers.{l}."
        H, K, D = c.heads, c.kv_heads, c.head_dim
        h1, r1 = norm(x, w[p + "input_layernorm.weight"], c.eps)
        q = turn(rope.rope_forward, h1 @ w[p + "self_attn.q_proj.weight"].T, self.cis, B, T, H, D)
        k = turn(rope.rope_forward, h1 @ w[p + "self_attn.k_proj.weight"].T, self.cis, B, T, K, D)
        v = h1 @ w[p + "self_attn.v_proj.weight"].T
        q, k, v = split(q, B, T, H, D), split(k, B, T, K, D), split(v, B, T, K, D)
        a, weights = attention(q, k, v, 1 / np.sqrt(D))
        att = merge(a)
        x2 = x + att @ w[p + "self_attn.o_proj.weight"].T
        h2, r2 = norm(x2, w[p + "post_attention_layernorm.weight"], c.eps)
        gate, up = h2 @ w[p + "mlp.gate_proj.weight"].T, h2 @ w[p + "mlp.up_proj.weight"].T
        s = np.empty_like(gate)
        swiglu.swiglu_forward(s, gate, up, *gate.shape, gate.shape[1])
        out = x2 + s @ w[p + "mlp.down_proj.weight"].T
        return out, (x, h1, r1, q, k, v, weights, att, x2, h2, r2, gate, up, s)

    def forward(self, tokens):
        B, T = tokens.shape
        x, kept = self.w["model.embed_tokens.weight"][tokens.ravel()], []
        for l in range(self.c.layers):
            x, inner = self.layer(l, x, B, T)
            kept.append(inner)
        h, r = norm(x, self.w["model.norm.weight"], self.c.eps)
        return h @ self.w[self.head()].T, (kept, x, h, r)

    def logits(self, tokens):
        """(B,T,V)"""
        return self.forward(tokens)[0].reshape(*tokens.shape, -1)

    def layer_backward(self, l, dx, inner, B, T, g):
        x, h1, r1, q, k, v, weights, att, x2, h2, r2, gate, up, s = inner
        c, w, p = self.c, self.w, f"model.layers.{l}."
        H, K, D = c.heads, c.kv_heads, c.head_dim

        def product(name, dy, x):  # y = x w^T: adds dw, returns dx
            g[p + name] += dy.T @ x
            return dy @ w[p + name]

        ds = product("mlp.down_proj.weight", dx, s)
        dgate, dup = np.empty_like(gate), np.empty_like(up)
        swiglu.swiglu_backward(dgate, dup, ds, gate, up, *gate.shape, gate.shape[1])
        dh = product("mlp.gate_proj.weight", dgate, h2) + product("mlp.up_proj.weight", dup, h2)
        name = p + "post_attention_layernorm.weight"
        dx = norm_backward(dh, x2, w[name], r2, dx, g[name])
        datt = split(product("self_attn.o_proj.weight", dx, att), B, T, H, D)
        dq, dk, dv = attention_backward(datt, q, k, v, weights, 1 / np.sqrt(D))
        dq = turn(rope.rope_backward, merge(dq), self.cis, B, T, H, D)
        dk = turn(rope.rope_backward, merge(dk), self.cis, B, T, K, D)
        dh = product("self_attn.q_proj.weight", dq, h1)
        dh += product("self_attn.k_proj.weight", dk, h1)
        dh += product("self_attn.v_proj.weight", merge(dv), h1)
        name = p + "input_layernorm.weight"
        return norm_backward(dh, x, w[name], r1, dx, g[name])

    def gradients(self, tokens, targets):
        """mean loss over all tokens, and its gradient for each weight"""
        B, T = tokens.shape
        R, V = tokens.size, self.c.vocab
        g = {name: np.zeros_like(w) for name, w in self.w.items()}
        logits, (kept, x, h, r) = self.forward(tokens)
        loss, dlogits = np.empty(R), np.empty_like(logits)
        softmax.cross_entropy(
            loss, dlogits, logits, targets.ravel(), np.array([1 / R]), R, V, V, 0.0, -1
        )
        g[self.head()] += dlogits.T @ h
        dh = dlogits @ self.w[self.head()]
        dx = norm_backward(dh, x, self.w["model.norm.weight"], r, None, g["model.norm.weight"])
        for l in reversed(range(self.c.layers)):
            dx = self.layer_backward(l, dx, kept[l], B, T, g)
        np.add.at(g["model.embed_tokens.weight"], tokens.ravel(), dx)
        return loss.mean(), g


# --- checks of this file -------------------------------------------------------------------


def random_weights(config, rng):
    return {
        name: rng.standard_normal(shape) * (0.4 if len(shape) == 2 else 0.2) + (len(shape) == 1)
        for name, shape in config.shapes().items()
    }


def check(what, config, checks):
    rng = np.random.default_rng(7)
    w = random_weights(config, rng)
    m = Model(config, w)
    tokens, targets = rng.integers(0, config.vocab, (2, 2, config.context))
    loss, g = m.gradients(tokens, targets)
    worst = 0
    for name, array in w.items():
        flat, got = array.reshape(-1), g[name].reshape(-1)
        for i in rng.choice(flat.size, min(6, flat.size), replace=False):
            x, near = flat[i], []
            for step in (1e-4, -1e-4, 2e-4, -2e-4):
                flat[i] = x + step
                near.append(m.gradients(tokens, targets)[0])
            flat[i] = x
            slope = (8 * (near[0] - near[1]) - (near[2] - near[3])) / 12e-4
            worst = max(worst, abs(slope - got[i]) / np.abs(got).max())
    checks.ok(f"{what}: gradients of all {len(w)} weights ({worst:.1e} <= 1e-08)", worst <= 1e-8)
    cut = config.context // 2
    seen = m.logits(tokens[:, :cut])
    checks.close(f"{what}: later tokens are not seen", m.logits(tokens)[:, :cut], seen)


if __name__ == "__main__":
    checks = wb.Checks()
    check("grouped heads, tied", Config(), checks)
    check("one key head, own head", Config(kv_heads=1, tied=False, layers=1), checks)
    check("heads wider than the stream", Config(head_dim=4, kv_heads=6), checks)
    checks.done()
