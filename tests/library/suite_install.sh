#!/usr/bin/env bash
# make install into a folder of the suite's own; programs that use the installed library,
# linked and loaded at run time; make uninstall.
. "$(dirname "$0")/tiny.sh"
root=$TMP/root prefix=/opt/warpbook
at=$root$prefix
ids="2 17 200 31 5 90"
do_make() { make -s BACKEND="$BACKEND" BUILD="$B" DESTDIR="$root" PREFIX="$prefix" "$@"; }

check "make install" do_make install
for program in recurrentgemma tinylm; do
    check_says "$program --version" "$program $version" "$at/bin/$program" --version
    check_fails "to a full disk" "" sh -c "'$at/bin/$program' --version >/dev/full"
done
soname() {
    readelf -d "$at/lib/librecurrentgemma.so" |
        grep -F "[librecurrentgemma.so.${version%%.*}]"
}
check "the soname has the first number of the version" soname

# What the libraries export is what the installed headers declare.
declared() {
    cat "$at"/include/recurrentgemma/*.h "$at"/include/recurrentgemma/text/*.h |
        sed 's/^ \*.*//' | grep -oE '\<[a-z]+_[a-z_]+\(' | tr -d '(' | sort -u |
        grep -v '^rg_sink$' # a type
}
same_names() { # NM-OPTION LIBRARY
    diff <(declared) <(nm "$1" --defined-only "$at/lib/$2" |
        awk 'NF == 3 && $2 != "A" { print $3 }' | sort -u)
}
check "the shared library exports its interface alone" same_names -D librecurrentgemma.so
check "the static library too" same_names -g librecurrentgemma.a

# Without pkg-config, the same flags from the file.
flags() { # --libs | --cflags | --static
    if command -v pkg-config >/dev/null; then
        PKG_CONFIG_PATH=$at/lib/pkgconfig pkg-config --define-variable=prefix="$at" "$@" \
            recurrentgemma
        return
    fi
    fields='-e s/^Cflags://p'
    [ "$1" = --cflags ] || fields='-e s/^Libs://p'
    [ "$1" != --static ] || fields="$fields -e s/^Libs.private://p"
    sed -n $fields "$at/lib/pkgconfig/recurrentgemma.pc" | tr '\n' ' ' |
        sed "s,\${libdir},$at/lib,g; s,\${includedir},$at/include/recurrentgemma,"
}
examples=$at/share/doc/warpbook/examples
compile() { # EXAMPLE OUT COMPILER...
    # shellcheck disable=SC2046
    "${@:3}" -Wall -Wextra -Werror $(flags --cflags) "$examples/$1" -o "$TMP/$2" \
        $(flags --libs) -Wl,-rpath,"$at/lib"
}
compile_static() {
    # shellcheck disable=SC2046
    "${CXX:-c++}" $(flags --cflags) "$examples/example.cpp" -o "$TMP/static" \
        $(flags --static --libs | sed "s,-lrecurrentgemma,$at/lib/librecurrentgemma.a,")
}
check "the example in C, with pkg-config" compile example.c c "${CC:-cc}" -std=c11
check "the example in C++" compile example.cpp cpp "${CXX:-c++}" -std=c++11
check "the example in C++ with the static library" compile_static

check "the tiny model with a tokenizer" tiny_with_text
presets() { (cd / && "$at/bin/tinylm" train --preset none); }
check_fails "tinylm finds the installed presets" "laptop-griffin" presets
continues() {
    "$TMP/c" "$TMP/model" "a new lab" >"$TMP/text" && [ "$(wc -c <"$TMP/text")" -gt 1 ]
}
check "the example in C continues a text" continues

# The same tokens and logits everywhere; six decimals, because the compiler may order sums
# differently in objects of a shared library.
greedy() { # PROGRAM
    echo "$ids" >"$TMP/ids"
    "$at/bin/recurrentgemma" --model $tiny --tokens "$TMP/ids" --ids --quiet \
        --temperature 0 --max-new-tokens 8 | tr -d ' ' >"$TMP/want"
    # shellcheck disable=SC2086
    [ -s "$TMP/want" ] && "$1" $tiny $ids | tail -1 | tr -d ' ' | diff "$TMP/want" -
}
check "the example in C++ generates what the program does" greedy "$TMP/cpp"
check "so does the one with the static library" greedy "$TMP/static"
dlopen() {
    "$PYTHON" tests/library/logits.py "$at/lib/librecurrentgemma.so" $tiny \
        >"$TMP/logits" && "$TMP/cpp" $tiny $ids | head -5 | diff "$TMP/logits" -
}
check "dlopen from Python: the same logits, in two threads at the same time" dlopen

# What is installed does not need the tree. To test this as if the tree were gone, its
# OpenBLAS path is changed to capitals in all installed programs and libraries.
blas=$(grep -aohE '/[[:graph:]]+openblas[[:graph:]]*\.so[.0-9]*' "$at/bin/recurrentgemma" | head -1)
copy=$at/lib/warpbook/warpbook_openblas.so
loads() { # LIBRARY PROGRAM...: loads it and no other OpenBLAS, and prints no warning
    LD_DEBUG=files "${@:2}" >"$TMP/said" 2>&1 || return 1
    realpath -m $(sed -n 's/.*calling init: \(.*openblas.*\)/\1/p' "$TMP/said") |
        diff - <(echo "$1") && ! grep "which the build found there" "$TMP/said"
}
for_all() { # FUNCTION: is called for each installed program and library
    "$1" "$at/bin/recurrentgemma" --model $tiny --tokens "$TMP/ids" --ids &&
        "$1" "$at/bin/tinylm" generate --model "$TMP/run/best" --prompt a --max-new-tokens 2 &&
        "$1" "$TMP/cpp" $tiny $ids && "$1" "$TMP/static" $tiny $ids
}
loads_copy() { loads "$copy" "$@"; }
warns() { says "$gone: cannot load OpenBLAS, which the build found there" "$@"; }
if [ -n "$blas" ]; then
    gone=$(printf %s "$blas" | tr a-z A-Z)
    check "the tree is gone" "$PYTHON" -c 'import sys
path = sys.argv[1].encode()
for name in sys.argv[2:]:
    content = open(name, "rb").read()
    assert path in content, name
    open(name, "wb").write(content.replace(path, path.upper()))' \
        "$blas" "$at"/bin/* "$at/lib/librecurrentgemma.so.$version" "$TMP/static"
    check "without the tree, the installed copy of OpenBLAS is loaded" for_all loads_copy
    mv "$copy" "$copy.away"
    check "without the copy, a line says so" for_all warns
    check "unless WB_BLAS=own" env WB_BLAS=own bash -c '! "$@" 2>&1 | grep OpenBLAS' - \
        "$TMP/cpp" $tiny $ids
    mv "$copy.away" "$copy"
else
    skip "without the tree, the installed copy of OpenBLAS is loaded" "the build has no OpenBLAS"
fi

section() { # PROGRAM HEADING: its lines in the manual
    sed 's/\\-/-/g' "$at/share/man/man1/$1.1" | sed -n "/^\.SH $2\$/,/^\.SH /p"
}
documents() { # PROGRAM HEADING [COMMAND]: the options of --help, and no others
    { [ $# = 3 ] || printf -- '--help\n--version\n'
        "$at/bin/$1" ${3:-} --help | grep -oE '^  --[a-z0-9-]+' | tr -d ' '; } >"$TMP/want"
    section "$1" "$2" | sed -nE 's/^\.B (--[a-z0-9-]+).*/\1/p' | diff "$TMP/want" -
}
check "the manual of recurrentgemma has every option" documents recurrentgemma OPTIONS
check "the manual of tinylm has every option" documents tinylm OPTIONS
for command in train eval generate; do
    check "and those of $command" documents tinylm "TINYLM ${command^^}" $command
done
# tinylm --help lists no exit statuses: tinylm_exits checks that they are the same.
statuses() { # PROGRAM: has those of recurrentgemma --help
    "$at/bin/recurrentgemma" --help | sed -n 's/^Exit: \(.*\)\.$/\1/p' |
        sed 's/, /\n/g' >"$TMP/want"
    section "$1" "EXIT STATUS" | sed -n '/^\.B /{s///;N;s/\n/ /;p}' | diff "$TMP/want" -
}
tinylm_exits() {
    exits 1 "$at/bin/tinylm" eval --data CONTRIBUTING.md --model "$TMP/none" &&
        exits 2 "$at/bin/tinylm" generate --nope && exits 2 "$at/bin/tinylm" nope &&
        exits 141 bash -c '"$@" | true; exit ${PIPESTATUS[0]}' - "$at/bin/tinylm" generate \
            --model "$TMP/run/best" --prompt a --ignore-eos --quiet --max-new-tokens 4000
}
rendered() { # PROGRAM: without a warning, up to the last heading
    groff -man -ww -Tascii -P-cbu "$at/share/man/man1/$1.1" >"$TMP/page" 2>"$TMP/said" &&
        [ ! -s "$TMP/said" ] && grep -q 'EXIT STATUS' "$TMP/page"
}
check "the exit statuses of tinylm" tinylm_exits
for program in recurrentgemma tinylm; do
    check "the manual of $program has the exit statuses" statuses $program
    if command -v groff >/dev/null; then check "groff renders it" rendered $program
    else skip "groff renders it" "no groff"; fi
done
# In a folder of one's own, as in the README; then the Python example, without the tree.
own=$TMP/own
own_folder() {
    make -s BACKEND="$BACKEND" BUILD="$B" PREFIX="$own" install || return 1
    command -v pkg-config >/dev/null || return 0
    export PKG_CONFIG_PATH=$own/lib/pkgconfig LD_LIBRARY_PATH=$own/lib
    # shellcheck disable=SC2046
    "${CC:-cc}" "$own/share/doc/warpbook/examples/example.c" -o "$TMP/own_c" \
        $(pkg-config --cflags --libs recurrentgemma) && "$TMP/own_c" "$TMP/model" "a new lab"
}
python=$("$PYTHON" -c 'import sys; print(sys.executable)')
python_example() (
    "$python" -m pip install -q --disable-pip-version-check --no-index --no-deps \
        --target "$TMP/site" "$own"/share/warpbook/warpbook-*.whl && cd "$TMP" || exit 1
    unset WARPBOOK_TREE WARPBOOK_BUILD WARPBOOK_LIBRARY LD_LIBRARY_PATH
    export PYTHONPATH=$TMP/site
    "$python" "$own/share/doc/warpbook/examples/example.py" "$TMP/model" "a new lab" &&
        [ "$("$python" -c 'from warpbook._engine import load; print(load()._name)')" = \
            "$own/lib/librecurrentgemma.so.${version%%.*}" ]
)
check "in a folder of one's own: PKG_CONFIG_PATH and LD_LIBRARY_PATH" own_folder
if "$python" -m pip --version >/dev/null 2>&1; then
    check "the example in Python, with the installed package and library" python_example
else
    skip "the example in Python" "this Python has no pip: make setup-test"
fi

check_fails "a relative PREFIX" "not an absolute path" \
    make -s BACKEND="$BACKEND" BUILD="$B" PREFIX=here uninstall

echo "a file of another package" >"$at/lib/other"
check "make uninstall" do_make uninstall
nothing_left() { [ "$(find "$root" -type f -o -type l)" = "$at/lib/other" ] &&
    [ -z "$(find "$root" -name 'warpbook' -path '*share*' -o -name 'recurrentgemma')" ]; }
check "it leaves nothing behind, and other files alone" nothing_left
tap_done
