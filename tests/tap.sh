# tap.sh - sourced by the suites. Each check prints one TAP line; tap_done ends the suite.
#   check "what" COMMAND...               ok if the command succeeds
#   check_fails "what" "words" COMMAND... ok if it fails and its output contains the words
#   check_says "what" "words" COMMAND...  ok if it succeeds and its output contains the words
#   complains CODE "what" "words" COMMAND...  ok if it exits with the code and prints one
#                                         line, which contains the words
#   skip "what" "reason"
# $TMP is a folder of the suite's own, removed at the end. $BACKEND, $B and $PYTHON come
# from make; a suite started by hand uses the CPU back end. OPT="$QUICK" compiles fastest
# what runs only once; nvcc has no -Og.
set -u
cd "$(git rev-parse --show-toplevel 2>/dev/null || echo "$(dirname "$0")/../..")" || exit 2
BACKEND=${BACKEND:-cpu}
B=${B:-build/$BACKEND}
PYTHON=${PYTHON:-build/host/python}
export BACKEND B PYTHON
QUICK=$([ "$BACKEND" = cpu ] && echo -Og || echo -O1)
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
tap_failed=0

tap_show() { sed 's/^/# /' "$TMP/.out" | tail -${TAP_LINES:-25}; }
tap_not_ok() { # WHY
    echo "not ok - $tap_what ($1)"
    tap_show
    tap_failed=1
}

check() {
    tap_what=$1; shift
    if "$@" >"$TMP/.out" 2>&1; then echo "ok - $tap_what"
    else tap_not_ok "exit $?: $*"; fi
}

check_fails() {
    tap_what=$1 tap_words=$2; shift 2
    if "$@" >"$TMP/.out" 2>&1; then tap_not_ok "did not fail: $*"
    elif grep -qF -- "$tap_words" "$TMP/.out"; then echo "ok - $tap_what"
    else tap_not_ok "does not say '$tap_words': $*"; fi
}

check_says() {
    tap_what=$1 tap_words=$2; shift 2
    "$@" >"$TMP/.out" 2>&1 || { tap_not_ok "exit $?: $*"; return; }
    if grep -qF -- "$tap_words" "$TMP/.out"; then echo "ok - $tap_what"
    else tap_not_ok "does not say '$tap_words': $*"; fi
}

complains() {
    local code=$1
    tap_what=$2 tap_words=$3; shift 3
    if ! exits "$code" "$@" >"$TMP/.out" 2>&1; then tap_not_ok "exit $rc, not $code: $*"
    elif [ "$(wc -l <"$TMP/.out")" != 1 ]; then tap_not_ok "not one line: $*"
    elif grep -qF -- "$tap_words" "$TMP/.out"; then echo "ok - $tap_what"
    else tap_not_ok "does not say '$tap_words': $*"; fi
}

verses() { # N: a text of N pairs of lines
    local i
    for i in $(seq "$1"); do
        printf 'The miller counts %d sacks of meal,\nand %d birds sit on his wheel.\n' $((i % 7)) $((i * i % 11))
    done
}

skip() { echo "ok - $1 # SKIP $2"; }

# How many ranks or shares the back end can run: GPUs, or on the CPU as many as asked for.
devices() { [ "$BACKEND" = cpu ] && echo 99 || nvidia-smi -L | wc -l; }

# reuse_build FOLDER [NAME [PART]]: starts the suite's own build folder as a copy of what is
# built. NAME is what make calls the folder. Dependency files contain it, and with it make
# rebuilds what is out of date. PART is copied too.
reuse_build() {
    mkdir -p "$1"
    (cd "$B" && for part in libwbcpu.a objects/common objects/grader grader ${3-}; do
        [ ! -e $part ] || cp -a --parents $part "$1/"
    done)
    find "$1/objects" -name '*.d' -exec sed -i "s,^$B/,${2:-$1}/," {} +
}

# reuse_builds TREE: the same for a copy of the workbook, check mode included.
reuse_builds() {
    mkdir -p "$1/build" && cp -a build/host "$1/build/"
    for build in "$B" build/check; do (B=$build; reuse_build "$1/$build" "$build"); done
}

# Inside a check: the exit code (what was printed stays in .last), the words (in .said), and
# a condition on r, the content of a JSON file.
exits() { # CODE COMMAND...
    tap_code=$1; shift
    "$@" >"$TMP/.last" 2>&1; rc=$?
    cat "$TMP/.last"
    [ $rc = "$tap_code" ] || { echo "exit $rc, not $tap_code"; return 1; }
}
says() { # WORDS COMMAND...
    tap_says=$1; shift
    "$@" 2>&1 | tee "$TMP/.said" | grep -qF -- "$tap_says" || { cat "$TMP/.said"; return 1; }
}
json() { "$PYTHON" -c "import json,sys; r=json.load(open('$1')); sys.exit(not ($2))"; }

# scaled N: N times TIMEOUT_SCALE, for time limits
scaled() { awk "BEGIN {print $1 * ${TIMEOUT_SCALE:-1}}"; }

tap_done() { exit $tap_failed; }
