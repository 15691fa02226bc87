#!/usr/bin/env bash
# The Python package: pip installs it from the tree, without a network; its structures are
# those of the header; mypy accepts its types; labs.py and models.py test what it does.
. "$(dirname "$0")/tiny.sh"
check "make python" make -s BACKEND="$BACKEND" BUILD="$B" python
WARPBOOK_BUILD=$PWD/$B
[ "$BACKEND" = cuda ] || WARPBOOK_BUILD=$PWD/$B/shared${SHARED_OPT-}
export WARPBOOK_BUILD

python=$("$PYTHON" -c 'import sys; print(sys.executable)')
installs() { # PREFIX OPTION...: then the package works from another folder
    "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps \
        --prefix "$@" && (cd "$TMP" && "$python" -c 'import glob, site, sys
site.addsitedir(glob.glob(sys.argv[1] + "/lib/python*/site-packages")[0])
import warpbook
print(warpbook.__version__, warpbook.__file__, warpbook.lab("rmsnorm"))' "$1") >"$TMP/said"
}
copied() {
    installs "$TMP/copied" ./python && grep -q "^$version $TMP/copied.*forward" "$TMP/said" &&
        diff -r -x __pycache__ -x _installed.py python/warpbook \
            "$TMP"/copied/lib/python*/site-packages/warpbook
}
linked() { # edits of the package need no new install
    installs "$TMP/linked" -e ./python &&
        grep -q "^$version $PWD/python/warpbook.*forward" "$TMP/said"
}
same_as_before() { [ "$(git status --porcelain python 2>&1)" = "$before" ]; }
before=$(git status --porcelain python 2>&1)
if "$python" -m pip --version >/dev/null 2>&1; then
    check "pip install ./python" copied
    check "pip install -e ./python" linked
    check "they leave nothing in the tree" same_as_before
else
    skip "pip install ./python, and -e" "this Python has no pip: make setup-test"
fi

# Types: the package, its examples, and typed.py, which has right and wrong uses.
sed -n '/^```python$/,/^```$/{/^```/!p}' python/README.md >"$TMP/readme.py"
types() {
    "$python" -m mypy --strict --cache-dir "$TMP/mypy" python/warpbook recurrentgemma/example.py \
        tests/library/typed.py "$TMP/readme.py"
}
if "$python" -c 'import mypy' 2>/dev/null; then
    check "mypy --strict: the package, its examples, right and wrong uses" types
else
    skip "mypy --strict" "this Python has no mypy: make setup-test"
fi
check "the types of the labs' functions are those of the headers" "$python" tools/lab_types.py check

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
documented() { # on the tiny model
    sed -i "s,runs/laptop-griffin/best,$TMP/model," "$TMP/readme.py" &&
        PYTHONPATH=python "$PYTHON" "$TMP/readme.py"
}
check "the examples of python/README.md run" documented
for tests in labs models; do
    PYTHONPATH=python "$PYTHON" tests/library/$tests.py "$TMP/model" || tap_failed=1
done >"$TMP/out" 2>&1
cat "$TMP/out"
for last in 'two threads call one lab' 'wrong use of a model'; do
    grep -q "ok - $last" "$TMP/out" || echo "not ok - the tests ended before: $last"
done
tap_done
