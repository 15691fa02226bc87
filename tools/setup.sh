#!/bin/sh
# setup.sh base|test [PYTHON] - installs what is missing; says nothing when nothing is.
#   base  what building, grading and training need       test  what `make test` needs besides
# Debian packages are installed when root or passwordless sudo is there; otherwise the one
# line to run is printed. Python packages go into .venv, unless PYTHON imports them already.
set -eu
cd "$(dirname "$0")/.."
mkdir -p build/host
level=${1:-base}
given=${2:-$(cat build/host/python.given 2>/dev/null || true)} # the last one holds on

header() { printf '#include <%s>\n' "$1" | gcc -E - >/dev/null 2>&1; }
sentencepiece() { # a C++ header: found, not read
    printf '#if !__has_include(<sentencepiece_processor.h>)\n#error\n#endif\n' |
        gcc ${SENTENCEPIECE:+-I"$SENTENCEPIECE/include"} -E - >/dev/null 2>&1
}
have() { command -v "$1" >/dev/null 2>&1; }

missing=
need() { missing="$missing $1"; } # need PACKAGE
have gcc || need gcc
have g++ || have clang++ || need g++
have ld || need binutils
if have gcc; then
    header stdio.h || need libc6-dev
    header jansson.h || need libjansson-dev
else
    need libc6-dev
    need libjansson-dev
fi
if [ -z "$given" ]; then
    have python3 || need python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || need python3-venv
fi
if [ "$level" = test ]; then
    { have gcc && header criterion/criterion.h; } || need libcriterion-dev
    have gdb || need gdb
    have valgrind || need valgrind
    have clang++ || need clang
    # the oldest compiler that is promised to work, where the distribution still has it
    have g++-11 || ! apt-cache show g++-11 >/dev/null 2>&1 || need g++-11
    ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 || need libclang-rt-dev
    sentencepiece || need libsentencepiece-dev
fi

may_install() { # sets the word to put before apt-get
    sudo=
    have apt-get || return 1
    [ "$(id -u)" = 0 ] && return 0
    sudo=sudo
    have sudo && sudo -n true 2>/dev/null
}
install() { # install PACKAGE...
    echo "setup: installing $*"
    line="apt-get install -y --no-install-recommends $*"
    { $sudo apt-get -qq update && DEBIAN_FRONTEND=noninteractive $sudo $line; } >build/setup.log 2>&1
}

if [ -n "$missing" ]; then
    if ! have apt-get; then
        echo "setup: missing:$missing (names of Debian packages): install them with your system's package manager" >&2
        exit 1
    elif ! may_install; then
        echo "setup: missing:$missing. Run this, then make again:" >&2
        echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    install $missing || {
        tail -3 build/setup.log >&2
        echo "setup: installing failed (build/setup.log has all of it); try: sudo $line" >&2
        exit 1
    }
fi
# Only recurrentgemma reads SentencePiece models: the rest is built without the library.
if ! sentencepiece && may_install; then
    install libsentencepiece-dev || echo "setup: it is not to be had now; recurrentgemma is built without it"
fi

# Python: PYTHON if it imports everything, else an environment of the project's own.
base='import numpy, safetensors, matplotlib'
imports=$base
requirements='-r requirements.txt'
if [ "$level" = test ]; then
    imports="$base, sentencepiece"
    requirements="$requirements -r tests/requirements.txt"
fi
python=.venv/bin/python
if [ -n "$given" ]; then
    if "$given" -c "$imports" 2>/dev/null; then
        python=$given
    else
        echo "setup: PYTHON=$given cannot do '$imports'; taking .venv instead"
        have python3 || { echo "setup: no python3 to make .venv from: sudo apt-get install python3-venv" >&2; exit 1; }
    fi
fi
if [ "$python" = .venv/bin/python ] && ! .venv/bin/python -c "$imports" 2>/dev/null; then
    if .venv/bin/python -c "$base" 2>/dev/null; then
        echo "setup: the tests' packages into .venv (sentencepiece)"
    else
        echo "setup: making .venv (numpy, safetensors, matplotlib, OpenBLAS)"
        rm -rf .venv
    fi
    { { [ -d .venv ] || python3 -m venv .venv; } && .venv/bin/python -m pip install -q \
        --disable-pip-version-check $requirements; } >>build/setup.log 2>&1 || {
        tail -3 build/setup.log >&2
        echo "setup: the Python environment could not be made (build/setup.log has all of it)." >&2
        echo "       With these packages elsewhere: make PYTHON=/path/to/python" >&2
        exit 1
    }
fi
case $python in /*) ;; *) python=$PWD/$python ;; esac
echo "${2:-$given}" >build/host/python.given
printf '#!/bin/sh\nexec "%s" "$@"\n' "$python" >build/host/python.new
chmod +x build/host/python.new
mv build/host/python.new build/host/python
