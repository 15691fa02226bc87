#!/usr/bin/env bash
# The planted bugs and the right kernels in check mode: every bug is found with its kind at
# a marked line, and nothing is reported in a right kernel.
# limit: 900
. "$(dirname "$0")/../tap.sh"
[ "$BACKEND" = cpu ] || { skip "planted bugs" "check mode is of the CPU back end"; tap_done; }
check "the back end in check mode builds" \
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD make -s check-mode
check "the cases compile in check mode" env BUILD=build/check tests/check/build.sh "$TMP/planted"
WB_CHECK_SECONDS=1 "$PYTHON" tests/check/run.py --program-dir "$TMP/planted" --limit 150
tap_done
