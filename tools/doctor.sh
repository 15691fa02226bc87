#!/bin/sh
# doctor.sh NVCC DATA - what was found, what is missing, and how to fix it.
# Exit 1 if something is missing that building and grading need.
cd "$(dirname "$0")/.." || exit 2
nvcc=$1 data=$2 bad=0
found() { printf '  ok       %-13s %s\n' "$1" "$2"; }
lacks() { printf '  missing  %-13s %s\n' "$1" "$2"; }
note() { printf '  note     %-13s %s\n' "$1" "$2"; }
must() { lacks "$1" "$2"; bad=1; }
first() { "$@" 2>/dev/null | head -1; }
have() { command -v "$1" >/dev/null; }
header() { printf '#include <%s>\n' "$1" | gcc -E - >/dev/null 2>&1; }
imports() { [ -x build/host/python ] && build/host/python -c "import $1" 2>/dev/null; }

echo "back end: $BACKEND (BACKEND=cpu or BACKEND=cuda overrides)"
if have gcc; then found gcc "$(first gcc --version)"; else must gcc "sudo apt-get install gcc"; fi
if have ld; then found binutils "$(first ld --version)"; else must binutils "sudo apt-get install binutils"; fi
if have g++; then found g++ "$(first g++ --version)"
elif have clang++; then found clang++ "$(first clang++ --version); use CXX=clang++"
else must g++ "sudo apt-get install g++"; fi
if header jansson.h; then found jansson "JSON library"; else must jansson "sudo apt-get install libjansson-dev"; fi
if imports 'numpy, safetensors, matplotlib'; then
    found python "$(build/host/python -c 'import sys, numpy; print(sys.version.split()[0], "with numpy", numpy.__version__, "at", sys.executable)')"
else must python "make setup"; fi
if imports scipy_openblas32; then found OpenBLAS "scipy-openblas32, for GEMMs on the CPU back end"
else lacks OpenBLAS "optional: make setup (the built-in GEMM is slower)"; fi
if header criterion/criterion.h; then found criterion "for make test"; else lacks criterion "for make test: make setup-test"; fi
if printf '#if !__has_include(<sentencepiece_processor.h>)\n#error\n#endif\n' |
    gcc ${SENTENCEPIECE:+-I"$SENTENCEPIECE/include"} -E - >/dev/null 2>&1; then
    found sentencepiece "for the tokenizer.model of published RecurrentGemma weights"
else lacks sentencepiece "optional, only recurrentgemma needs it: sudo apt-get install libsentencepiece-dev"; fi
if have mpirun && have mpicc; then found "Open MPI" "$(first mpirun --version), for RANKS=2 and more"
else lacks "Open MPI" "optional, only RANKS=2 and more need it: sudo apt-get install libopenmpi-dev openmpi-bin"; fi
if [ -n "$nvcc" ]; then found nvcc "$("$nvcc" --version | grep release | sed 's/.*release/release/')"
else lacks nvcc "optional: only BACKEND=cuda needs the CUDA toolkit"; fi

gpu=$(nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader 2>/dev/null) && gpu=$(echo "$gpu" | head -1) || gpu=
if [ -n "$nvcc" ]; then
    nccl=$(CUDA_HOME=$(dirname "$(dirname "$(realpath "$(command -v "$nvcc")")")") PYTHON=build/host/python tools/mpi.sh nccl)
    if [ "$nccl" != none ]; then found NCCL "$nccl, for RANKS=2 and more on GPUs"
    else lacks NCCL "optional, only several GPUs need it: build/host/python -m pip install nvidia-nccl-cu13"; fi
fi
if [ -n "$gpu" ]; then found GPU "$gpu (name, driver, compute capability)"
else lacks GPU "optional: no CUDA device answers; the CPU back end runs all labs"; fi
case $gpu in
*", 7.5") note Turing "f16 uses mma.m16n8k8, bf16 the f32 kernels; copies to shared memory are synchronous, 64 KB of it per block: slower than later GPUs" ;;
esac
answer=$(tools/backend.sh cuda "$nvcc" 2>/dev/null)
case $answer in
"error: "*) [ -z "$gpu" ] || note cuda "${answer#error: BACKEND=cuda: }" ;;
esac

[ -z "$data" ] || [ -s "$data" ] || lacks text "DATA=$data does not exist or is empty"
for text in "$data" data/tinyshakespeare.txt ../shared/data/tinyshakespeare.txt data/shakespeare.txt; do
    if [ -s "$text" ]; then found text "$text"; text=; break; fi
done
[ -z "$text" ] || lacks text "make data (or DATA=path)"
exit $bad
