"""A folder opened with Hugging Face transformers, corrected where a version has a bug.

    import transformers_model
    model, note = transformers_model.load(folder)

Exit 77, with the reason, where torch or transformers are missing.
"""

import sys

sys.path.pop(0)  # tools/, whose kernels.py is not the package that transformers means
try:
    import torch
    import transformers
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
VERSION = f"transformers {transformers.__version__}"


def fix_rotary(model):
    """RecurrentGemma: RoPE rotates half a head. Some versions compute its frequencies for a
    whole one, and a converted model has them rounded."""
    config = model.config
    if config.model_type != "recurrent_gemma":
        return ""
    n, fixed = config.head_dim // 2, ""  # rotated channels
    rope = getattr(config, "rope_parameters", None) or {}
    base = rope.get("rope_theta") or getattr(config, "rope_theta", 10000.0)
    want = base ** (-torch.arange(0, n, 2, dtype=torch.float) / n)
    for module in model.modules():
        if not hasattr(module, "inv_freq"):
            continue
        if module.inv_freq.shape != want.shape:
            fixed = ", RoPE fixed"
        module.inv_freq = want.to(model.device)
        if hasattr(module, "original_inv_freq"):
            module.original_inv_freq = want.to(model.device)
    return fixed


def load(folder, dtype="auto", device="cpu"):
    """the model and a note on what was fixed; ends if a weight does not fit. Eager attention:
    with PyTorch 2.11's own, in f32 on a GPU, the last of 65 tokens in a window of one is
    off by as much as the logits themselves."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        folder, torch_dtype=dtype, output_loading_info=True, attn_implementation="eager"
    )
    for what, names in info.items():
        if names:
            sys.exit(f"{folder}: {what}: {names}")
    return model.eval().to(device), fix_rotary(model)


def logits(model, rows):
    """float (T,V) of each row alone, without a cache"""
    with torch.no_grad():
        return [
            model(torch.tensor([row], device=model.device), use_cache=False)
            .logits[0].float().cpu().numpy()
            for row in rows
        ]  # fmt: skip


def whole_window(model):
    """tokens from which on this version's window is not W keys: None if it is right.
    Before 5.4 the mask of a whole sequence had no window."""
    version = tuple(int(part) for part in transformers.__version__.split(".")[:2])
    return model.config.attention_window_size if version < (5, 4) else None
