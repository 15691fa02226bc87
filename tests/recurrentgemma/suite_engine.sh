#!/usr/bin/env bash
# The engine's C API: rows, chunks, texts that go on and end, errors, memory.
. "$(dirname "$0")/../tap.sh"
"$B/tests/recurrentgemma/engine" tests/recurrentgemma/tiny || tap_failed=1
tap_done
