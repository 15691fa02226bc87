#!/usr/bin/env bash
# arm.sh [SUITE...] - what `make test-arm` runs: suites and two labs on 64-bit Arm, in a
# virtual machine with Debian's kernel. For Debian and Ubuntu; needs qemu-system-arm,
# g++-aarch64-linux-gnu and e2fsprogs, no root access. qemu-user is not enough: it has
# neither execveat nor seccomp nor Landlock, which the grader's sandbox uses.
#
# An emulated CPU is slow: the grader, the back end and the suites' programs are
# cross-compiled on this computer. Labs are compiled in the virtual machine.
#
#   LABS="lab00 lab03"   labs whose solutions are built and graded
#   CPU=neoverse-n1      qemu's name of the CPU; max has SVE
#   MEMORY=4G
#   TIMEOUT_SCALE=100    multiplies all time limits
#
# build/arm holds the packages, the programs and disk.img, so later runs are faster. The
# virtual machine has no network. It gets the sources of the last commit.
# `echo stop | socat - UNIX:build/arm/monitor` pauses it and its clocks; cont continues.
set -eu
cd "$(dirname "$0")/.."
arm=$PWD/build/arm release=bookworm mirror=${MIRROR:-http://deb.debian.org/debian}
suites=${*:-tests/cpu/suite.sh tests/cpu/suite_lib.sh tests/labs/suite_sandbox.sh}
PATH=$PATH:/usr/sbin:/sbin
fail() { echo "test-arm: $*" >&2; exit 1; }
need() { command -v "$1" >/dev/null || fail "$1 is missing: sudo apt-get install $2"; }
need apt-get "apt (this needs Debian or Ubuntu)"
need qemu-system-aarch64 qemu-system-arm
need mke2fs e2fsprogs
need aarch64-linux-gnu-g++ g++-aarch64-linux-gnu
PYTHON=${PYTHON:-build/host/python}

# What tools/setup.sh would install, and the smallest system around it.
packages=(gcc g++ binutils libc6-dev libjansson-dev make git python3 gdb
    procps mawk iproute2 mount login linux-image-cloud-arm64)

download() { # with an apt of its own, which knows nothing of this machine's packages
    mkdir -p "$arm"/apt/{state/lists/partial,cache/archives/partial,etc}
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" \
        >"$arm/apt/etc/sources.list"
    local apt=(apt-get -qq -o Dir::State="$arm/apt/state" -o Dir::Cache="$arm/apt/cache"
        -o Dir::State::status=/dev/null -o Dir::Etc::sourcelist="$arm/apt/etc/sources.list"
        -o Dir::Etc::sourceparts=- -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o Debug::NoLocking=1 -o APT::Sandbox::User=)
    "${apt[@]}" update
    "${apt[@]}" install -y --no-install-recommends --download-only '?essential' "${packages[@]}"
}

# Packages are unpacked, not configured: their scripts would run for a quarter of an hour.
# What the scripts would do that matters here follows.
make_root() { # ROOT
    local top deb name
    for top in bin sbin lib; do mkdir -p "$1/usr/$top"; ln -s usr/$top "$1/$top"; done
    for deb in "$arm"/apt/cache/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$deb" | tar -xf - -C "$1" --keep-directory-symlink
    done
    mkdir -p "$1"/{arm,work,proc,sys,dev,tmp,run,root}
    cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
    cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
    ln -sf dash "$1/usr/bin/sh"
    for name in awk=mawk cc=gcc c++=g++ which=which.debianutils; do
        ln -sf "${name#*=}" "$1/usr/bin/${name%=*}"
    done
}
install_wheels() { # FOLDER VERSION
    "$PYTHON" -m pip install -q --disable-pip-version-check --only-binary=:all: \
        --platform manylinux_2_28_aarch64 --platform manylinux2014_aarch64 \
        --python-version "$2" --target "$1" -r requirements.txt
}

if [ ! -e "$arm/disk.img" ]; then
    echo "test-arm: downloads Debian's packages for arm64 (0.5 GB) and makes build/arm/disk.img"
    [ ! -e "$arm/root" ] || fail "build/arm/root is left from a run that stopped: remove build/arm"
    mkdir -p "$arm/root"
    download || fail "the packages cannot be downloaded (is debian-archive-keyring installed?)"
    make_root "$arm/root"
    version=$(basename "$(readlink "$arm/root/usr/bin/python3")")
    install_wheels "$arm/root/arm/python" "${version#python}"
    cp "$arm"/root/boot/vmlinuz-* "$arm/vmlinuz"
    mkdir -p "$arm/lib"
    find "$arm/root/usr/lib" -name libjansson.a -exec cp {} "$arm/lib" \;
    (cd "$arm/root" && find arm/python -name 'libscipy_openblas*.so' -printf '/%p') >"$arm/openblas"
    mke2fs -q -t ext4 -E root_owner=0:0 -d "$arm/root" "$arm/disk.new" 12G >/dev/null
    mv "$arm/disk.new" "$arm/disk.img"
    rm -rf --one-file-system "$arm/root" "$arm/apt"
fi

# --- programs for Arm; the translator is needed on both computers -------------------------
cross() {
    make -s -j"$(nproc)" BACKEND=cpu CPU_TARGET=armv8-a AR=aarch64-linux-gnu-ar \
        CC="aarch64-linux-gnu-gcc -L$arm/lib" CXX="aarch64-linux-gnu-g++ -L$arm/lib" \
        OPENBLAS="$(cat "$arm/openblas")" SANDBOXED=build/arm/host/sandboxed "$@"
}
make -s build/host/translate
cross TRANSLATE=build/arm/host/translate build/arm/host/translate
cross CHECK=1 BUILD=build/arm/check grader
# shellcheck disable=SC2046 # a list of programs
cross CHECK=off BUILD=build/arm/cpu grader $(make -s BUILD=build/arm/cpu BACKEND=cpu list-arm)

# --- the second disk: a tar with this commit, the programs and what to do ------------------------------
send=$(mktemp -d)
trap 'rm -rf "$send"' EXIT
mkdir "$send/arm"
git clone -q --bare --depth 1 "file://$PWD" "$send/arm/commit"
cp tests/arm_guest.sh "$send/arm/guest.sh"
tar -C "$arm" -cf "$send/arm/programs" host check cpu
printf 'suites="%s" labs="%s" TIMEOUT_SCALE=%s\n' "$suites" "${LABS-lab00 lab03}" \
    "${TIMEOUT_SCALE:-100}" >"$send/arm/what"
tar -C "$send" --owner=0 --group=0 -cf "$send/disk" arm
truncate -s %1M "$send/disk"

drive() { echo "-drive file=$1,if=none,id=$2,format=raw,cache=unsafe -device nvme,drive=$2,serial=$2"; }
# The first start takes the script from the second disk, too.
start='mount -t devtmpfs dev /dev; tar xf /dev/nvme1n1 -C /; exec bash /arm/guest.sh'
# shellcheck disable=SC2046
qemu-system-aarch64 -M virt -cpu "${CPU:-neoverse-n1}" -accel tcg,thread=multi \
    -smp "$(nproc)" -m "${MEMORY:-4G}" -nic none -nographic -no-reboot \
    -rtc clock=vm -monitor unix:build/arm/monitor,server=on,wait=off \
    -kernel "$arm/vmlinuz" $(drive "$arm/disk.img" a) $(drive "$send/disk" b) \
    -append "root=/dev/nvme0n1 rw console=ttyAMA0 quiet panic=-1 init=/bin/sh -- -c \"$start\"" \
    </dev/null | stdbuf -oL tr -d '\r' | tee "$arm/log"
[ "$(tail -n 200 "$arm/log" | grep -c '^test-arm: exit 0$')" = 1 ] || fail "see build/arm/log"
