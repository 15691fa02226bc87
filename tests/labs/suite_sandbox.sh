#!/usr/bin/env bash
# The sandbox of a lab's program: what is needed works, and every way out that is known is
# tried from inside by tests/labs/intruder.c. Each attack is first shown to succeed outside
# of the fence where that does no harm: a check that cannot fail proves nothing.
. "$(dirname "$0")/../tap.sh"
fence=$B/tests/labs/fence
intruder=$B/tests/labs/intruder

kernel=$("$fence" --describe)
echo "# sandbox: $kernel"
if [ "$kernel" != "Landlock and seccomp" ]; then
    skip "the sandbox holds" "sandbox: $kernel"
    tap_done
fi

secret=$TMP/expected
echo 42 >"$secret"
inside() { "$fence" "$intruder" "$@"; }
beside() { "$fence" --device "$intruder" "$@"; }

check_says "threads, memory, facts about the machine" works inside works
check_says "the same beside a card" works beside works
check_says "abort ends the program, and only it" "ended by signal 6" inside abort

# Outside of the fence these succeed, so that "held" below means the fence.
for attack in "read $secret" "list ." "before-main" "write $secret" fork "kill" \
    "socket" "internet" "connect" "own-memory" "parent-environment" "system" "clone3" "chmod $secret"; do
    check_fails "without the fence: $attack" "GOT THROUGH" "$intruder" $attack
done

files=("read $secret" "read grader/adapters/lab03.c" "read /etc/passwd" "list ." "list /" \
    "list $TMP" "write $secret" "write /dev/stdout" "create $TMP/result" "truncate $secret" \
    "chmod $secret" "unlink $secret" "rename $secret" "mkdir $TMP/dir" "terminal")
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
    [ "$attack" = "write /dev/stdout" ] && continue # as inside: its own pipe
    [ "$attack" = "socket" ] && continue            # CUDA's driver binds one
    check_says "held beside a card: $attack" "held: " beside $attack
done
check_says "memory is limited" "held: Cannot allocate" \
    "$fence" --memory 300000000 "$intruder" memory
check "the secret is as it was" grep -qx 42 "$secret"
check_fails "a program that is not there" "cannot open the program" "$fence" "$TMP/none"
tap_done
