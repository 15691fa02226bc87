# program.sh - sourced by the suites of the program recurrentgemma, in place of tap.sh.
. "$(dirname "$0")/../tap.sh"
rg=$B/recurrentgemma
tiny=tests/recurrentgemma/tiny
fixture=$tiny/fixture.safetensors
cli() { "$PYTHON" tests/recurrentgemma/cli.py "$@"; }
folder() { # NAME: $TMP/NAME has the tiny model, without a tokenizer
    mkdir -p "$TMP/$1" && cp $tiny/config.json "$TMP/$1" &&
        ln -sf "$PWD/$tiny/model.safetensors" "$TMP/$1"
}
one_line() { [ "$(wc -l <"$TMP/.out")" = 1 ]; }
refuses() { # WHAT WORDS ARGUMENTS...: fails with one line that has the words
    check_fails "refused: $1" "$2" "$rg" "${@:3}" </dev/null
    one_line || { echo "not ok -   in one line"; tap_show; tap_failed=1; }
}
