#!/usr/bin/env bash
# The documents: links lead somewhere, commands exist, and the cheap ones run as written.
. "$(dirname "$0")/../tap.sh"
pages=$(git ls-files '*.md')

links_lead_somewhere() {
    bad=0
    for page in $pages; do
        for link in $(grep -oE '\]\([A-Za-z0-9_./*-]+\)' "$page" | sed 's/^](//; s/)$//'); do
            [ -e "$(dirname "$page")/$link" ] || { echo "$page: $link"; bad=1; }
        done
    done
    return $bad
}

# Names of targets in code: `make x`, and lines of blocks that begin with make.
commands_exist() {
    bad=0
    known=$(make -pRrnq help 2>/dev/null | sed -n 's/^\([a-zA-Z0-9_%.-]*\):.*/\1/p' | sort -u)
    for target in $(grep -ohE '(`|^)make( [A-Z]+=[^ `]*)* [a-z][a-zA-Z0-9_-]*' $pages |
        awk "{print \$NF}" | grep -v "[A-Z]" | sort -u); do
        grep -qx "$target" <<<"$known" || make -n "$target" >/dev/null 2>&1 ||
            { echo "make $target"; bad=1; }
    done
    return $bad
}

check "links in the documents lead somewhere" links_lead_somewhere
check "links to headings find them" "$PYTHON" tests/docs/pages.py links
check "the figures are what tools/figures.py draws" "$PYTHON" tools/figures.py check
check "lines of the documents have at most 90 columns" "$PYTHON" tests/docs/pages.py width
check "the documents use the words of the glossary" "$PYTHON" tests/docs/words.py
if [ -d solutions ] && [ "$BACKEND" = cpu ]; then
    check "what the grader says in a guide comes from a command" "$PYTHON" tests/docs/pages.py examples
    echo '{"counted": "rope_forward bf16 12x64x8x32", "code": "mine", "requests": 4096,
        "sectors": 32768, "ideal": 32768, "least": 1, "conflict": null, "barriers": 0,
        "blocks": 9}' | tr -d '\n' >"$TMP/mine.jsonl"
    check_says "bench CODE=mine: next to the ladder" "mine       4,096     8.0 (8.0)        1.29" \
        "$PYTHON" bench/mine.py labs/lab02_rope/README.md "$TMP/mine.jsonl"
    check "a ladder as differences" "$PYTHON" tools/ladder.py "$TMP/ladder.md" lab03
    check_says "each rung with its gain" "times the rung before" cat "$TMP/ladder.md"
    check "each exercise has an answer" "$PYTHON" tests/docs/pages.py answers
    check "the reports in tables of mistakes exist" "$PYTHON" tests/docs/pages.py reports
    check "the examples are what the commands print today" "$PYTHON" tools/examples.py check
else
    skip "the examples in the documents" "they need solutions/ and the CPU back end"
fi
shows() { # LINE COUNT: a page whose example prints x.cu:300 and 100 elements
    printf '<!-- output: echo x.cu:300: 100 elements -->\n```\nx.cu:%s: %s elements\n```\n' \
        "$@" >"$TMP/page.md"
    "$PYTHON" tools/examples.py check "$TMP/page.md"
}
check "an example may show a number that is 5 % off" shows 300 102
check_fails "but not another line of the source" "1 wrong" shows 301 100
check "commands in the documents exist" commands_exist
check "no page has a place left to fill in" \
    sh -c '! grep -nE "@[A-Z]+@|to fill this table" $(git ls-files "*.md" | grep -v ^labs/)'
check_says "make alone prints the commands" "make lab03" make
check_says "make doctor finds what make test needs" "ok       gcc" make doctor
check "make data" make data
check "compile_commands.json" make compile_commands.json
check "an editor sees no false errors in a .cu" "$PYTHON" tests/docs/editor.py

# A page that shows a program's --help shows what it says today.
help_is_shown() { # PAGE PROGRAM
    diff <("$B/$2" --help) <(sed -n "/^<!-- help: $2 -->/,/^<!-- help end -->/p" "$1" |
        sed '1,2d' | head -n -2)
}
check "recurrentgemma/README.md shows the program's --help" \
    help_is_shown recurrentgemma/README.md recurrentgemma
example() { # a folder without a tokenizer is refused, one with writes
    "$B/recurrentgemma-example" tests/recurrentgemma/tiny x && return 1
    "$B/tinylm" train --quiet --data CONTRIBUTING.md --out "$TMP/run" --arch griffin --steps 3 \
        --warmup 1 --layers 3 --channels 32 --heads 2 --context 16 --batch 2 --eval-every 0 &&
        [ "$("$B/recurrentgemma-example" "$TMP/run/best" "a new lab" | wc -m)" = 101 ]
}
check "the example of the library runs" example
check_fails "./grade of a lab that is not there" "lab99" ./grade lab99
check_fails "an unknown back end" "BACKEND=cpu or BACKEND=cuda" make BACKEND=metal help
tap_done
