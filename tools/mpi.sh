#!/usr/bin/env bash
# mpi.sh - Open MPI and NCCL, for training with several ranks; both are optional.
#   find BASE          writes BASE.flags and BASE.libs, for the compiler and the linker, if
#                      what is installed has changed; empty: one rank
#   nccl               the folder of NCCL, or none
#   run N COMMAND...   starts N ranks. A rank that is killed ends all of them, with one line
#                      that names it; Ctrl-C and SIGTERM let them save and stop
# MPICC: Open MPI's compiler. NCCL: a folder with include/ and lib/. BACKEND, CUDA_HOME and
# PYTHON are make's.
set -euo pipefail

# The folder of NCCL: given, in the toolkit, the system's, or from a Python package.
nccl() {
    for folder in ${NCCL:-} "${CUDA_HOME:-/usr/local/cuda}" /usr; do
        [ ! -e "$folder/include/nccl.h" ] || { echo "$folder"; return; }
    done
    for python in "${PYTHON:-python3}" python3; do
        "$python" -c 'import nvidia.nccl as n; print(list(n.__path__)[0])' 2>/dev/null && return
    done
    echo none
}

find_engines() { # BASE
    flags='' libs=''
    mpicc=${MPICC:-mpicc}
    if folders=$("$mpicc" --showme:libdirs 2>/dev/null); then
        flags="-DWITH_MPI $("$mpicc" --showme:compile)"
        # Its library finds those that it needs itself.
        libs="$("$mpicc" --showme:link) -Wl,--allow-shlib-undefined$(printf ' -Wl,-rpath,%s' $folders)"
    fi
    if [ "$BACKEND" = cuda ] && [ -n "$flags" ]; then
        home=$(nccl)
        lib=$(ls "$home"/lib{,64,/*-linux-gnu}/libnccl.so* 2>/dev/null | head -1 || true)
        flags="$flags -DWITH_NCCL -I$home/include"
        libs="$libs $lib -Wl,-rpath,$(dirname "$lib")"
        [ -n "$lib" ] || flags='' libs=''
    fi
    [ ! -e "$1.flags" ] || [ "$(cat "$1.flags" "$1.libs")" != "$flags"$'\n'"$libs" ] || return 0
    mkdir -p "$(dirname "$1")"
    echo "$flags" >"$1.flags"
    echo "$libs" >"$1.libs"
}

# mpirun's reports are paragraphs between two lines of dashes. One line says which rank was
# killed; a rank that ends with an error has said why. The others may have been about to
# read that rank's memory: what the library says about it, [host:123] Read -1, comes last,
# unless the line about the rank explains it.
shorten() {
    trap '' INT TERM # it ends when mpirun does
    local line inside='' text='' of_library='' named=''
    local killed='process rank ([0-9]+) .* on +signal ([0-9]+)'
    while IFS= read -r line; do
        if [[ $line =~ ^-{60,}$ ]]; then
            inside=$([ "$inside" ] || echo 1)
            if [[ $text =~ $killed ]]; then
                echo "rank ${BASH_REMATCH[1]} was ended by signal ${BASH_REMATCH[2]}, so all ranks were" \
                    "stopped: continue with --resume (make tinylm-train ARGS=--resume)"
                named=1
            elif [[ -n $text && $text != *non-zero* ]]; then echo "mpirun:$text"
            fi
            text=''
        elif [ -n "$inside" ]; then text+=" $line"
        elif [[ $line =~ ^\[[^]]*:[0-9]+\]\ Read\  ]]; then of_library+="$line"$'\n'
        elif [[ $line != 'mpirun: Forwarding signal'* ]]; then printf '%s\n' "$line"
        fi
    done
    [ -n "$named" ] || printf '%s' "$of_library"
}

run() { # N COMMAND...
    local n=$1 root='' stopped=''
    shift
    if ! command -v mpirun >/dev/null; then
        echo "RANKS=$n needs Open MPI: sudo apt-get install -y --no-install-recommends" \
            "libopenmpi-dev openmpi-bin, then run make again" >&2
        exit 1
    fi
    [ "$(id -u)" != 0 ] || root=--allow-run-as-root
    local messages filter mpirun status=0
    exec {messages}> >(shorten >&2)
    filter=$!
    set -m # mpirun gets a process group of its own: Ctrl-C would make it kill the ranks
    mpirun $root --oversubscribe --bind-to none -np "$n" "$@" </dev/null 2>&$messages &
    mpirun=$!
    trap 'stopped=1; kill -USR1 $mpirun' INT TERM
    wait $mpirun || status=$?
    while kill -0 $mpirun 2>/dev/null; do status=0; wait $mpirun || status=$?; done
    exec {messages}>&-
    wait $filter || true
    [ -z "$stopped" ] || status=130
    exit $status
}

command=$1
shift
case $command in
nccl) nccl ;;
find) find_engines "$@" ;;
run) run "$@" ;;
esac
