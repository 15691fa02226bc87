"""logits.py LIBRARY FOLDER - loads the library into a running process (dlopen) and runs a
model from two threads, one after the other and at the same time. Prints the logits after
a prompt as the C++ example does.
"""

import ctypes
import sys
import threading

PROMPT = [2, 17, 200, 31, 5, 90]
TOGETHER = 20  # each of two threads opens and runs this many engines
SINK = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(ctypes.c_float),
    ctypes.c_int,
)


class Settings(ctypes.Structure):
    """rg_settings, and room for more"""

    _fields_ = [("bytes", ctypes.c_uint64 * 64)]


def run(library, folder, results):
    error = ctypes.create_string_buffer(1024)
    engine = library.rg_open(folder.encode(), ctypes.byref(library.rg_defaults()), error)
    if not engine:
        sys.exit(error.value.decode())
    rows = []

    def keep(_, sequence, at, row, vocab):
        rows.append(row[:vocab])
        return 0

    tokens = (ctypes.c_int * len(PROMPT))(*PROMPT)
    status = library.rg_score(
        ctypes.c_void_p(engine),
        (ctypes.c_void_p * 1)(ctypes.addressof(tokens)),
        (ctypes.c_int * 1)(len(PROMPT)),
        SINK(keep),
        None,
        error,
    )
    if status:
        sys.exit(error.value.decode())
    library.rg_close(ctypes.c_void_p(engine))
    results.append(rows)


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.rg_open.restype = ctypes.c_void_p
    library.rg_defaults.restype = Settings
    results = []

    def several(count):
        for _ in range(count):
            run(library, sys.argv[2], results)

    def start(count):
        thread = threading.Thread(target=several, args=(count,))
        thread.start()
        return thread

    for _ in range(2):  # the second thread has its own thread-local memory
        start(1).join()
    for thread in [start(TOGETHER), start(TOGETHER)]:
        thread.join()
    assert len(results) == 2 + 2 * TOGETHER, "a thread failed"
    assert all(r == results[0] for r in results), "the threads differ"
    last = results[0][-1]
    for token in sorted(range(len(last)), key=lambda t: -last[t])[:5]:
        print(f"{token} {last[token]:.6f}")


main()
