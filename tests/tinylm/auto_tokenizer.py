"""Opens the tokenizers of TinyLM's checkpoints with transformers: unknown characters and
padded batches, and texts that come back.

    python tests/tinylm/auto_tokenizer.py CHARACTERS BYTES
"""
import sys

from transformers import AutoTokenizer

KNOWN = "The miller\ncounts"
for folder, unknown in zip(sys.argv[1:], (1, 0)):
    tokenizer = AutoTokenizer.from_pretrained(folder)
    unk, pad, eos = range(len(tokenizer) - 3, len(tokenizer))
    assert (tokenizer.unk_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id) == (
        unk, pad, eos), tokenizer
    ids = tokenizer("The \u2603").input_ids
    assert ids.count(unk) == unknown, ids
    known = tokenizer(KNOWN).input_ids
    assert tokenizer.decode(known, skip_special_tokens=True) == KNOWN
    batch = tokenizer(["The", KNOWN], padding=True)
    short = batch["input_ids"][0]
    assert batch["input_ids"][1] == known and short.count(pad) == len(known) - 3, short
    assert batch["attention_mask"][0] == [int(i != pad) for i in short]
    assert tokenizer.decode(short, skip_special_tokens=True) == "The"
