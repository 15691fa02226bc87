#!/usr/bin/env bash
# The path of the tree: characters that make or a shell would misread are named first;
# letters of any language work.
. "$(dirname "$0")/../tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
tree_in() { # what building and grading a lab needs
    mkdir -p "$1" && git ls-files -z -- Makefile mk tools grade labs grader common reference requirements.txt tests/requirements.txt |
        xargs -0 cp -p --parents -t "$1"
}
tree_in "$TMP/tree"
refused() { # refused WORDS NAME
    dir=$TMP/$2 words=$1
    mkdir -p "$dir" && cp -a "$TMP/tree" "$dir/w"
    for command in "make help" "make lab03 BACKEND=cpu" "make -s clean" "./grade lab03"; do
        check_fails "$words: $command" "the path of this folder has $words: " \
            sh -c 'cd "$1/w" && exec $2' - "$dir" "$command"
        one_line() { [ "$(wc -l <"$TMP/.said")" = 1 ] && ! LC_ALL=C grep -q $'[\001-\010\013-\037\177]' "$TMP/.said"; }
        cp "$TMP/.out" "$TMP/.said"
        check "in one clean line" one_line
    done
    check "before anything is made" [ ! -e "$dir/w/build" ]
    rm -rf "$dir"
}
refused "a space" "a b"
refused "a tab" $'a\tb'
refused "a line break" $'a\nb'
refused "a line break" $'ends\n'
refused "a control character" $'a\033[31mb'
for character in '"' "'" '$' '#' ':' '%' '`' ';' '&' '(' ')' '[' ']' '{' '}' '<' '>' '*' '?' \
    '!' '|' '\' '^' '='; do
    mkdir -p "$TMP/a${character}b" && ln -s ../tree "$TMP/a${character}b/w"
    at_once() { (cd -P "$TMP/a${character}b" && "$TMP/tree/tools/check_path.sh"); }
    check_fails "$character" "has the character $character: " at_once
    rm -rf "$TMP/a${character}b"
done
refused 'the character $' 'a$(touch x)b'
refused 'the character `' 'a`touch x`b'

for name in jörg 日本 'a+b,c@d~e-f_g.h'; do
    here=$TMP/$name
    cp -a "$TMP/tree" "$here"
    check_says "$name: make help" "make lab03" make -C "$here" help BACKEND=cpu
    mkdir -p "$here/build" && cp -a build/host "$here/build/"
    reuse_build "$here/build/$BACKEND" "build/$BACKEND"
    check_says "$name: a lab is built" "lab03: built from labs/lab03_rmsnorm" \
        make -C "$here" lab03 "BACKEND=$BACKEND" CHECK=off
    grades() { (cd "$here" && BACKEND=$BACKEND ./grade lab03 -k basic); [ $? = 1 ]; }
    check "$name: and graded" grades
    rm -rf "$here"
done
tap_done
