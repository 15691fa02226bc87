"""Opens a TinyLM checkpoint with Hugging Face transformers and compares the results.

    make tinylm-check-transformers [OUT=runs/laptop] PYTHON=/path/with/transformers
    python tools/check_transformers.py build/cpu/tests/tinylm/logits runs/laptop/best

LlamaForCausalLM or RecurrentGemmaForCausalLM must take every weight and give the logits
that the program gives at every position of a text. AutoTokenizer must give the same
tokens and decode them to the text. Needs torch and transformers: exit 77, with the
reason, where they are missing.

RecurrentGemma: in transformers a token sees one key less than in the published model, so
the program is asked for that window (hf-window). In some versions RoPE rotates the
whole head; there the frequencies are fixed first.
"""

import subprocess
import sys
import tempfile

TEXT = "First Citizen:\nBefore we proceed any further, hear me speak."
# Fraction of the largest logit. bf16: both round activations to 8 bits, not equally
# often.
TOLERANCE = {"F32": 2e-5, "BF16": 0.05}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: check_transformers.py PROGRAM CHECKPOINT [TEXT]")
    program, folder = sys.argv[1:3]
    text = sys.argv[3] if len(sys.argv) == 4 else TEXT
    import transformers_model

    import numpy as np
    import torch
    from safetensors import safe_open
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as tmp:
        out = tmp + "/logits.safetensors"
        subprocess.run([program, folder, text, out, "hf-window"], check=True)
        with safe_open(out, "np") as f:
            tokens, ours = f.get_tensor("tokens"), f.get_tensor("logits")
    model, note = transformers_model.load(folder)
    theirs = transformers_model.logits(model, [tokens.tolist()])[0]
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
