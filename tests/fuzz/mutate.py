"""mutate.py - broken variants of the tree's own .cu files. Case i of a seed is always the
same, whatever ran before it."""
import os
import random
import re
from pathlib import Path

FOLDERS = ("solutions", "labs", "tests/cpu", "tests/mutants", "tests/grader", "tests/ops",
           "common", "bench")
HOSTILE = [
    '"', "'", '"x', "'x", "/*", "*/", "//", "// \\\n", "\\", "\\\n", "\\ \r\n", "\r", "\0",
    "\1", "\x1b[31m", "\x7f", "\x85", "\xff", "\xef\xbb\xbf", 'R"(', ')"', 'R"x(', 'u8R"', 'LR"(',
    'R"0123456789abcdef0(', "<<<", ">>>", "<<<1, 1>>>", "<<<1,", "<<", ">>", "<<<<", "k<<<",
    "<<<>>>", "(", ")", "[", "]", "{", "}", ";", ",", "::", "->", ".", "<", ">", "=", "~",
    "__shared__", "extern __shared__", "__shared__ extern", "__shared__ static", "static",
    "__global__", "__global__ void", "__launch_bounds__(", "__constant__", "__noinline__",
    'asm("nop");', "asm(", "__asm__ volatile (", '__asm__(".incbin \\"/etc/passwd\\"");',
    "for (", "for (int o = 16; o > 0; o >>= 1)", "for (;;", "__shfl_xor_sync(~0u, v, o)",
    "__shfl_down_sync(", "warpSize", "const int N = 32;", "#define N 32\n", "\n#define A \\\n",
    "\n#if 0\n", "\n#else\n", "\n#endif\n", "\n#", "\n##", "\n%:", "??/\n", "\n#pragma unroll\n",
    "\n#error it's\n", '\n# 1 "x.h" 1 3\n', '\n#line 1 "\\n"\n', "\n#line 2147483647\n",
    '\n#include "own.cuh"\n', '\n#include "other.cuh"\n', '\n#include "MAIN"\n',
    '\n#include "folder"\n', '\n#include "fifo.h"\n', '\n#include "zero.h"\n',
    "\n#include </dev/zero>\n", '\n#include "../own.cuh"\n', '\n#include "sub/../own.cuh"\n',
    '\n#include "sub/evil.d"\n', '\n#include "link.cuh"\n', '\n#include "missing.h"\n',
    '\n#include "', "\n#include <", "\n#include\n", "\n#include OWN\n", '\n#include "a\\\nb"\n',
    '\n#include "$(shell id).h"\n', '\n#include_next "own.cuh"\n', "NULL", "{1, 2}", "0",
    "1'0", "0x1p+", "...", "template <", "namespace n {", 'extern "C" {', "return", "else",
]
TOKEN = re.compile(r'\s+|\w+|"[^"\n]*"|<<<|>>>|.', re.S)


def sources():
    """Texts of all .cu and .cuh files, in a fixed order."""
    paths = sorted(p for f in FOLDERS for p in Path(f).rglob("*.cu*") if p.is_file())
    return [p.read_text(encoding="latin-1") for p in paths]


def some(rng, items):
    """A random stretch: most are short."""
    n = len(items)
    start = rng.randrange(n + 1)
    return start, min(n, start + int(rng.expovariate(1 / 12)))


def change(rng, tokens, texts):
    """One mutation of a list of tokens."""
    start, end = some(rng, tokens)
    kind = rng.randrange(11)
    if kind <= 2:  # the most interesting: something hostile
        return tokens[:start] + [rng.choice(HOSTILE)] + tokens[start:]
    if kind == 3:
        return tokens[:start]  # a truncated file
    if kind == 4:
        return tokens[:start] + tokens[end:]
    if kind == 5:
        return tokens[:end] + tokens[start:end] * rng.choice((1, 2, 50)) + tokens[end:]
    if kind == 6:
        other = TOKEN.findall(rng.choice(texts))
        a, b = some(rng, other)
        return tokens[:start] + other[a:b] + tokens[end:]
    if kind == 7 and len(tokens) > 1:
        i, k = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        tokens[i], tokens[k] = tokens[k], tokens[i]
        return tokens
    if kind == 8 and tokens:
        i = rng.randrange(len(tokens))
        return tokens[:i] + [chr(rng.randrange(256))] + tokens[i + 1:]
    if kind == 9:
        return tokens[:start] + [rng.choice(HOSTILE)] * rng.choice((3, 30, 3000)) + \
            tokens[start:]
    if kind == 10 and rng.randrange(4) == 0:
        return [t.replace("\n", "\r\n") for t in tokens]
    return tokens


def mutate(rng, texts, start=None):
    tokens = TOKEN.findall(rng.choice(start or texts))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 10, 40))):
        tokens = change(rng, tokens, texts)
    return "".join(tokens).encode("latin-1", "replace")


def not_copied(folder, names):
    """For shutil.copytree: reading a FIFO would wait for a writer."""
    return {"fifo.h"}


def case(seed, number, texts, folder, start=None):
    """Writes case `number` into an empty folder; returns the source's path. start: the
    texts that the source itself, not its headers, begins with."""
    rng = random.Random(f"{seed}/{number}")
    folder = Path(folder)
    source = folder / "source.cu"
    text = mutate(rng, texts, start).replace(b"MAIN", b"source.cu")
    source.write_bytes(text)
    if b'"' not in text or b"#include" not in text:
        return source
    (folder / "own.cuh").write_bytes(mutate(rng, texts))
    (folder / "other.cuh").write_bytes(
        b'#include "own.cuh"\n#include "source.cu"\n' + mutate(rng, texts))
    (folder / "sub").mkdir()
    (folder / "sub" / "evil.d").write_bytes(mutate(rng, texts))
    (folder / "folder").mkdir()
    (folder / "zero.h").symlink_to("/dev/zero")
    os.mkfifo(folder / "fifo.h")
    (folder / "link.cuh").symlink_to("other.cuh")
    return source
