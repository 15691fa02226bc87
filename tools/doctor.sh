#!/bin/sh
# doctor.sh NVCC DATA - what was found, what is missing, and the line that mends it.
# Exit 1 if something is missing without which nothing is built or graded.
cd "$(dirname "$0")/.." || exit 2
nvcc=$1 data=$2 bad=0
found() { printf '  ok       %-13s %s\n' "$1" "$2"; }
lacks() { printf '  missing  %-13s %s\n' "$1" "$2"; }
must() { lacks "$1" "$2"; bad=1; }
first() { "$@" 2>/dev/null | head -1; }

echo "back end: $BACKEND (BACKEND=cpu or BACKEND=cuda overrides)"
if command -v gcc >/dev/null; then found gcc "$(first gcc --version)"; else must gcc "sudo apt-get install gcc"; fi
if command -v ld >/dev/null; then found binutils "$(first ld --version)"; else must binutils "sudo apt-get install binutils"; fi
if command -v g++ >/dev/null; then found g++ "$(first g++ --version)"
elif command -v clang++ >/dev/null; then found clang++ "$(first clang++ --version); use CXX=clang++"
else must g++ "sudo apt-get install g++"; fi
if printf '#include <jansson.h>\n' | gcc -E - >/dev/null 2>&1; then found jansson "JSON library"
else must jansson "sudo apt-get install libjansson-dev"; fi
if [ -x build/host/python ] && build/host/python -c 'import numpy, safetensors, matplotlib' 2>/dev/null; then
    found python "$(build/host/python -c 'import sys, numpy; print(sys.version.split()[0], "with numpy", numpy.__version__, "at", sys.executable)')"
else must python "make setup"; fi
if [ -x build/host/python ] && build/host/python -c 'import scipy_openblas32' 2>/dev/null; then
    found OpenBLAS "scipy-openblas32, under the CPU back end's cuBLAS"
else lacks OpenBLAS "optional: make setup (without it the own, slower GEMM is used)"; fi
if printf '#include <criterion/criterion.h>\n' | gcc -E - >/dev/null 2>&1; then found criterion "for make test"
else lacks criterion "for make test: make setup-test"; fi
if printf '#if !__has_include(<sentencepiece_processor.h>)\n#error\n#endif\n' |
    gcc ${SENTENCEPIECE:+-I"$SENTENCEPIECE/include"} -E - >/dev/null 2>&1; then
    found sentencepiece "for the tokenizer.model of published RecurrentGemma weights"
else lacks sentencepiece "optional, only recurrentgemma needs it: sudo apt-get install libsentencepiece-dev"; fi
if [ -n "$nvcc" ]; then found nvcc "$("$nvcc" --version | grep release | sed 's/.*release/release/')"
else lacks nvcc "optional: only BACKEND=cuda needs the CUDA toolkit"; fi
card=$(first nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)
if [ -n "$card" ]; then found card "$card"; else lacks card "optional: no CUDA device answers; the CPU back end does all labs"; fi
if [ -n "$data" ] && [ ! -s "$data" ]; then lacks text "DATA=$data is not there or empty"; fi
for text in "$data" data/tinyshakespeare.txt ../shared/data/tinyshakespeare.txt data/shakespeare.txt; do
    if [ -s "$text" ]; then found text "$text"; text=; break; fi
done
[ -z "$text" ] || lacks text "make data (or DATA=path)"
exit $bad
