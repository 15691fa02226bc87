#!/usr/bin/env python3
"""watch.py TREE - drives `./grade lab03 --watch` on a terminal, as a learner would. Prints
TAP. TREE is a copy of the workbook whose starters are not edited. Standard library only."""
import fcntl
import glob
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

SECONDS = 60  # until the expected words must appear
tree = sys.argv[1]


class Terminal:
    """A program on a terminal of its own, with an ordinary shell's settings."""

    def __init__(self, *command):
        self.end, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        self.child = subprocess.Popen(command, cwd=tree, stdin=slave, stdout=slave,
                                      stderr=slave, start_new_session=True,
                                      preexec_fn=lambda: self.control(slave))
        self.text = ""

    @staticmethod
    def control(slave):
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def wait(self, words):
        """Until the program prints these words; what it has printed up to there is gone."""
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            at = self.text.find(words)
            if at >= 0:
                seen, self.text = self.text[:at], self.text[at + len(words):]
                return seen
            if select.select([self.end], [], [], 0.1)[0]:
                self.text += os.read(self.end, 65536).decode(errors="replace")
            elif self.child.poll() is not None:
                break
        raise AssertionError(f"no '{words}' in\n{self.text[-3000:]}")

    def key(self, key):
        os.write(self.end, key.encode())

    def ended(self):
        """The exit code; the terminal must be as it was."""
        code = self.child.wait(20)
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is not restored"
        return code


def check(what, step):
    try:
        step()
        print(f"ok - {what}", flush=True)
    except (AssertionError, subprocess.TimeoutExpired) as e:
        print(f"not ok - {what}", *str(e).splitlines(), sep="\n#   ", flush=True)
        sys.exit(1)  # the next steps need this one


def edit(old, new):
    path = f"{tree}/labs/lab03_rmsnorm/rmsnorm.cu"
    text = open(path).read()
    assert old in text, old
    with open(path + ".new", "w") as f:  # as many editors do
        f.write(text.replace(old, new, 1))
    os.rename(path + ".new", path)


def solve():
    """A rung of the ladder: all functions in one file"""
    lab, ladder = f"{tree}/labs/lab03_rmsnorm", f"{tree}/solutions/lab03_rmsnorm/ladder"
    for header in glob.glob(f"{ladder}/*.*h"):
        shutil.copy(header, lab)
    open(f"{lab}/rmsnorm_backward.cu", "w").close()
    shutil.copy(f"{ladder}/02_warp_per_row.cu", f"{lab}/rmsnorm.new")
    os.rename(f"{lab}/rmsnorm.new", f"{lab}/rmsnorm.cu")


t = Terminal("./grade", "lab03", "--watch", "-k", "03.1")


def first_failure():
    t.wait("0 cases pass; the first that fails, of part 03.1:")
    t.wait("not written yet: rmsnorm_forward_f32")
    t.wait("[q] quit")


def hint(which):
    t.key("h")
    t.wait(f"Hint {which} of 3 for part 03.1")


def syntax_error():
    edit("return WB_TODO;", "return WB_TODO")
    t.wait("error: expected ")
    t.wait("[q] quit")
    edit("return WB_TODO", "return WB_TODO;")
    first_failure()


def wrong_formula():
    solve()
    edit("/ sqrtf(", "/ 2 / sqrtf(")
    t.wait("0 cases pass; the first that fails, of part 03.1:")
    assert "OK" not in t.wait("replay: ./grade lab03 -k basic --seed 0x5eed")
    t.wait("[q] quit")


def listed():
    t.key("l")
    t.wait("FAIL basic")
    t.wait("-    rows")
    t.wait("[q] quit")


def all_pass():
    edit("/ 2 / sqrtf(", "/ sqrtf(")
    t.wait("all 18 cases pass")
    t.wait("Score: 33/33")
    t.wait("[q] quit")
    t.key("h")
    t.wait("there is no hint")


def quits(key):
    t.key(key)
    code = t.ended()
    assert code == 0, f"exit {code}"


def interrupted():
    global t
    t = Terminal("./grade", "lab03", "--watch")
    t.wait("grading ...")  # the whole lab takes seconds
    started = time.monotonic()
    quits("\x03")
    assert time.monotonic() - started < 10
    left = subprocess.run(["pgrep", "-s", str(t.child.pid)], capture_output=True, text=True)
    assert not left.stdout, f"still runs: {left.stdout}"


check("shows the first case that fails", first_failure)
check("h shows a hint for its part", lambda: hint(1))
check("and the next one", lambda: hint(2))
check("a saved file that does not compile: the compiler's error", syntax_error)
check("a wrong result: one report, without the cases that pass", wrong_formula)
check("l lists the cases with their verdicts", listed)
check("a saved file that is right: all cases pass", all_pass)
check("q ends it with exit 0 and restores the terminal", lambda: quits("q"))
check("so does Ctrl-C while it grades", interrupted)
