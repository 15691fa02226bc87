#!/usr/bin/env bash
# Which back end `make` chooses: a fake nvidia-smi and a fake nvcc report the GPU and the
# toolkit.
. "$(dirname "$0")/../tap.sh"
unset BACKEND MAKEFLAGS MFLAGS MAKELEVEL NVCC ARCH ARCHS
fake=$TMP/fake
mkdir "$fake"

gpu() { # NAME CAPABILITY, or nothing: no GPU
    if [ $# = 2 ]; then printf '#!/bin/sh\necho "%s, %s"\n' "$1" "$2"
    else printf '#!/bin/sh\nexit 6\n'; fi >"$fake/nvidia-smi"
    chmod +x "$fake/nvidia-smi"
}
toolkit() { # RELEASE SM...
    release=$1; shift
    cat >"$fake/nvcc" <<EOF
#!/bin/sh
case \$1 in
--version) echo "Cuda compilation tools, release $release, V$release.1" ;;
--list-gpu-code) printf 'sm_%s\n' $* ;;
esac
EOF
    chmod +x "$fake/nvcc"
}
# PATH without this computer's own toolkit.
path=$fake:$(tr : '\n' <<<"$PATH" | while read -r d; do [ -x "$d/nvcc" ] || echo "$d"; done | paste -sd:)
# Prints what make chooses: the back end, and nvcc's targets.
printf 'show:\n\t@echo "chosen: $(strip $(BACKEND) $(ARCHS))"\n' >"$TMP/show.mk"
choose() { env PATH="$path" make -s -f Makefile -f "$TMP/show.mk" show "$@"; }
chooses() { # "what" "chosen" "words" MAKE-ARGUMENT...
    what=$1 chosen=$2 words=$3; shift 3
    choose "$@" >"$TMP/said" 2>&1
    check "$what" grep -qxF "chosen: $chosen" "$TMP/said"
    if [ -n "$words" ]; then check "$what: says why" grep -qF -- "$words" "$TMP/said"
    else check "$what: says nothing else" [ "$(wc -l <"$TMP/said")" = 1 ]; fi
}

toolkit 13.0 75 80 86 89 90 100 120
gpu "Tesla T4" 7.5
chooses "a Turing GPU" "cuda 75" ""
check_says "make doctor says what is slower on it" "f16 uses mma.m16n8k8, bf16 the f32 kernels" \
    env PATH="$path" make -s doctor
gpu "NVIDIA H200" 9.0
chooses "a Hopper GPU" "cuda 90" ""
chooses "BACKEND=cpu with a GPU" "cpu" "" BACKEND=cpu
gpu
chooses "no GPU" "cpu" ""
chooses "no GPU, BACKEND=cuda: the default targets" "cuda 75 80 90" "" BACKEND=cuda
rm "$fake/nvcc"
chooses "neither GPU nor toolkit" "cpu" ""
check_fails "BACKEND=cuda without a toolkit" 'BACKEND=cuda: no nvcc found; `make setup BACKEND=cuda` installs it without root' \
    choose BACKEND=cuda
gpu "NVIDIA H200" 9.0
chooses "a GPU, but no toolkit" "cpu" \
    'NVIDIA H200 found, but no nvcc: using the CPU back end; `make setup BACKEND=cuda` installs it without root'
toolkit 12.4 75 80 86 89 90
gpu "NVIDIA GeForce GTX 1080" 6.1
chooses "a Pascal GPU" "cpu" \
    "GPU NVIDIA GeForce GTX 1080 has compute capability 6.1; warpbook needs 7.5 or later: using the CPU back end"
check_fails "BACKEND=cuda on a Pascal GPU" "BACKEND=cuda: GPU NVIDIA GeForce GTX 1080 has compute" \
    choose BACKEND=cuda
chooses "targets that are given: the GPU is not asked" "cuda 80 86" "" BACKEND=cuda ARCHS="80 86"
gpu "NVIDIA B200" 10.0
chooses "a toolkit older than the GPU" "cpu" \
    "nvcc 12.4 does not know GPU NVIDIA B200 (compute capability 10.0): using the CPU back end; install CUDA 12.8 or later"
check_fails "BACKEND=cuda with a toolkit older than the GPU" "BACKEND=cuda: nvcc 12.4 does not know" \
    choose BACKEND=cuda
check_says "make doctor explains it" "nvcc 12.4 does not know GPU NVIDIA B200" \
    env PATH="$path" make -s doctor BACKEND=cuda
check "make help works all the same" env PATH="$path" make -s help BACKEND=cuda
toolkit 11.4 75 80 86
gpu
chooses "an old toolkit's default targets" "cuda 75 80" "" BACKEND=cuda
check_fails "no such back end" "BACKEND=rocm is not known: use BACKEND=cpu or BACKEND=cuda" \
    choose BACKEND=rocm
tap_done
