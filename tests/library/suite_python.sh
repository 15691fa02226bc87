#!/usr/bin/env bash
# The Python package: pip installs it from the tree, without a network; its structures are
# those of the header; package.py tests what it does.
. "$(dirname "$0")/tiny.sh"
check "make python" make -s BACKEND="$BACKEND" BUILD="$B" python
WARPBOOK_BUILD=$PWD/$B
[ "$BACKEND" = cuda ] || WARPBOOK_BUILD=$PWD/$B/shared
export WARPBOOK_BUILD

python=$("$PYTHON" -c 'import sys; print(sys.executable)')
installs() {
    "$python" -m pip --version >/dev/null 2>&1 || return 0 # a Python without pip
    "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps \
        "$@" ./python
}
installed() { # from another folder, it finds the tree and the version
    installs --target "$TMP/site" || return 1
    [ -d "$TMP/site" ] || return 0
    (cd "$TMP" && PYTHONPATH=$TMP/site "$python" -c 'import warpbook
print(warpbook.__version__, warpbook.__file__, warpbook.lab("rmsnorm"))') >"$TMP/said" &&
        grep -q "^$version $TMP/site.*forward" "$TMP/said"
}
before=$(git status --porcelain python 2>&1)
check "pip install ./python" installed
same_as_before() { [ "$(git status --porcelain python 2>&1)" = "$before" ]; }
check "it leaves nothing in the tree" same_as_before

# size and offsets of every field, by C and by ctypes
structures() {
    PYTHONPATH=python "$python" - >"$TMP/layout.c" <<'EOF'
import ctypes
print("#include <recurrentgemma.h>\n#include <stdio.h>\nint main(void) {")
from warpbook._engine import RgInfo, Settings, Shape
for c, kind in {"rg_settings": Settings, "model_shape": Shape, "rg_info": RgInfo}.items():
    print(f'if (sizeof({c}) != {ctypes.sizeof(kind)}) return puts("{c}");')
    for field, _ in kind._fields_:
        offset = getattr(kind, field).offset
        print(f'if (offsetof({c}, {field}) != {offset}) return puts("{c}.{field}");')
print("return 0; }")
EOF
    "${CC:-cc}" -Irecurrentgemma -Icommon "$TMP/layout.c" -o "$TMP/layout" &&
        "$TMP/layout"
}
check "the structures are those of recurrentgemma.h" structures

check "the tiny model with a tokenizer" tiny_with_text
example() {
    export PYTHONPATH=python
    "$PYTHON" recurrentgemma/example.py "$TMP/model" "a new lab" >"$TMP/text" &&
        [ "$(wc -c <"$TMP/text")" -gt 1 ] &&
        ! "$PYTHON" recurrentgemma/example.py "$TMP/none" x 2>"$TMP/error" &&
        [ "$(wc -l <"$TMP/error")" = 1 ]
}
check "the example in Python" example
PYTHONPATH=python "$PYTHON" tests/library/package.py "$TMP/model" >"$TMP/out" 2>&1 ||
    tap_failed=1
cat "$TMP/out"
grep -q 'ok - wrong use of a model' "$TMP/out" || echo "not ok - package.py ended early"
tap_done
