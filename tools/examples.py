"""examples.py - the examples in the documents are output of commands, so they stay true.

    examples.py check [--all] [PAGE...]    exit 1 if a command now prints something else
    examples.py write [--all] [PAGE...]    replace the text by what it prints now

An example is a fenced block right after a comment with its command:

    <!-- output: tests/mutants/report.sh lab04/mask_one_more causal -->
    ```
    == Test lab04/causal 16x16 f32 ==              FAIL 0/3   (0.01s)
    ...

`<!-- output, slow: COMMAND -->` runs only with --all. Commands run in the root of the
repository, two at a time. Lines are wrapped at 90 columns. `check` ignores line breaks
and times such as (0.01s), and lets numbers differ by 5 %, because their last digits
depend on the CPU; the numbers of source lines must be equal.
Standard library only."""

import concurrent.futures
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

EXAMPLE = re.compile(
    r"^(?P<head><!-- output(?P<slow>, slow)?: (?P<command>.*?) -->\n```\w*\n)"
    r"(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
MARK = re.compile(r"^<!-- output", re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?$")
# The number in mistakes.cu:23, and before a line of source or its counts
LINE = r"[\w.]+\.(?:cuh?|c|cpp|h|py):\d+|^ +\d+ (?=\||read|write|shared|collective)"
WORD = re.compile(LINE + r"|[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?|[^\W\d]+|[^\w\s]",
                  re.MULTILINE)
TIME = re.compile(r"\(\d+\.\d+s\)")
WIDTH, WORKERS, SLACK = 90, 2, 0.05


def wrap(text):
    lines = []
    for line in text.rstrip("\n").splitlines():
        indent = line[: len(line) - len(line.lstrip())]
        lines += [line] if len(line) <= WIDTH else textwrap.wrap(
            line, WIDTH, subsequent_indent=indent + "    ", break_on_hyphens=False,
            break_long_words=False, drop_whitespace=True)
    return "\n".join(lines) + "\n"


def words(text):
    text = TIME.sub("(time)", text)
    return WORD.findall(text)


def alike(a, b):
    if a == b:
        return True
    if not (NUMBER.match(a) and NUMBER.match(b)):
        return False
    x, y = float(a), float(b)
    return abs(x - y) <= SLACK * max(abs(x), abs(y))


def same(shown, printed):
    a, b = words(shown), words(printed)
    return len(a) == len(b) and all(alike(x, y) for x, y in zip(a, b))


def run(command, worker):
    env = dict(os.environ, EXAMPLES_BUILD=f"build/cpu/examples.{worker}")
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip() or f"exit {done.returncode}"
    if not done.stdout.strip():  # a command before a pipe has probably failed
        return None, done.stderr.strip() or "it printed nothing"
    return wrap(TIME.sub("(0.01s)", done.stdout)), None


def run_all(commands):
    """{command: (output, error)}; the examples of one lab share its build and its data"""
    shares = {}
    for command in commands:
        lab = re.search(r"lab\d+", command)
        shares.setdefault(lab[0] if lab else command, []).append(command)
    queue = sorted(shares.values(), key=len)
    results = {}

    def work(worker):
        while True:
            try:
                share = queue.pop()
            except IndexError:
                return
            for command in share:
                results[command] = run(command, worker)

    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for job in [pool.submit(work, i) for i in range(WORKERS)]:
            job.result()
    return results


def pages(named):
    if named:
        return [Path(name) for name in named]
    listed = subprocess.check_output(["git", "ls-files", "*.md"], text=True)
    return [Path(name) for name in listed.split() if Path(name).exists()]


def main():
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    if not arguments or arguments[0] not in ("check", "write"):
        sys.exit(__doc__)
    write, slow_too = arguments[0] == "write", "--all" in sys.argv
    texts = {page: page.read_text(encoding="utf-8") for page in pages(arguments[1:])}
    texts = {page: text for page, text in texts.items() if MARK.search(text)}
    commands, bad, count = [], 0, 0
    for page, text in texts.items():
        found = list(EXAMPLE.finditer(text))
        if len(found) != len(MARK.findall(text)):
            print(f"{page}: an `<!-- output` comment has no fenced block right after it")
            bad += 1
        commands += [m["command"] for m in found if slow_too or not m["slow"]]
    results = run_all(dict.fromkeys(commands))

    for page, text in texts.items():
        def put(example):
            nonlocal bad, count
            if example["command"] not in results:
                return example[0]
            count += 1
            printed, error = results[example["command"]]
            if error:
                print(f"{page}: {example['command']}: {error}")
                bad += 1
                return example[0]
            if same(example["text"], printed):
                return example[0]
            if not write:
                print(f"{page}: {example['command']} prints\n{textwrap.indent(printed, '  ')}"
                      f"the page shows\n{textwrap.indent(example['text'], '  ')}"
                      "if that is right: make examples")
                bad += 1
            return f"{example['head']}{printed}```"

        new = EXAMPLE.sub(put, text)
        if write and new != text:
            page.write_text(new, encoding="utf-8")
            print(f"{page}: examples written")
    print(f"{count} examples, {bad} wrong")
    sys.exit(bad != 0)


if __name__ == "__main__":
    main()
