"""man.py PROGRAM VERSION - a manual page (section 1) from what the program's --help says,
on stdout. A program with commands (tinylm) has a section for each."""

import re
import subprocess
import sys
from pathlib import Path

EXIT = "0 done, 1 an error, 2 a wrong option, 130 Ctrl-C, 141 a closed pipe"
VERSION = "--version prints the version."


def says(*command):
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.rstrip()


def roff(text):
    """Text that troff does not interpret."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def options(lines):
    """The lines of --help: headings, options with indented help, paragraphs."""
    for line in lines:
        if line == VERSION or line.startswith("Exit: "):
            continue  # page() writes these
        option = re.match(r"  (--\S+(?: (?:TEXT|N|0\|1))?)\s+(.*)", line)
        if option:
            name, _, value = option[1].partition(" ")
            yield f".TP\n.B {roff(name)}" + (f" \\fI{roff(value)}\\fR" if value else "")
            yield roff(option[2])
        elif line.startswith("   "):
            yield roff(line.strip())
        elif line:
            yield (".PP\n" if line.endswith(".") else ".SS ") + roff(line)


def page(program, version):
    name = Path(program).name
    first, *rest = says(program, "--help").splitlines()
    commands = re.findall(rf"^{name} ([a-z]+) +(.*)", "\n".join([first, *rest]), re.M)
    synopsis, _, what = first.partition(": ")
    if commands:
        synopsis, what = f"{name} COMMAND [options]", "trains small language models"
    yield f'.TH {name.upper()} 1 "" "warpbook {version}"'
    yield f".SH NAME\n{name} \\- {roff(what)}"
    yield f".SH SYNOPSIS\n.B {roff(synopsis)}"
    yield ".SH OPTIONS"
    lists = "lists the options"
    if commands:
        lists = f"lists the commands; {name} COMMAND --help lists its options"
    yield f".TP\n.B {roff('--help')}\n{roff(lists)}"
    yield f".TP\n.B {roff('--version')}\nprints the version"
    if not commands:
        yield from options(rest)
    for command, meaning in commands:
        yield f".SH {name.upper()} {command.upper()}\n{roff(meaning)}"
        yield from options(says(program, command, "--help").splitlines()[1:])
    said = re.search(r"^Exit: (.*)\.$", "\n".join(rest), re.M)
    yield ".SH EXIT STATUS"
    for status in (said[1] if said else EXIT).split(", "):
        number, meaning = status.split(" ", 1)
        yield f".TP\n.B {number}\n{roff(meaning)}"


if len(sys.argv) != 3:
    sys.exit(__doc__)
print("\n".join(page(*sys.argv[1:])))
