#!/usr/bin/env bash
# The sandbox of a lab's program and of a compiler: what they need works, and
# tests/labs/intruder.c tries every known way out. Harmless attacks also run without the
# sandbox and must succeed: a check that cannot fail proves nothing. Started by root, the
# suite runs a second time as an ordinary account, on copies of its programs.
. "$(dirname "$0")/../tap.sh"
sandboxed=$PWD/build/host/sandboxed
intruder=$(realpath "$B/tests/labs/intruder")
old_kernel=$(realpath "$B/tests/labs/old_kernel")
who=${ORDINARY:+(ordinary account) }

kernel=$("$sandboxed" --describe)
[ -n "$who" ] || echo "# sandbox: $kernel"
if [ "$kernel" != "Landlock and seccomp" ]; then
    skip "the sandbox holds" "sandbox: $kernel"
    tap_done
fi

chmod 711 "$TMP" # for the ordinary account
secret=$TMP/expected
echo 42 >"$secret"
shared=/dev/shm/warpbook-test-$$ other=/tmp/warpbook-test-$$
trap 'rm -rf "$TMP" "$shared" "$other" /tmp/renamed' EXIT
# PARENT in an attack is the process id of the program's parent: of sandboxed.
run() { (export EXPECTED=yes && exec "${@/#PARENT/$BASHPID}"); }
inside() { run "$sandboxed" "$intruder" "$@"; }
with_gpu() { run "$sandboxed" --gpu "$intruder" "$@"; }
compiling() { run "$sandboxed" --compiler "$intruder" "$@"; }
outside() { (exec "$intruder" "${@/#PARENT/$$}"); }
exits() { # CODE COMMAND...
    local code=$1 got; shift
    "$@"; got=$?
    [ $got = "$code" ] || { echo "exit code $got, expected $code"; return 1; }
}

over_limit() { # COMMAND...: stopped by sandboxed, or earlier by a cgroup
    "$@" 2>"$TMP/said"
    [ $? = 137 ] || grep "stopped: more than" "$TMP/said"
}

check_says "${who}threads, memory and the CPU count are available" works inside works
check_says "${who}the same with a GPU" works with_gpu works
check "${who}abort ends only the program" exits 134 inside abort

# --- every attack -----------------------------------------------------------------------
# Without the sandbox these succeed, so "held" below means that the sandbox works.
for attack in "read $secret" "list ." "before-main" "write $secret" "create $shared" \
    "create $other" "fifo $TMP/f" "link $TMP/l" "list-xattr $secret" \
    "chmod $secret" "touch $secret" fork vfork system clone3 "kill PARENT" "kill-all" \
    "tgkill PARENT" \
    "environment-of PARENT" "maps-of PARENT" "own-memory" "signal-by-owner PARENT" \
    "pidfd PARENT" "schedule PARENT" "batch" "affinity PARENT" "attributes PARENT" \
    "own-priority" "io-priority PARENT" "set-limit" "outlive" "subreaper" "traceable" \
    socket internet connect pipe eventfd inotify epoll timerfd memfd shared-memory \
    shared-zeros growing-stack lock-memory shm msg sem mq 400-threads; do
    check_fails "${who}without the sandbox: $attack" "GOT THROUGH" outside $attack
done
rm -f "$shared" "$other"

files=("read $secret" "read tests/tap.sh" "read /etc/passwd" "list ." "list /" \
    "list $TMP" "write $secret" "write /dev/stdout" "write /dev/ptmx" "create $shared" \
    "create $other" "create $TMP/result" "unnamed /tmp" "unnamed /dev/shm" \
    "truncate $secret" "truncate-by-open $secret" "chmod $secret" "touch $secret" \
    "unlink $secret" "rename $secret" \
    "mkdir $TMP/dir" "link $TMP/link" "fifo $TMP/fifo" "list-xattr $secret" \
    "list-xattr /usr/lib" "set-xattr $secret" "terminal" "read /dev/mem" "read /dev/kmsg")
for folder in reference solutions build/data; do
    [ -d "$folder" ] && files+=("list $folder")
done
others=("memory-of PARENT" "environment-of PARENT" "maps-of PARENT" "kill PARENT" \
    "kill-group PARENT" "kill-all" "kill 0" "tgkill PARENT" "signal-by-owner PARENT" \
    "trace PARENT" "vm-read PARENT" "pidfd PARENT" "descriptors" "environment" \
    "schedule PARENT" "schedule 0" "batch" "attributes PARENT" "attributes 0" \
    "affinity PARENT" "priority PARENT" "own-priority" "io-priority PARENT" \
    "io-priority 0" "limit-of PARENT" "subreaper" "traceable")
starts=("before-main" "fork" "vfork" "clone3" "exec" "exec-again" "exec-path" \
    "system")
more=("internet" "connect" "io_uring" "outlive" "set-limit" "namespace" "inotify" \
    "memfd-secret" "shm" "msg" "sem" "mq" "new-call")
# of these a GPU driver needs some
cpu_only=("socket" "pipe" "eventfd" "epoll" "timerfd" "memfd" "shared-memory" \
    "shared-zeros" "growing-stack" "huge-pages" "lock-memory" "affinity 0" "own-memory")
for attack in "${files[@]}" "${others[@]}" "${starts[@]}" "${more[@]}" \
    "${cpu_only[@]}"; do
    check_says "${who}held: $attack" "held: " inside $attack
done
for attack in "${files[@]}" "${others[@]}" "${starts[@]}" "${more[@]}"; do
    [ "$attack" = "write /dev/stdout" ] && continue # its own pipe
    check_says "${who}held with a GPU: $attack" "held: " with_gpu $attack
done
# A compiler starts processes, and has pipes and its own limits; 0 is its own group.
for attack in "${files[@]}" "${others[@]}" "${more[@]}" "socket" "eventfd" "epoll" \
    "timerfd" "memfd" "own-memory" "lock-memory" "affinity 0"; do
    case $attack in "write /dev/stdout" | set-limit | "kill 0") continue ;; esac
    check_says "${who}held in a compiler: $attack" "held: " compiling $attack
done
check "${who}the secret is unchanged" grep -qx 42 "$secret"

# --- memory and threads -----------------------------------------------------------------
small=("$sandboxed" --memory 300 "$intruder")
check_says "${who}memory is limited" "held: Cannot allocate" "${small[@]}" memory
check_says "${who}so are a compiler's addresses, shared ones too" "held: Cannot" \
    "$sandboxed" --compiler --memory 300 "$intruder" large-shared
brief=("$sandboxed" --seconds "$(scaled 20)")
check "${who}page tables count" over_limit \
    "${brief[@]}" --memory 40 "$intruder" page-tables
check "${who}so is what is left when the first thread has ended" over_limit \
    "${brief[@]}" --memory 40 "$intruder" first-thread
check_fails "${who}threads are counted" "stopped: more than 256 threads" \
    "${brief[@]}" "$intruder" threads
check_fails "${who}a missing program is reported" "cannot open the program" \
    "$sandboxed" "$TMP/none"

. "$(dirname "$0")/sandboxed.sh"

[ -n "$who" ] || [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null && tap_done
copy=$TMP/copy
mkdir -p "$copy/tests/labs" "$copy/build/host" "$copy/$B/tests/labs"
cp tests/tap.sh "$copy/tests/"
cp tests/labs/{suite_sandbox,sandboxed}.sh "$copy/tests/labs/"
cp "$sandboxed" "$copy/build/host/"
cp "$intruder" "$old_kernel" "$copy/$B/tests/labs/"
chmod -R a+rX "$copy"
(cd "$copy" && ORDINARY=yes HOME=/nonexistent TMPDIR=/tmp exec setpriv --reuid=65534 \
    --regid=65534 --clear-groups bash tests/labs/suite_sandbox.sh) || tap_failed=1
tap_done
