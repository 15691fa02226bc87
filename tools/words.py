"""words.py - how much of a generated text consists of real words: the share of its words of
at least three letters that occur in the training text.

    python tools/words.py TRAINING_TEXT GENERATED_TEXT   prints `153 of 161 words (95.0 %) ...`

A word is a run of letters and apostrophes, in lower case. The first and the last word of the
generated text do not count: the first belongs to the prompt, and the last may be cut off.
For comparison: if letters are sampled one by one, each as often as in TinyShakespeare, 2.7 %
of the words occur. Standard library only.
"""
import re
import sys

WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


def words(path):
    try:
        with open(path, encoding="utf-8") as f:
            return [w.lower() for w in WORD.findall(f.read())]
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"words.py: {path}: {error}")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: words.py TRAINING_TEXT GENERATED_TEXT")
    known = set(words(sys.argv[1]))
    generated = [w for w in words(sys.argv[2])[1:-1] if len(w) >= 3]
    if not generated:
        print("no words of three letters or more")
        return
    found = sum(w in known for w in generated)
    print(
        f"{found} of {len(generated)} words ({100 * found / len(generated):.1f} %) "
        "of three letters or more occur in the training text"
    )


main()
