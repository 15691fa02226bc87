"""Opens a checkpoint with Hugging Face transformers and compares it with this program's.

    make tinylm-check-transformers [OUT=runs/laptop] PYTHON=/path/with/transformers
    python tools/check_transformers.py build/cpu/tests/tinylm/logits runs/laptop/best

LlamaForCausalLM or RecurrentGemmaForCausalLM must take every weight, give the logits that
the program gives at every position of a text, and AutoTokenizer the same tokens and the
text back. Needs torch and transformers: exit 77, with the reason, where they are missing.

RecurrentGemma: in transformers a token sees one token less than in the published model, so
the program is asked for that window (hf-window). Some versions forget that RoPE turns half
of a head only; there the frequencies are put right first.
"""

import subprocess
import sys
import tempfile

TEXT = "First Citizen:\nBefore we proceed any further, hear me speak."
# Fraction of the largest logit. bf16: both round activations to 8 bits, not equally often.
TOLERANCE = {"F32": 2e-5, "BF16": 0.05}


def mend_rotary(model):
    """Frequencies for half a head where the installed version made them for a whole one."""
    config = model.config
    if config.model_type != "recurrent_gemma":
        return ""
    import torch

    n, mended = config.head_dim // 2, ""  # rotated channels
    base = (getattr(config, "rope_parameters", None) or {}).get("rope_theta", 10000.0)
    want = base ** (-torch.arange(0, n, 2, dtype=torch.float) / n)
    for module in model.modules():
        if not hasattr(module, "inv_freq") or module.inv_freq.shape == want.shape:
            continue
        module.inv_freq = want.clone()
        if hasattr(module, "original_inv_freq"):
            module.original_inv_freq = want.clone()
        mended = " (RoPE mended)"
    return mended


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: check_transformers.py PROGRAM CHECKPOINT [TEXT]")
    program, folder = sys.argv[1:3]
    text = sys.argv[3] if len(sys.argv) == 4 else TEXT
    sys.path.pop(0)  # tools/, whose kernels.py is not the package that transformers means
    try:
        import numpy as np
        import torch
        from safetensors import safe_open
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        print(f"skipped: {error}")
        sys.exit(77)
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as tmp:
        out = tmp + "/logits.safetensors"
        subprocess.run([program, folder, text, out, "hf-window"], check=True)
        with safe_open(out, "np") as f:
            tokens, ours = f.get_tensor("tokens"), f.get_tensor("logits")
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, torch_dtype="auto", output_loading_info=True
    )
    for what, names in info.items():
        if names:
            sys.exit(f"{folder}: {what}: {names}")
    note = mend_rotary(model)
    with torch.no_grad():
        theirs = model(torch.from_numpy(tokens).long()[None]).logits[0].float().numpy()
    off = np.abs(ours - theirs).max() / np.abs(theirs).max()
    dtype = {torch.float32: "F32", torch.bfloat16: "BF16"}[model.dtype]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text, add_special_tokens=False).input_ids
    same = ids[: len(tokens)] == tokens.tolist()
    back = tokenizer.decode(ids) == text
    print(
        f"{folder}: {type(model).__name__}{note}, {dtype}, logits of {len(tokens)} positions off by {off:.1e} of the largest "
        f"(tolerance {TOLERANCE[dtype]:g}); tokens {'equal' if same else 'DIFFER'}; "
        f"text {'comes back' if back else 'DOES NOT COME BACK'}"
    )
    sys.exit(not (off <= TOLERANCE[dtype] and same and back))


if __name__ == "__main__":
    main()
