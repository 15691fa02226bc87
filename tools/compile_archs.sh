#!/usr/bin/env bash
# compile_archs.sh ARCH... - compiles the device code of every .cu, ptxas included, for
# each of these architectures (75 80 ...) and keeps nothing. Prints a TAP line per file; a
# file that fails is followed by the first error of each architecture. FILES="a.cu b.cu"
# names others. Optimisation is low, because only errors matter: even so it takes
# minutes on two cores.
set -u
cd "$(dirname "$0")/.."
export NVCC=${NVCC:-nvcc}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
export TMP
if ! command -v "$NVCC" >/dev/null; then
    echo "ok - every architecture since Turing # SKIP no nvcc on this computer"
    exit 0
fi
files=${FILES:-$(find solutions common/ops bench -name '*.cu' ! -name 'cpu_*' | sort)}
known=$("$NVCC" --list-gpu-code 2>/dev/null)
archs=
for arch in "$@"; do
    if [ -z "$known" ] || grep -qx "sm_$arch" <<<"$known"; then archs+=" $arch"
    else echo "ok - sm_$arch # SKIP this nvcc does not know it"; fi
done

FLAGS="-std=c++17 --extended-lambda -Icommon -Icommon/ops $(printf ' -I%s' labs/lab*)"
if "$NVCC" --help | grep -q -e --Ofast-compile; then FLAGS+=" -Ofc max"
else FLAGS+=" -Xcicc -O1 -Xptxas -O1"; fi
export FLAGS

compile() { # FILE ARCH: leaves FILE.ARCH in $TMP if it fails
    local log
    log=$TMP/$(tr / _ <<<"$1").$2
    # shellcheck disable=SC2086
    if "$NVCC" $FLAGS -arch="sm_$2" -cubin -o "$log.cubin" "$1" >"$log" 2>&1; then rm "$log"; fi
    rm -f "$log.cubin"
}
export -f compile
for file in $files; do
    for arch in $archs; do echo "$file $arch"; done
done | xargs -P "${JOBS:-2}" -L 1 bash -c 'compile "$@"' -

failed=0
for file in $files; do
    bad=
    for arch in $archs; do
        log=$TMP/$(tr / _ <<<"$file").$arch
        [ ! -e "$log" ] || bad+="#   sm_$arch: $(grep -m1 -iE 'error|fatal' "$log" || tail -1 "$log")"$'\n'
    done
    if [ -z "$bad" ]; then echo "ok - $file compiles for${archs}"
    else
        failed=1
        echo "not ok - $file compiles for${archs}"
        printf '%s' "$bad"
    fi
done
exit $failed
