#!/bin/sh
# setup.sh base|test|book [PYTHON] - installs what is missing; prints nothing if nothing is.
#   base  what building, grading and training need       test  what `make test` also needs
#   book  what `make book` also needs
# Debian packages are installed as root or with passwordless sudo; otherwise the command
# to run is printed. Python packages go into .venv, unless PYTHON has them.
set -eu
cd "$(dirname "$0")/.."
tools/check_path.sh >&2 || exit 1
mkdir -p build/host
level=${1:-base}
given=${2:-$(cat build/host/python.given 2>/dev/null || true)} # default: as last time

header() { printf '#include <%s>\n' "$1" | gcc -E - >/dev/null 2>&1; }
sentencepiece() { # a C++ header: looked for, not compiled
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
    have mpicc || need libopenmpi-dev
    have mpirun || need openmpi-bin
    have valgrind || need valgrind
    have pgrep || need procps
    have groff || need groff-base
    have clang++ || need clang
    # the oldest supported compiler, if the distribution still has it
    have g++-11 || ! apt-cache show g++-11 >/dev/null 2>&1 || need g++-11
    ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a >/dev/null 2>&1 || need libclang-rt-dev
    sentencepiece || need libsentencepiece-dev
    # OpenGL without a screen
    ls /usr/lib/*/dri/swrast_dri.so >/dev/null 2>&1 || need libgl1-mesa-dri
    ls /usr/lib/*/libEGL_mesa.so.0 >/dev/null 2>&1 || need libegl1
    ls /usr/lib/*/libGL.so.1 >/dev/null 2>&1 || need libgl1
fi

may_install() { # sets $sudo
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
        echo "setup: missing:$missing (Debian package names): install them with your package manager" >&2
        exit 1
    elif ! may_install; then
        echo "setup: missing:$missing. Run this, then run make again:" >&2
        echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
        exit 1
    fi
    install $missing || {
        tail -3 build/setup.log >&2
        echo "setup: installing failed (see build/setup.log); try: sudo $line" >&2
        exit 1
    }
fi
# Only recurrentgemma reads SentencePiece models: everything else builds without it.
if ! sentencepiece && may_install; then
    install libsentencepiece-dev || echo "setup: not available now; recurrentgemma is built without it"
fi

# The tests of check mode look at a page in a browser: 98 MB to download.
browser() { have chromium-headless-shell || have chromium || have chromium-browser || have google-chrome; }
if [ "$level" = test ] && ! browser && may_install; then
    install chromium-headless-shell || echo "setup: not available now; one test of tests/check fails"
fi

# Python: PYTHON if it can import everything, otherwise .venv.
base='import numpy, safetensors, matplotlib'
imports=$base
requirements='-r requirements.txt'
if [ "$level" = test ]; then
    imports="$base, mypy, sentencepiece, transformers"
    requirements="$requirements -r tests/requirements.txt"
fi
if [ "$level" != base ]; then
    imports="$imports, zensical, mathjax"
    requirements="$requirements -r docs/book/requirements.txt"
fi
python=.venv/bin/python
if [ -n "$given" ]; then
    if "$given" -c "$imports" 2>/dev/null; then
        python=$given
    else
        echo "setup: PYTHON=$given cannot run '$imports'; using .venv instead"
        have python3 || { echo "setup: no python3 to create .venv with: sudo apt-get install python3-venv" >&2; exit 1; }
    fi
fi
if [ "$python" = .venv/bin/python ] && ! .venv/bin/python -c "$imports" 2>/dev/null; then
    compile=
    if .venv/bin/python -c "$base" 2>/dev/null; then
        echo "setup: adding packages to .venv, for setup-$level (${imports#"$base, "})"
        compile=--no-compile # the tests import only a few of the thousands of modules
    else
        echo "setup: creating .venv (numpy, safetensors, matplotlib, OpenBLAS)"
        rm -rf .venv
    fi
    { { [ -d .venv ] || python3 -m venv .venv; } && .venv/bin/python -m pip install -q \
        --disable-pip-version-check $compile $requirements; } >>build/setup.log 2>&1 || {
        tail -3 build/setup.log >&2
        echo "setup: the Python environment could not be created (see build/setup.log)." >&2
        echo "       If another Python has these packages: make PYTHON=/path/to/python" >&2
        exit 1
    }
fi
case $python in /*) ;; *) python=$PWD/$python ;; esac
echo "${2:-$given}" >build/host/python.given
# Its compiled modules are kept, whatever the environment says: grading a course starts it
# hundreds of times.
printf '#!/bin/sh\nunset PYTHONDONTWRITEBYTECODE\nexec "%s" "$@"\n' "$python" >build/host/python.new
chmod +x build/host/python.new
mv build/host/python.new build/host/python
