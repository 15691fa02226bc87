#!/usr/bin/env bash
# The book: it is built, and looked at in a browser.
. "$(dirname "$0")/../tap.sh"
check_says "the book" "wrote $TMP/book/site" "$PYTHON" tools/book.py "$TMP/book"
check_says "in a browser: links, console, width, formulas, search" "pages, no complaint" \
    "$PYTHON" tests/docs/book.py "$TMP/book/site"
tabs() { grep -c 'class="tabbed-set' "$TMP/book/site/docs/one-click.html"; }
check "tabs for code" [ "$(tabs)" = 1 ]
check "three tabs" [ "$(grep -o '<label for="__tabbed_1_[0-9]' "$TMP/book/site/docs/one-click.html" | sort -u | wc -l)" = 3 ]
check "a list in a list is one" grep -q '<ol>' "$TMP/book/site/labs/lab03_rmsnorm/hints.html"
mkdir -p "$TMP/other/docs"
cp -r tools "$TMP/other/" && cp -r docs/book "$TMP/other/docs/"
echo '[x](none.md)' >"$TMP/other/docs/broken.md"
complains 1 "a link to nowhere" "docs/broken.md links to none.md, which does not exist" \
    sh -c "cd '$TMP/other' && '$(realpath "$PYTHON")' tools/book.py '$TMP/other/book'"
tap_done
