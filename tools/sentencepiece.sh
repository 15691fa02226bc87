#!/bin/sh
# sentencepiece.sh find|compile OBJECT - the wrapper of the SentencePiece library, or its
# replacement where the library is not installed. OBJECT without .o; OBJECT.libs
# holds the linker's flags, and is empty without the library.
#   find     writes OBJECT.libs if the library was installed or removed since last time
#   compile  writes OBJECT.libs and OBJECT.o
# CC, CXX, CFLAGS and CXXFLAGS are make's; SENTENCEPIECE=/prefix: not the system's
# library; SENTENCEPIECE=none: build without it.
set -eu
flags= libs=
if [ -n "${SENTENCEPIECE:-}" ] && [ "$SENTENCEPIECE" != none ]; then
    flags=-I$SENTENCEPIECE/include
    libs="-L$SENTENCEPIECE/lib -Xlinker -rpath -Xlinker $(realpath -m "$SENTENCEPIECE")/lib "
fi
libs=$libs-lsentencepiece
printf '#if !__has_include(<sentencepiece_processor.h>)\n#error\n#endif\n' |
    $CXX -E -x c++ $flags - >/dev/null 2>&1 || libs=
[ "${SENTENCEPIECE:-}" != none ] || libs=

case $1 in
find) [ "$(cat "$2.libs")" = "$libs" ] || echo "$libs" >"$2.libs" ;;
compile)
    echo "$libs" >"$2.libs"
    folder=recurrentgemma/text
    if [ -n "$libs" ]; then $CXX $CXXFLAGS $flags -c $folder/sentencepiece.cpp -o "$2.o"
    else
        echo "no SentencePiece library: tokenizer.model files cannot be read (make doctor)"
        $CC $CFLAGS -c $folder/sentencepiece_none.c -o "$2.o"
    fi
    ;;
esac
