#!/usr/bin/env bash
# docs/newcomer.md, a newcomer's way through lab 00, is what happens in a clean copy.
. "$(dirname "$0")/../tap.sh"
if [ "$BACKEND" != cpu ] || [ ! -d solutions ]; then
    skip "a newcomer's way through lab 00" "needs solutions/ and the CPU back end"
    tap_done
fi
tree=$TMP/tree
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs reference common \
    grader tools grade requirements.txt | xargs -0 cp -p --parents -t "$tree"
reuse_builds "$tree"
mkdir -p build/data && ln -s "$PWD/build/data" "$tree/build/"
check "a newcomer's way through lab 00" env -u BUILD -u B -u MAKEFLAGS -u MFLAGS \
    -u MAKELEVEL OPT="$QUICK" NO_COLOR=1 "$PYTHON" tests/docs/newcomer.py check "$tree"
tap_done
