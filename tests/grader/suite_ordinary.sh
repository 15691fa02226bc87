#!/usr/bin/env bash
# Started by root: the threats that depend on the account (processes, threads, memory, forged
# answers) once more as an ordinary account, in a copy of the tree. Others: suite.sh is enough.
. "$(dirname "$0")/../tap.sh"
if [ "$(id -u)" != 0 ]; then
    check "this is an ordinary account: suite.sh covers it" true
    tap_done
fi
account=65534 tree=$TMP/tree
mkdir -p "$tree"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs solutions reference \
    common grader tools grade requirements.txt tests/tap.sh tests/grader tests/mutants |
    xargs -0 cp -p --parents -t "$tree"
reuse_builds "$tree"

# This account may not be able to read the Python installation.
real=$("$PYTHON" -c 'import sys; print(sys.executable)')
packages=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
printf '#!/bin/sh\n"%s" -c "" 2>/dev/null && exec "%s" "$@"\nPYTHONPATH=%s exec /usr/bin/python3 "$@"\n' \
    "$real" "$real" "$packages" >"$tree/build/host/python"
chmod 755 "$TMP" "$tree/build/host/python"
mkdir -m 1777 "$TMP/private"
chown -R $account:$account "$tree/build"
cd "$tree" || exit 1
setpriv --reuid=$account --regid=$account --clear-groups env -u PYTHON HOME=/ \
    TMPDIR="$TMP/private" B="build/$BACKEND" tests/grader/suite.sh \
    busy forged_right forged_size forks holds kills late threads |
    sed -E 's/^(ok|not ok) - /&ordinary account: /' || tap_failed=1
[ "${PIPESTATUS[0]}" = 0 ] || tap_failed=1
tap_done
