#!/usr/bin/env bash
# docs/one-click.md: the notebook, run cell by cell on the CPU back end; what the container
# has; CUDA from packages.
. "$(dirname "$0")/../tap.sh"
here=$PWD

# --- the notebook, in a copy of the tree that is built already ---------------------------------
T=$TMP/tree
mkdir "$T"
git ls-files -z --cached --others --exclude-standard -- . ':!tests' ':!bench/results' |
    xargs -0 cp -p --parents -t "$T"
reuse_builds "$T"
(cd "$B" && cp -a --parents tinylm kernels* solutions libwb.a objects/common objects/solutions \
    objects/tinylm "$T/$B/")
[ ! -d .venv ] || ln -s "$(realpath .venv)" "$T/.venv" # make setup has nothing to do
mkdir -p "$T/data" && { verses 400; echo "ROMEO:"; } >"$T/data/tinyshakespeare.txt"
notebook() { # with two words for "no GPU answers"
    cd "$T/notebooks" && env -u MAKEFLAGS -u MFLAGS -u B -u BACKEND LAB=lab00 STEPS=2 \
        WB_THREADS=2 "$PYTHON_HERE" "$here/tests/course/notebook.py" warpbook.ipynb
}
PYTHON_HERE=$(realpath "$PYTHON")
mkdir "$TMP/bin" && printf '#!/bin/sh\nexit 9\n' >"$TMP/bin/nvidia-smi" && chmod +x "$TMP/bin/nvidia-smi"
(PATH=$TMP/bin:$PATH notebook) >"$TMP/notebook" 2>&1
rc=$?
check "the notebook runs to its end" sh -c "[ $rc = 0 ] || { tail -20 '$TMP/notebook'; false; }"
ran() { check "the notebook: $1" grep -qE -- "$2" "$TMP/notebook"; }
ran "uses the CPU back end" "back end: cpu"
ran "grades a lab" "^Score: 0/100"
ran "shows a hint" "hello|printf"
ran "trains" "^step +2/2"
ran "generates" '^ROMEO:'

# --- the container ------------------------------------------------------------------------
packages() { sed -n '/apt-get install/,/rm -rf/p' Containerfile; }
for package in $(sed -n 's/.*need \([a-z+][a-z0-9+-]*\)$/\1/p' tools/setup.sh | sort -u); do
    case $package in # only the tests need these
    libcriterion-dev | valgrind | clang | g++-11 | libclang-rt-dev | gdb | procps | groff-base) continue ;;
    libegl1 | libgl1 | libgl1-mesa-dri) continue ;;
    esac
    check "the container has $package" sh -c "sed -n '/apt-get install/,/rm -rf/p' Containerfile | grep -qwF -- $package"
done
check "the description for Codespaces is JSON" json .devcontainer/devcontainer.json \
    "r['build']['dockerfile'] == '../Containerfile' and 'make setup' in r['postCreateCommand']"

# --- CUDA from packages: what the script asks pip for, with a program in its place ---------------
C=$TMP/cuda
mkdir -p "$C/tools" "$C/build/host"
cp tools/setup_cuda.sh "$C/tools/"
cat >"$C/build/host/python" <<'END'
#!/bin/sh
echo "$@" >asked
toolkit=.cuda/packages/nvidia/cu13
mkdir -p $toolkit/bin $toolkit/lib $toolkit/nvvm/bin
touch $toolkit/bin/nvcc $toolkit/nvvm/bin/cicc
for library in cublas cublasLt cudart; do touch $toolkit/lib/lib$library.so.13; done
END
chmod +x "$C/build/host/python"
driver() { # VERSION: what nvidia-smi says
    printf '#!/bin/sh\necho %s\n' "$1" >"$TMP/bin/nvidia-smi"
    (cd "$C" && PATH=$TMP/bin:$PATH tools/setup_cuda.sh)
}
complains 1 "a driver that is too old" "the packages of CUDA 13.0 need 580" driver 550.54.15
check_says "a driver that suits" "installing CUDA 13.0 into .cuda" driver 580.65.06
check "pip is asked for all parts" grep -q \
    'nvidia-cuda-nvcc==13.0.* nvidia-nvvm==.* nvidia-cuda-crt==.* nvidia-cuda-runtime==.* nvidia-cuda-cccl==.* nvidia-cublas==' "$C/asked"
check "the linker finds cuBLAS" [ -e "$C/.cuda/packages/nvidia/cu13/lib64/libcublas.so" ]
check "nvcc can be started" [ -x "$C/.cuda/packages/nvidia/cu13/bin/nvcc" ]
rm "$C/asked"
check "installed once" sh -c "cd '$C' && tools/setup_cuda.sh && [ ! -e asked ]"
nowhere() { env -u NVCC -u MAKEFLAGS -u MFLAGS PATH=/usr/bin:/bin make "$@" BACKEND=cuda; }
if [ -z "$(PATH=/usr/bin:/bin command -v nvcc)" ] && [ ! -e .cuda ]; then
    check_fails "without nvcc, make says what to do" "\`make setup BACKEND=cuda\` installs it" nowhere lab03
    check_says "and make setup does it" "tools/setup_cuda.sh" nowhere -n setup
fi
check "make -n setup leaves the stamps of set-up" sh -c \
    "env -u MAKEFLAGS -u MFLAGS make -n setup setup-test >'$TMP/n' && [ -e build/host/setup.base ]"
tap_done
