"""quiz.py - ./grade LAB --quiz: three questions for each part of a lab.

    ./grade lab03 --quiz [03.2]        all parts, or one; answers from a terminal or a file
    quiz.py check                      is every labs/*/quiz complete and well formed?

The comment at the top of a quiz file describes its format. The quiz gives no points. Exit
code: 0 if every answer is right, 1 otherwise. Standard library only."""
import os
import random
import re
import shutil
import sys
import textwrap
from pathlib import Path

import labkit

PER_PART = 3
LETTERS = "abcdefgh"
WIDTH = min(90, shutil.get_terminal_size().columns)


class Question:
    """number: the answer, or None; choices: [(is it right, words)]"""

    def __init__(self, where, part, words):
        self.where, self.part, self.words = where, part, words
        self.number, self.choices, self.why = None, [], ""

    def shuffled(self):
        """The choices, in the same order every time"""
        choices = list(self.choices)
        random.Random(self.words).shuffle(choices)
        return choices

    def check(self):
        right = sum(is_right for is_right, _ in self.choices)
        if self.number is not None and self.choices:
            labkit.stop(f"{self.where}: a number or choices, not both")
        if self.number is None and (right != 1 or len(self.choices) < 2):
            labkit.stop(f"{self.where}: needs `= number`, or one `+` and at least one `-`")
        if len({words for _, words in self.choices}) < len(self.choices):
            labkit.stop(f"{self.where}: two choices are equal")
        if not self.why:
            labkit.stop(f"{self.where}: needs a line `! why`")


def number(text):
    """of an answer: 1,024 and 2^31 are numbers, too; None: it is none"""
    text = text.strip().replace(",", "").replace("_", "")
    power = re.fullmatch(r"(\d+)\s*(?:\^|\*\*)\s*(-?\d{1,3})", text)
    try:
        return float(power[1]) ** int(power[2]) if power else float(text)
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


def read(path):
    """The questions of a file; stops with path:line if one is wrong."""
    found, last = [], None
    for n, line in enumerate(Path(path).read_text().splitlines(), 1):
        where, mark, rest = f"{path}:{n}", line[:2], line[2:].strip()
        if not rest or line.startswith("#"):
            continue
        if mark == "? ":
            part, _, words = rest.partition(" ")
            found.append(Question(where, part, words))
        elif not found:
            labkit.stop(f"{where}: a question begins with `? PART`")
        elif mark == "  " and last:
            rest, mark = f"{last[1]} {rest}", last[0]
            if mark == "? ":
                found[-1].words += " " + line.strip()
            elif mark in ("+ ", "- "):
                found[-1].choices[-1] = (mark == "+ ", rest)
            else:
                found[-1].why = rest
        elif mark == "= ":
            found[-1].number = number(rest)
            if found[-1].number is None:
                labkit.stop(f"{where}: {rest} is not a number")
        elif mark in ("+ ", "- "):
            found[-1].choices.append((mark == "+ ", rest))
        elif mark == "! ":
            found[-1].why = rest
        else:
            labkit.stop(f"{where}: a line begins with ?, =, +, -, !, # or two spaces")
        last = mark, rest
    for question in found:
        question.check()
    return found


def parts_of(folder):
    """The parts of a lab, in the order of its cases"""
    rows = re.findall(r"^[a-z]\w*\s+(\d\d\.\d+)\s", Path(folder, "cases").read_text(), re.M)
    return list(dict.fromkeys(rows))


def check():
    count = 0
    for _, name in labkit.lab_folders():
        folder = Path("labs", name)
        questions = read(folder / "quiz")
        parts = [q.part for q in questions]
        wanted = [part for part in parts_of(folder) for _ in range(PER_PART)]
        if parts != wanted:
            wrong = next((p for p in {*parts, *wanted} if parts.count(p) != PER_PART
                          or p not in wanted), None)
            labkit.stop(f"{folder}/quiz: " + (f"{PER_PART} questions for part {wrong}" if wrong
                                              else "parts in the order of the cases"))
        count += len(questions)
    print(f"{count} questions")


# --- asking -----------------------------------------------------------------------------


def say(text, indent=""):
    print(textwrap.fill(text, WIDTH, initial_indent=indent, subsequent_indent=indent,
                        break_on_hyphens=False))


def answer():
    """A line of the standard input; None at its end"""
    print("> ", end="", flush=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        print(line.rstrip("\n"))
    return line.strip() if line else None


def ask(question):
    """Is the answer right? None: there are no more answers."""
    say(question.words)
    choices = question.shuffled()
    letters = LETTERS[:len(choices)]
    for letter, (_, words) in zip(letters, choices):
        say(f"{letter}) {words}", "   ")
    while True:
        given = answer()
        if given is None or given == "q":
            return None
        got = number(given) if not choices else letters.find(given.lower().rstrip(")"))
        if given and got is not None and (not choices or got >= 0):
            break
        wanted = f"a letter from a to {letters[-1]}" if choices else "a number"
        print(f"The answer is {wanted}; q ends the quiz.")
    if choices:
        right = choices[got][0]
    else:
        right = abs(got - question.number) <= 1e-6 * abs(question.number)
    if right:
        print("Right.\n")
        return True
    words = (f"{question.number:,.10g}" if not choices else
             next(f"{c})" for c, (is_right, _) in zip(letters, choices) if is_right))
    say(f"No: {words}. {question.why}")
    print()
    return False


def quiz(lab, part):
    folder = Path("labs", labkit.lab_folder(lab))
    questions = [q for q in read(folder / "quiz") if part in (None, q.part)]
    if not questions:
        labkit.stop(f"{folder.name} has no part {part}; it has {' '.join(parts_of(folder))}")
    right = asked = 0
    for n, question in enumerate(questions, 1):
        print(f"Part {question.part}, question {n} of {len(questions)}")
        result = ask(question)
        if result is None:
            break
        asked += 1
        right += result
    print(f"{right} of {asked} answers are right"
          + (f"; {len(questions) - asked} not asked" if asked < len(questions) else ""))
    sys.exit(right < len(questions))


def main():
    if sys.argv[1:] == ["check"]:
        return check()
    lab, part = labkit.lab_and_k("--quiz", "PART")
    if not lab:
        labkit.stop("name the lab: ./grade lab03 --quiz")
    try:
        quiz(lab, part)
    except KeyboardInterrupt:
        print()
        sys.exit(1)
    except BrokenPipeError:
        os._exit(1)


if __name__ == "__main__":
    main()
