"""watch.py - ./grade LAB --watch: builds and grades a lab again whenever a file is saved.

    ./grade lab03 --watch [-k PATTERN]

It shows the first case that fails. Keys: h the next hint for its part, l the list of
cases, r runs again, q quits. Files are compared every 0.2 s by time and size. A build or a
grade that is running when a file is saved is stopped. Standard library only."""
import glob
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import tty

import labkit

POLL = 0.2  # seconds
KEYS = "[h] hint   [l] list of cases   [r] run again   [q] quit"
stopped = []  # signals that ask the program to end
MARKS = {"pass": "ok", "skip": "skip"}  # of the list; all others: FAIL


class Quit(Exception):
    pass


class Saved(Exception):
    """A file was saved, or the r key pressed, while a program was running."""


class Watch:
    def __init__(self, lab, pattern, results):
        self.folder = labkit.lab_folder(lab)
        self.lab = self.folder.partition("_")[0]
        self.options = ["-k", pattern] if pattern else []
        self.results = results  # a JSON file of ./grade
        self.cases, self.failing = [], None

    def files(self):
        """{path: (time, size)} of what the learner edits"""
        found = {}
        for path in glob.glob(f"labs/{self.folder}/*.cu*"):
            try:
                st = os.stat(path)
            except FileNotFoundError:
                continue  # an editor is renaming a file
            found[path] = st.st_mtime_ns, st.st_size
        return found

    def changed(self):
        """Has anything changed since the last run? Not while it still does."""
        now = self.files()
        if now == self.seen:
            return False
        time.sleep(0.1)
        return now == self.files()

    def wait_key(self):
        """A key, or '' after POLL seconds"""
        if not select.select([sys.stdin], [], [], POLL)[0] and not stopped:
            return ""
        if stopped:
            raise Quit
        key = os.read(sys.stdin.fileno(), 1).decode(errors="replace")
        if key in ("q", "Q", "", "\x03", "\x04"):
            raise Quit
        return key.lower()

    def run(self, *command):
        """(exit code, output) of a program in a process group of its own"""
        with tempfile.TemporaryFile() as said:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said,
                                     stderr=said, start_new_session=True,
                                     env={**os.environ, **self.colour()})
            try:
                while child.poll() is None:
                    if self.wait_key() == "r" or self.changed():
                        raise Saved
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGINT)  # as Ctrl-C: it removes its files
                    child.wait()
            said.seek(0)
            return child.returncode, said.read().decode(errors="replace")

    @staticmethod
    def colour():
        return {} if os.environ.get("NO_COLOR") else {"CLICOLOR_FORCE": "1"}

    def show(self, text, clear=False):
        sys.stdout.write("\033[H\033[2J\033[3J" if clear else "")
        sys.stdout.write(text.rstrip("\n") + "\n")
        sys.stdout.flush()

    def grade(self):
        """Builds and grades; shows what there is to do next."""
        self.seen, self.cases, self.failing = self.files(), [], None
        self.show(f"{self.lab}: building ...", clear=True)
        code, text = self.run("make", "-s", self.lab)
        if code:
            return self.show(f"{text}\n{KEYS}", clear=True)
        self.show(f"{self.lab}: grading ...", clear=True)
        code, text = self.run("./grade", self.lab, "--stop", "--json", self.results,
                              *self.options)
        results = labkit.read_json(self.results) or {}
        self.cases = results.get("cases", [])
        self.failing = next((c for c in self.cases if c["verdict"] != "pass"), None)
        self.show(f"{self.report(text)}\n\n{KEYS}", clear=True)

    def report(self, text):
        """The score, and what ./grade says about the first case that fails"""
        blocks = re.split(r"^(?=== |Score)", text, flags=re.MULTILINE)
        if not self.cases:
            return text  # it has graded nothing and says why
        if not self.failing:
            end = "".join(b for b in blocks if b.startswith("Score"))
            return f"{self.lab}: all {len(self.cases)} cases pass\n\n{end}"
        name = f"{self.lab}/{self.failing['name']} "
        shown = [b for b in blocks if name in b.split("\n")[0]
                 and not re.search(r"==\s+\S*OK", b.split("\n")[0])]
        passed = sum(c["verdict"] == "pass" for c in self.cases)
        return (f"{self.lab}: {passed} cases pass; the first that fails, of part "
                f"{self.failing['part']}:\n\n{''.join(shown)}")

    def hint(self):
        if self.failing:
            text = subprocess.run(["./grade", self.lab, "--hint", self.failing["part"]],
                                  capture_output=True, text=True)
            self.show(f"\n{text.stdout}{text.stderr}")
        else:
            self.show("\nno case has failed, so there is no hint")

    def list(self):
        verdicts = {c["name"]: c["verdict"] for c in self.cases}
        listed = subprocess.check_output(
            ["./grade", self.lab, "--list", *self.options], text=True)
        self.show("")
        for line in listed.splitlines():
            verdict = verdicts.get(line.split()[0])
            mark = "-" if verdict is None else MARKS.get(verdict, "FAIL")
            self.show(f"{mark:5}{line}")
        self.show(f"\n{KEYS}")

    def loop(self):
        again = True
        while True:
            try:
                if again:
                    self.grade()
                key = self.wait_key()
                again = key == "r" or self.changed()
            except Saved:
                again = True
                continue
            if key == "h":
                self.hint()
            elif key == "l":
                self.list()


def main():
    lab, pattern = labkit.lab_and_k("--watch", "PATTERN")
    if not lab:
        labkit.stop("name the lab: ./grade lab03 --watch")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        labkit.stop("--watch needs a terminal; elsewhere: make lab03 && ./grade lab03 --stop")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: stopped.append(number))
    before = termios.tcgetattr(sys.stdin)
    with tempfile.TemporaryDirectory(prefix="warpbook-watch-") as folder:
        try:
            tty.setcbreak(sys.stdin)
            settings = termios.tcgetattr(sys.stdin)
            settings[3] &= ~termios.ISIG  # Ctrl-C is a key: it stops no step half-way
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)
            Watch(lab, pattern, os.path.join(folder, "results.json")).loop()
        except Quit:
            pass
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


main()
