"""How much of a written text is made of words: the share of its words of at least three
letters that occur in the text that the model learnt from.

    python tools/words.py LEARNT WRITTEN     prints `153 of 161 words (95.0 %) ...`

A word is a run of letters and apostrophes, in small letters. The first and the last of the
written text are left out: one is the prompt's, the other may be cut. The zero of the measure:
letters drawn one by one, each as often as in TinyShakespeare, make words of which 2.7 % occur.
Standard library only.
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
        sys.exit("usage: words.py LEARNT WRITTEN")
    known = set(words(sys.argv[1]))
    written = [w for w in words(sys.argv[2])[1:-1] if len(w) >= 3]
    if not written:
        print("no words of three letters or more")
        return
    found = sum(w in known for w in written)
    print(
        f"{found} of {len(written)} words ({100 * found / len(written):.1f} %) "
        "of three letters or more occur in the text it learnt from"
    )


main()
