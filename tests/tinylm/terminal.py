"""The progress bar on terminals of several widths.

python tests/tinylm/terminal.py COMMAND...      a training; --out and more is added
"""
import fcntl
import os
import pty
import struct
import sys
import tempfile
import termios


def resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def drawn(command, columns, then=None):
    """The lines that a training draws; after the first the width may change."""
    with tempfile.TemporaryDirectory() as out:
        master, slave = pty.openpty()
        resize(master, columns)
        pid = os.fork()
        if pid == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(slave, 2)
            os.execv(command[0], [*command, "--out", os.path.join(out, "run")])
        os.close(slave)
        seen = b""
        try:
            while data := os.read(master, 4096):
                if then and b"\r" in seen:
                    resize(master, then)
                    then = None
                seen += data
        except OSError:  # the terminal's other side is closed
            pass
        status = os.waitpid(pid, 0)[1]
        os.close(master)
    assert status == 0, seen
    lines = [line for line in seen.decode().replace("\n", "").split("\r") if line]
    assert len(lines) > 9, lines
    return lines


def main(*command):
    fields = {  # at a width: what the middle line shows, and what it does not
        200: (["step", "[", "loss", "val", "tokens/s", "left"], []),
        80: (["step", "[", "loss", "val", "tokens/s", "left"], []),
        52: (["step", "loss", "val", "left"], ["tokens/s"]),
        30: (["step", "loss"], ["val", "tokens/s", "left"]),
        8: (["step"], ["loss"]),
    }
    for columns, (some, none) in fields.items():
        lines = drawn(command, columns)
        wide = [line for line in lines if len(line) >= columns]
        assert not wide, (columns, wide)
        middle = lines[len(lines) // 2]
        missing = [word for word in some if word not in middle]
        assert not missing, (columns, missing, middle)
        assert not any(word in middle for word in none), (columns, middle)
    lines = drawn(command, 100, 40)
    assert len(lines[0]) > 40 and len(lines[-1]) < 40, (lines[0], lines[-1])


if __name__ == "__main__":
    main(*sys.argv[1:])
