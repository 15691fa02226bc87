#!/usr/bin/env bash
# ./grade LAB --watch on a terminal, in a copy of the tree.
. "$(dirname "$0")/../tap.sh"
complains 1 "--watch without a terminal" "needs a terminal" ./grade lab03 --watch
complains 1 "--watch without a lab" "name the lab" ./grade --watch
complains 1 "--watch with another option" "not --json" ./grade lab03 --watch --json x
tree=$TMP/tree
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs solutions reference \
    common grader tools grade requirements.txt | xargs -0 cp -p --parents -t "$tree"
reuse_builds "$tree"
mkdir -p build/data && ln -s "$PWD/build/data" "$tree/build/"
env -u BUILD -u B -u MAKEFLAGS -u MFLAGS -u MAKELEVEL OPT=$QUICK NO_COLOR=1 \
    "$PYTHON" tests/grader/watch.py "$tree" || tap_failed=1
tap_done
