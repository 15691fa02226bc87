"""_process.py - a worker process and its pipes; see _worker.py."""

import os
import pickle
import select
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, List, Optional, Tuple

from ._find import Error

WORKER = Path(__file__).with_name("_worker.py")
Answer = Optional[Tuple[int, str, str, List[bytes]]]


class KernelError(Error):
    """A kernel that crashed, did not end, or returned an error."""


class Worker:
    """Runs the functions of one library, in a process of its own. After a crash, or when
    the library has been built again, the next call starts another process."""

    def __init__(self, library: Path) -> None:
        self.library = library
        self.process: Optional[subprocess.Popen[bytes]] = None
        self.built = 0
        self.lock = threading.Lock()  # the caller holds it for a call and its output

    def _start(self) -> None:
        self.output = tempfile.TemporaryFile()
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        command = [sys.executable, "-I", str(WORKER), str(self.library)]
        self.process = subprocess.Popen(
            [*command, str(theirs_in), str(theirs_out)],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=self.output,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self.requests, self.answers = open(ours_out, "wb"), open(ours_in, "rb")
        self.built = self.library.stat().st_mtime_ns
        self.told = 0

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.answers.close()
            try:
                self.requests.close()
            except BrokenPipeError:
                pass
            self.output.close()
            self.process = None

    def said(self) -> str:
        """What the process has printed since the last call."""
        self.output.seek(0, os.SEEK_END)
        end = self.output.tell()
        text = os.pread(self.output.fileno(), end - self.told, self.told)
        self.told = end
        return text.decode(errors="replace")

    def call(self, name: str, arguments: List[Tuple[Any, ...]], seconds: float) -> Answer:
        if self.process and self.built != self.library.stat().st_mtime_ns:
            self.close()
        if not self.process:
            self._start()
        assert self.process is not None
        try:
            pickle.dump((name, arguments), self.requests)
            self.requests.flush()
            if not select.select([self.answers], [], [], seconds)[0]:
                self.close()
                raise KernelError(f"{name}: no answer within {seconds:g} s: stopped")
            answer: Answer = pickle.load(self.answers)
        except (EOFError, BrokenPipeError):
            code = self.process.wait()
            text = self.said().strip() or f"the process ended with code {code}"
            self.close()
            raise KernelError(f"{name}: {text}") from None
        except KeyboardInterrupt:
            self.close()
            raise
        return answer

    def __del__(self) -> None:
        self.close()
