#!/usr/bin/env bash
# Also with more threads than cores: a block that waits for another one lets it run.
. "$(dirname "$0")/../tap.sh"
"$(dirname "$0")/lab.sh" lab06 || tap_failed=1
if [ "$BACKEND" = cpu ] && [ -d solutions ]; then
    reuse_build "$TMP/build"
    check "lab06: the solution builds once more" env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make -s BACKEND=cpu BUILD="$TMP/build" CHECK=off lab06 FROM=solutions
    check "lab06: blocks that wait, with 24 threads" env BUILD="$TMP/build" WB_THREADS=24 \
        ./grade lab06 -k scan_long,back_long
fi
tap_done
