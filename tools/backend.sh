#!/bin/sh
# backend.sh BACKEND NVCC - which back end this computer builds for. Prints one line:
#   cuda 90         the GPU's compute capability
#   cuda            no GPU answers; nvcc compiles for the default targets
#   cpu
#   error: MESSAGE  BACKEND=cuda was asked for and is impossible
# BACKEND is empty, or cuda. When it is empty and a GPU cannot be used, a line on stderr
# says why.
backend=$1 nvcc=$2

refuse() { # MESSAGE [ADVICE]
    if [ "$backend" = cuda ]; then
        echo "error: BACKEND=cuda: $1${2:+; $2}"
    else
        echo "$1: using the CPU back end${2:+; $2}" >&2
        echo cpu
    fi
    exit 0
}

# the first toolkit that compiles for a compute capability
first_toolkit() {
    case $1 in
    7.*) echo 10.0 ;; 8.0) echo 11.0 ;; 8.6) echo 11.1 ;; 8.7) echo 11.4 ;; 8.9 | 9.0) echo 11.8 ;;
    10.0 | 12.0) echo 12.8 ;; 10.3 | 12.1) echo 12.9 ;; 8.8 | 11.0) echo 13.0 ;;
    esac
}

gpu=$(nvidia-smi --query-gpu=name,compute_cap --format=csv,noheader 2>/dev/null | head -1)
name=${gpu%,*} capability=${gpu##*, }
case $capability in
[0-9]*.[0-9]) ;;
*) capability= ;; # no GPU, or a driver that does not tell
esac

advice="\`make setup BACKEND=cuda\` installs it without root; or give NVCC=path"
if [ -z "$nvcc" ] || ! command -v "$nvcc" >/dev/null; then
    [ "$backend" = cuda ] && refuse "no nvcc found" "$advice"
    [ -z "$capability" ] || refuse "$name found, but no nvcc" "$advice"
    echo cpu
    exit
fi
if [ -z "$capability" ]; then
    [ "$backend" = cuda ] || nvidia-smi -L >/dev/null 2>&1 && echo cuda || echo cpu
    exit
fi
sm=$(echo "$capability" | tr -d .)
[ "$sm" -ge 75 ] ||
    refuse "GPU $name has compute capability $capability; warpbook needs 7.5 or later"
known=$("$nvcc" --list-gpu-code 2>/dev/null)
if [ -n "$known" ] && ! echo "$known" | grep -qx "sm_$sm"; then
    release=$("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    toolkit=$(first_toolkit "$capability")
    refuse "nvcc $release does not know GPU $name (compute capability $capability)" \
        "install CUDA ${toolkit:-"a newer toolkit"}${toolkit:+ or later}"
fi
echo "cuda $sm"
