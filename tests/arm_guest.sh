#!/usr/bin/env bash
# arm_guest.sh - the only process of the virtual machine that tests/arm.sh starts.
# shellcheck disable=SC2046,SC2086,SC2154 # lists of words; /arm/what sets two of them
export PATH=/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 BACKEND=cpu NO_COLOR=1
export PYTHONPATH=/arm/python # packages from arm.sh: there is no network
mount -t proc proc /proc
mount -t sysfs sys /sys
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
ln -s /proc/self/fd /dev/fd
for folder in /dev/shm /tmp /run; do mount -t tmpfs tmpfs $folder; done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
ip link set lo up
ldconfig
set -a
. /arm/what # suites, labs, TIMEOUT_SCALE
set +a

stage() { echo "test-arm: $SECONDS s: $*"; }
run_all() (
    set -e
    failed=
    git init -q /work/warpbook
    cd /work/warpbook
    git fetch -q --depth 1 file:///arm/commit HEAD
    git reset -q --hard FETCH_HEAD # leaves the times of equal files alone
    # If a run was stopped, the files that it wrote after its last sync may be damaged.
    [ ! -e /work/synced ] || find build -newer /work/synced -type f -delete
    # Programs are newer than sources, so make leaves them alone.
    mkdir -p build && tar -C build -xmf /arm/programs
    while sleep 30; do touch /work/next; sync; mv /work/next /work/synced; done &
    stage "$(uname -srm), $(nproc) CPUs"
    make setup PYTHON=/usr/bin/python3
    build/host/sandboxed --describe
    for lab in $labs; do
        stage "build $lab"
        make "$lab" FROM=solutions
        stage "grade $lab"
        ./grade "$lab" || failed=1
    done
    stage the suites
    tests/run.sh $suites || failed=1
    [ -z "$failed" ]
)
time run_all
echo "test-arm: exit $?"
sync
echo o >/proc/sysrq-trigger
sleep 60
