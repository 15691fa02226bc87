"""tinylm_config.py - the sizes of the models in tinylm.py, and the names and shapes of
their weights, which are those of Hugging Face: LlamaForCausalLM,
RecurrentGemmaForCausalLM.
"""

from dataclasses import dataclass

import attention

# The name of each weight in each architecture.
NAMES = {
    "llama": {
        "norm": "model.norm", "n1": "input_layernorm", "n2": "post_attention_layernorm",
        "q": "self_attn.q_proj", "k": "self_attn.k_proj", "v": "self_attn.v_proj",
        "o": "self_attn.o_proj", "gate": "mlp.gate_proj", "up": "mlp.up_proj",
        "down": "mlp.down_proj",
    },
    "griffin": {
        "norm": "model.final_norm", "n1": "temporal_pre_norm", "n2": "channel_pre_norm",
        "q": "temporal_block.q_proj", "k": "temporal_block.k_proj",
        "v": "temporal_block.v_proj", "o": "temporal_block.o_proj",
        "gate": "mlp_block.gate_proj", "up": "mlp_block.up_proj",
        "down": "mlp_block.down_proj",
        "x": "temporal_block.linear_x", "y": "temporal_block.linear_y",
        "conv": "temporal_block.conv_1d", "out": "temporal_block.linear_out",
        "lru": "temporal_block.rg_lru",
    },
}  # fmt: skip


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
    arch: str = "llama"
    blocks: str = "rra"
    recurrent: int = 0
    taps: int = 4
    before: int = attention.ALL  # earlier tokens that attention sees
    softcap: float = 0.0
    scale_embedding: bool = True
    rotary_factor: float = 0.5  # the part of a head that RoPE rotates

    @property
    def griffin(self):
        return self.arch == "griffin"

    @property
    def scaled(self):
        return self.griffin and self.scale_embedding

    @property
    def rotated(self):
        return int(self.head_dim * self.rotary_factor) if self.griffin else self.head_dim

    def is_recurrent(self, l):
        return self.griffin and self.blocks[l % len(self.blocks)] == "r"

    def name(self, what, l=None):
        name = NAMES[self.arch][what]
        return name if l is None else f"model.layers.{l}.{name}"

    def linear(self, what, l):
        """{name: shape} of a linear layer's weight, and of its bias if it has one"""
        C, F, Cr = self.channels, self.hidden, self.recurrent
        HD, KD = self.heads * self.head_dim, self.kv_heads * self.head_dim
        shape = {
            "q": (HD, C), "k": (KD, C), "v": (KD, C), "o": (C, HD), "gate": (F, C),
            "up": (F, C), "down": (C, F), "x": (Cr, C), "y": (Cr, C), "out": (C, Cr),
        }[what]  # fmt: skip
        s = {self.name(what, l) + ".weight": shape}
        if self.griffin and what not in ("q", "k", "v"):
            s[self.name(what, l) + ".bias"] = shape[:1]
        return s

    def recurrent_shapes(self, l):
        Cr, H = self.recurrent, self.heads
        M = Cr // H
        lru, conv = self.name("lru", l), self.name("conv", l)
        return {
            conv + ".weight": (Cr, 1, self.taps), conv + ".bias": (Cr,), lru +
            ".recurrent_param": (Cr,), lru + ".input_gate_weight": (H, M, M), lru +
            ".input_gate_bias": (H, M), lru + ".recurrent_gate_weight": (H, M, M), lru +
            ".recurrent_gate_bias": (H, M),
        }  # fmt: skip

    def shapes(self):
        """{name: shape} of all weights"""
        C, V = self.channels, self.vocab
        s = {"model.embed_tokens.weight": (V, C), self.name("norm") + ".weight": (C,)}
        if not self.tied:
            s["lm_head.weight"] = (V, C)
        for l in range(self.layers):
            s[self.name("n1", l) + ".weight"] = s[self.name("n2", l) + ".weight"] = (C,)
            temporal = ("x", "y", "out") if self.is_recurrent(l) else ("q", "k", "v", "o")
            for what in (*temporal, "gate", "up", "down"):
                s |= self.linear(what, l)
            if self.is_recurrent(l):
                s |= self.recurrent_shapes(l)
        return s


def from_json(c):
    """the Config of a config.json, with the keys of older or newer versions"""
    heads, griffin = c["num_attention_heads"], c["model_type"] != "llama"
    rope = c.get("rope_parameters") or c
    same = dict(
        layers=c["num_hidden_layers"], channels=c["hidden_size"], heads=heads,
        kv_heads=c["num_key_value_heads"], hidden=c["intermediate_size"],
        head_dim=c.get("head_dim") or c["hidden_size"] // heads, vocab=c["vocab_size"],
        context=c.get("max_position_embeddings", 0), eps=c["rms_norm_eps"],
        tied=c.get("tie_word_embeddings", griffin),
        rope_base=rope.get("rope_theta", 10000.0),
    )  # fmt: skip
    if not griffin:
        return Config(**same)
    same["hidden"] //= 2  # there it counts gate and up
    return Config(
        **same, arch="griffin", blocks="".join(b[0] for b in c["block_types"]),
        recurrent=c.get("lru_width") or c["hidden_size"], taps=c["conv1d_width"],
        softcap=c["logits_soft_cap"] or 0.0,
        before=c["attention_window_size"] - c.get("hf_window", False),
        rotary_factor=rope.get("partial_rotary_factor", 0.5),
        scale_embedding=c.get("embeddings_scale_by_sqrt_dim", True),
    )  # fmt: skip
