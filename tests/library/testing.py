"""testing.py - what labs.py and models.py share. Prints TAP."""

import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import numpy as np

SEED = 7
random = np.random.default_rng(SEED)
TESTS = []


def test(f):
    TESTS.append(f)
    return f


def close(a, b, tolerance=2e-5):
    assert a.shape == np.shape(b), f"shape {a.shape}, not {np.shape(b)}"
    worst = np.max(np.abs(a - b) / (1 + np.abs(b)))
    assert worst <= tolerance, f"off by {worst}"


def raises(error, words, f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except error as e:
        assert words in str(e), f"says: {e}"
    else:
        raise AssertionError(f"no {error.__name__}")


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def together(*functions):
    """Calls them at the same time; returns their results, or raises the first error."""
    with ThreadPoolExecutor(len(functions)) as pool:
        begin = threading.Barrier(len(functions))

        def run(f):
            begin.wait(60)
            return f()

        return [r.result() for r in [pool.submit(run, f) for f in functions]]


def run_tests():
    print(f"# seed {SEED}")
    failed = False
    for f in TESTS:
        try:
            f()
            print(f"ok - {f.__name__.replace('_', ' ')}")
        except Exception:
            failed = True
            print(f"not ok - {f.__name__.replace('_', ' ')}")
            lines = traceback.format_exc().splitlines()
            print("".join("# " + line + "\n" for line in lines), end="")
        sys.stdout.flush()
    sys.exit(failed)
