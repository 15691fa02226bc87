"""Logits and tokens from the recurrentgemma program, for tests and tools."""

import subprocess
import tempfile

from safetensors.numpy import load_file


def run(program, folder, rows, options):
    """its standard output, with rows of token ids as --tokens"""
    with tempfile.NamedTemporaryFile("w", suffix=".tokens") as f:
        f.writelines(" ".join(map(str, row)) + "\n" for row in rows)
        f.flush()
        command = [program, "--model", folder, "--tokens", f.name, "--quiet", *options]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\nexit {done.returncode}: {done.stderr}")
    return done.stdout


def logits(program, folder, rows, *options):
    """(T,V) of each row"""
    with tempfile.TemporaryDirectory() as tmp:
        out = tmp + "/logits.safetensors"
        run(program, folder, rows, ["--logits-out", out, *options])
        found = load_file(out)["logits"]
    assert found.shape[:2] == (len(rows), max(map(len, rows))), found.shape
    return [row[: len(ids)] for row, ids in zip(found, rows)]


def greedy(program, folder, rows, n, *options):
    """the n most likely tokens after each sequence"""
    greedily = ["--ids", "--temperature", "0", "--ignore-eos", "--max-new-tokens", str(n)]
    lines = run(program, folder, rows, [*greedily, *options]).splitlines()
    return [[int(word) for word in line.split()] for line in lines]


def shortfall(logits, row, sampled):
    """by how much logits (T,V) of row + sampled prefer another token to a sampled one"""
    before = logits[len(row) - 1 : -1]
    return (before.max(1) - before[range(len(sampled)), sampled]).max()
