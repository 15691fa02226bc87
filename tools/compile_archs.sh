#!/usr/bin/env bash
# compile_archs.sh ARCH... - compiles the device code of every .cu, ptxas included, for
# each of these architectures (75 80 ...) and keeps nothing. Prints a TAP line per file; a
# file that fails is followed by the first error of each architecture. FILES="a.cu b.cu"
# names others. Optimization is low, because only errors matter.
#
# The sources differ only between 7.5, 8.x, 9.0 and later architectures (__CUDA_ARCH__, and
# for 9.0 __CUDA_ARCH_FEAT_SM90_ALL). So the compiler makes PTX four times, and ptxas
# assembles it for each architecture.
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
new=$(grep -rhoE '__CUDA_ARCH__ *[<>=]+ *[0-9]+' solutions common/cuda common/ops bench labs |
    grep -vE ' (800|900)$' | sort -u | paste -sd, -)
if [ -n "$new" ]; then
    echo "not ok - compile_archs.sh knows what the sources test (it must make PTX for: $new)"
    exit 1
fi
files=${FILES:-$(find solutions common/ops bench -name '*.cu' ! -name 'cpu_*' | sort)}
known=$("$NVCC" --list-gpu-code 2>/dev/null)
turing= ampere= hopper= newer=
for arch in "$@"; do
    if [ -n "$known" ] && ! grep -qx "sm_$arch" <<<"$known"; then
        echo "ok - sm_$arch # SKIP this nvcc does not know it"
    elif [ "$arch" -lt 80 ]; then turing+=",sm_$arch"
    elif [ "$arch" -lt 90 ]; then ampere+=",sm_$arch"
    elif [ "$arch" -eq 90 ]; then hopper+=",sm_90a"
    else newer+=",sm_$arch"; fi
done
groups=
[ -z "$turing" ] || groups+=" compute_75:${turing#,}"
[ -z "$ampere" ] || groups+=" compute_80:${ampere#,}"
[ -z "$hopper" ] || groups+=" compute_90a:${hopper#,}"
[ -z "$newer" ] || groups+=" compute_90:${newer#,}"

FLAGS="-std=c++17 --extended-lambda -Icommon -Icommon/ops $(printf ' -I%s' labs/lab*)"
if "$NVCC" --help | grep -q -e --Ofast-compile; then FLAGS+=" -Ofc max"
else FLAGS+=" -Xcicc -O1 -Xptxas -O1"; fi
export FLAGS

compile() { # FILE PTX:CODE,CODE: leaves FILE.PTX in $TMP if it fails
    local log
    log=$TMP/$(tr / _ <<<"$1").${2%:*}
    # shellcheck disable=SC2086
    if "$NVCC" $FLAGS -gencode "arch=${2%:*},code=[${2#*:}]" -fatbin -o "$log.fatbin" "$1" \
        >"$log" 2>&1; then rm "$log"; fi
    rm -f "$log.fatbin"
}
export -f compile
for file in $files; do
    for group in $groups; do echo "$file $group"; done
done | xargs -P "${JOBS:-2}" -L 1 bash -c 'compile "$@"' -

failed=0
for file in $files; do
    bad=
    for group in $groups; do
        log=$TMP/$(tr / _ <<<"$file").${group%:*}
        [ ! -e "$log" ] ||
            bad+="#   ${group#*:}: $(grep -m1 -iE 'error|fatal' "$log" || tail -1 "$log")"$'\n'
    done
    if [ -z "$bad" ]; then echo "ok - $file compiles for $*"
    else
        failed=1
        echo "not ok - $file compiles for $*"
        printf '%s' "$bad"
    fi
done
exit $failed
