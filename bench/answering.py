"""answering.py - runs a program that answers each line on stdin with a line on stdout, so
that the sides of a comparison can alternate."""

import subprocess


class Program:
    def __init__(self, command, env=None):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=env)  # fmt: skip

    def answer(self):
        """the next line; empty if the program has ended"""
        return self.process.stdout.readline()

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.answer()

    def close(self):
        self.process.stdin.close()
        self.process.wait()
