#!/bin/sh
# check_path.sh - some characters are special to make, dependency files and the shell. In
# a path they cause errors far from the cause. Prints one line and exits with 1 if the
# path of this folder contains one. Letters of any language (bytes above 127) are fine.
path=$(pwd -P; echo .) path=${path%?.}
found=$(printf %s "$path" | LC_ALL=C tr -d 'A-Za-z0-9_./+,@~\200-\377-'; echo .)
[ "$found" != . ] || exit 0
first=${found%"${found#?}"}
case $first in
" ") first="a space" ;;
"$(printf '\t')") first="a tab" ;;
"
") first="a line break" ;;
*) case $(printf %s "$first" | LC_ALL=C tr -d ' -~') in
    "") first="the character $first" ;;
    *) first="a control character" ;;
    esac ;;
esac
clean=$(printf %s "$path" | LC_ALL=C tr '\001-\037\177' '[?*]')
echo "the path of this folder has $first: $clean: move or rename the folder;" \
    "letters, digits and _ - . + , @ ~ work"
exit 1
