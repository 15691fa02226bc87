#!/usr/bin/env bash
# The sandbox of a lab's program: everything that a lab needs works, and
# tests/labs/intruder.c tries every known way out. Harmless attacks also run without the
# sandbox and must succeed: a check that cannot fail proves nothing.
. "$(dirname "$0")/../tap.sh"
fence=build/host/fence
intruder=$B/tests/labs/intruder

kernel=$("$fence" --describe)
echo "# sandbox: $kernel"
if [ "$kernel" != "Landlock and seccomp" ]; then
    skip "the sandbox holds" "sandbox: $kernel"
    tap_done
fi

secret=$TMP/expected
echo 42 >"$secret"
inside() { EXPECTED=yes "$fence" "$intruder" "$@"; }
with_gpu() { "$fence" --gpu "$intruder" "$@"; }

check_says "threads, memory and the CPU count are available" works inside works
check_says "the same with a GPU" works with_gpu works
inside abort
check "abort ends only the program, by signal 6" [ $? = 134 ]

# Without the sandbox these succeed, so "held" below means that the sandbox works.
for attack in "read $secret" "list ." "before-main" "write $secret" fork "kill" "socket" \
    "internet" "connect" "own-memory" "parent-environment" "system" "clone3" \
    "chmod $secret"; do
    check_fails "without the sandbox: $attack" "GOT THROUGH" "$intruder" $attack
done

files=("read $secret" "read grader/adapters/lab03.c" "read /etc/passwd" "list ." \
    "list /" "list $TMP" "write $secret" "write /dev/stdout" "create $TMP/result" \
    "truncate $secret" "chmod $secret" "unlink $secret" "rename $secret" \
    "mkdir $TMP/dir" "terminal")
for folder in reference solutions build/data; do
    [ -d "$folder" ] && files+=("list $folder")
done
others=("parent-memory" "parent-environment" "parent-maps" "kill" "kill-group" "tgkill" \
    "signal-by-owner" "trace" "vm-read" "pidfd" "descriptors" "environment")
starts=("before-main" "fork" "vfork" "clone3" "exec" "exec-again" "system")
more=("socket" "internet" "connect" "io_uring" "outlive" "raise-limit")
for attack in "${files[@]}" "${others[@]}" "${starts[@]}" "${more[@]}" "own-memory"; do
    check_says "held: $attack" "held: " inside $attack
done
for attack in "${files[@]}" "${others[@]}" "${starts[@]}" "${more[@]}"; do
    [ "$attack" = "write /dev/stdout" ] && continue # its own pipe
    [ "$attack" = "socket" ] && continue            # CUDA's driver binds one
    check_says "held with a GPU: $attack" "held: " with_gpu $attack
done
check_says "memory is limited" "held: Cannot allocate" \
    "$fence" --memory 300 "$intruder" memory
check "the secret is unchanged" grep -qx 42 "$secret"
check_fails "a missing program is reported" "cannot open the program" \
    "$fence" "$TMP/none"
tap_done
