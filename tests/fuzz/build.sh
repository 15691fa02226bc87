#!/bin/sh
# build.sh OUT FILE... - compiles .c and .cpp files with libFuzzer and the sanitizers.
# CLANG: the compiler; SENTENCEPIECE=/prefix as for make. The SentencePiece library itself
# is not instrumented.
set -eu
clang=${CLANG:-clang} out=$1 libs=
shift
command -v "$clang" >/dev/null || {
    echo "make fuzz needs clang and its libFuzzer: apt-get install clang (or CLANG=path)"
    exit 1
}
mkdir -p "$(dirname "$out")"
rm -f "$out"_*.o
for source in "$@"; do
    case $source in
    *.c) language="c -std=gnu11 -D_GNU_SOURCE" ;;
    *.cpp) language="c++ -std=gnu++17" libs="${SENTENCEPIECE:+-L$SENTENCEPIECE/lib -Wl,-rpath,$SENTENCEPIECE/lib} -lsentencepiece" ;;
    *) continue ;;
    esac
    "$clang" -x $language -g -O1 -fsanitize=fuzzer-no-link,address,undefined \
        -fno-sanitize-recover=all -Icommon ${SENTENCEPIECE:+-I"$SENTENCEPIECE/include"} \
        -c "$source" -o "${out}_$(basename "$source").o"
done
"$clang++" -fsanitize=fuzzer,address,undefined "$out"_*.o $libs -l:libjansson.a -lm -o "$out"
