#!/usr/bin/env bash
# The engine's C API: different ways to the same tokens, sequences that continue and end,
# errors, memory; on the tiny model and on random models of other shapes.
. "$(dirname "$0")/../tap.sh"
random() { # NAME OPTIONS: a folder in $TMP
    "$B/recurrentgemma-random" "${@:2}" --vocab 256 --dtype f32 "$TMP/$1" >"$TMP/said" 2>&1 ||
        { echo "not ok - recurrentgemma-random ${*:2}"; tap_failed=1; }
}
both() { # WHAT FOLDER
    for program in engine limits; do
        "$B/tests/recurrentgemma/$program" "$2" >"$TMP/out" || tap_failed=1
        sed "s/^\(not \)\?ok - /&$1: /" "$TMP/out"
    done
}
embedded() { # COMPILER...: it accepts the headers, and the object calls C functions
    printf '#include "%s.h"\n' recurrentgemma text/text >"$TMP/embedded.c"
    echo 'int main(void) { rg_close(0); text_close(0); return 0; }' >>"$TMP/embedded.c"
    "$@" -pedantic -Wall -Wextra -Werror -Irecurrentgemma -Icommon -c "$TMP/embedded.c" \
        -o "$TMP/embedded.o" && [ "$(nm "$TMP/embedded.o" | grep -cE ' U (rg|text)_close$')" = 2 ]
}
check "the library's headers in C11" embedded "${CC:-cc}" -std=c11
check "and in C++" embedded "${CXX:-c++}" -x c++ -std=c++11
both "the tiny model" tests/recurrentgemma/tiny
random alone --layers 2 --blocks ra --window 1 --hf-window 1 --softcap 0
both "each token sees itself alone" "$TMP/alone"
random recurrent --layers 2 --blocks r --recurrent 52 --conv-width 2
both "no attention" "$TMP/recurrent"
# With one worker lab 06's solution steps whole blocks of channels, else tiles of them.
random blocks --layers 2 --blocks r --channels 256 --heads 8 --hidden 64
WB_THREADS=1 both "16 tiles of channels on one multiprocessor" "$TMP/blocks"
random attention --layers 2 --blocks a --window 5 --kv-heads 2 --head-dim 12
both "attention only" "$TMP/attention"
tap_done
