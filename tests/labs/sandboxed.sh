# sandboxed.sh - part of suite_sandbox.sh: compilers and linkers on hostile sources, limits,
# and what build/host/sandboxed does when it cannot keep its promise.
work=$TMP/work
mkdir "$work" "$work/hidden"
echo 'int secret = 42;' >"$work/hidden/expected.h"
for file in /etc/passwd /proc/self/environ /dev/zero "$work/hidden/expected.h"; do
    echo "#include \"$file\"" >"$work/src${file//\//_}.cpp"
done
mkdir "$work/in" "$work/out"
mv "$work"/src* "$work/in/"
gcc=("$sandboxed" --compiler --read "$work/in" --write "$work/out" --memory 1500
    --cpu "$(scaled 20)" --seconds "$(scaled 300)")

# --- what compilers do ------------------------------------------------------------------
cat >"$work/in/good.cpp" <<'END'
#include <cstdio>
#include <vector>
template <class T> T twice(T x) { return x + x; }
int main() { std::vector<int> v(3, 7); return std::printf("%d\n", twice(v[1])) < 0; }
END
top=$PWD
cd "$work/out" || exit
check "${who}g++ -S works" "${gcc[@]}" g++ -S ../in/good.cpp -o good.s
check "${who}as works" "${gcc[@]}" as good.s -o good.o
check "${who}g++ -c works" "${gcc[@]}" g++ -O2 -g -march=native -c ../in/good.cpp -o b.o
check "${who}ld -r works" "${gcc[@]}" ld -r good.o -o joined.o
check "${who}objcopy works" "${gcc[@]}" objcopy --localize-symbol=none joined.o
check_says "${who}nm works" " T main" "${gcc[@]}" nm joined.o
check_says "${who}objdump works" "<main>" "${gcc[@]}" objdump -d joined.o
check "${who}g++ links" "${gcc[@]}" g++ joined.o -o program
chmod +x program
check_says "${who}the program runs" 14 ./program
nvcc=${NVCC:-$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null)}
echo '__global__ void k(float *x) { x[threadIdx.x] = 1; }' >../in/k.cu
if [ -x "$nvcc" ]; then
    check "${who}nvcc works" "${gcc[@]}" --memory 4096 "$nvcc" -c ../in/k.cu -o k.o
else
    skip "${who}nvcc works" "no nvcc"
fi

# --- what they must not do --------------------------------------------------------------
for file in /etc/passwd /proc/self/environ /dev/zero "$work/hidden/expected.h"; do
    source=$work/in/src${file//\//_}.cpp
    check_fails "${who}a source cannot include ${file#$work/}" "ermission denied" \
        "${gcc[@]}" g++ -c "$source" -o x.o
    echo "asm(\".incbin \\\"$file\\\"\");" >asm.cpp
    check_fails "${who}nor embed it" "file not found" "${gcc[@]}" g++ -c asm.cpp -o x.o
done
ln -s "$work/hidden" "$work/in/link"
echo '#include "link/expected.h"' >"$work/in/link.cpp"
check_fails "${who}nor follow a link" "ermission denied" \
    "${gcc[@]}" g++ -c ../in/link.cpp -o x.o
check_says "${who}without the sandbox it can" "secret" \
    g++ -E "$work/in/src${work//\//_}_hidden_expected.h.cpp"
check_fails "${who}output goes to the given folder only" "ermission denied" \
    "${gcc[@]}" g++ -c ../in/good.cpp -o ../in/x.o
check "${who}what is built cannot be started" exits 126 "${gcc[@]}" sh -c ./program
check_fails "${who}no setsid" "ermitted" "${gcc[@]}" sh -c "setsid true"
check_says "${who}the environment is small" "4 names" "${gcc[@]}" sh -c \
    'export -p | grep -v -e PWD -e SHLVL | grep -c . | sed "s/$/ names/"'
check_says "${who}TMPDIR is the first --write" "$work/out" \
    "${gcc[@]}" sh -c 'echo $TMPDIR'
check "${who}stdin is empty" exits 1 "${gcc[@]}" sh -c 'read line' <../in/good.cpp
check_fails "${who}no other descriptor" "ad file descriptor" \
    "${gcc[@]}" sh -c 'echo >&9' 9>leaked

# --- limits -----------------------------------------------------------------------------
cat >../in/bomb.cpp <<'END'
template <int N, class A, class B> struct t {
    typedef typename t<N - 1, t<N, A, B>, B>::r a;
    typedef typename t<N - 1, A, t<N, B, A>>::r r; };
template <class A, class B> struct t<0, A, B> { typedef int r; };
t<60, int, char>::r x;
END
echo 'asm(".zero 3000000000");' >../in/large.cpp
printf '#include "self.h"\n#include "self.h"\n' >../in/self.h
echo '#include "self.h"' >../in/self.cpp
mkfifo ../in/fifo
echo '#include "fifo"' >../in/fifo.cpp
check_fails "${who}a template bomb ends" "memory" \
    "${gcc[@]}" --memory 300 --cpu "$(scaled 5)" g++ -c ../in/bomb.cpp -o x.o
check_fails "${who}a huge object too" "rror" \
    "${gcc[@]}" --file 20 g++ -c ../in/large.cpp -o x.o
size=$(du -sm . | cut -f1)
check "${who}it is not written" [ "$size" -lt 100 ]
check_fails "${who}so does a header that includes itself" "rror" \
    "${gcc[@]}" --cpu "$(scaled 2)" g++ -fmax-errors=3 -c ../in/self.cpp -o x.o
check_fails "${who}a FIFO is waited for until the time limit" "stopped after 1 s" \
    "${gcc[@]}" --seconds 1 g++ -c ../in/fifo.cpp -o x.o
check "${who}exit code 124" exits 124 "${gcc[@]}" --seconds 0.2 sleep 60
check "${who}the command's exit code" exits 7 "${gcc[@]}" sh -c 'exit 7'
check "${who}CPU time is limited: exit code 128 + signal" exits 137 \
    "${gcc[@]}" --cpu 1 sh -c 'while :; do :; done'

# --- nothing is left --------------------------------------------------------------------
gone() { # FILE: the process whose id is in the file is no more
    for _ in $(seq "$(scaled 100)"); do
        kill -0 "$(cat "$1")" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}
here() { for _ in $(seq "$(scaled 100)"); do [ -s "$1" ] && return; sleep 0.1; done; return 1; }
left='sleep 600 & echo $! >left; exit 3'
check "${who}a program that stays behind: exit code" exits 3 "${gcc[@]}" sh -c "$left"
check "${who}it is killed" gone left
left='setsid sh -c "echo \$\$ >left2; exec sleep 600" & while ! [ -s left2 ]; do :; done'
check "${who}also outside of its group" \
    "$old_kernel" seccomp "$sandboxed" --no-sandbox --compiler --write . sh -c "$left"
check "${who}it is killed too" gone left2
"${gcc[@]}" sh -c 'echo $$ >left3; sleep 600' & box_pid=$!
here left3 && kill -TERM $box_pid
check "${who}stopped by a signal" exits 143 wait $box_pid
check "${who}it takes the command along" gone left3
"${gcc[@]}" sh -c 'sleep 600 & echo $! >left4; wait' & box_pid=$!
here left4 && kill -KILL $box_pid
wait $box_pid 2>/dev/null
check "${who}killed, too" gone left4
old_cgroups() { # of processes that no longer run
    local folder
    for folder in $(find /sys/fs/cgroup -name 'warpbook-*' 2>/dev/null); do
        kill -0 "${folder##*-}" 2>/dev/null || ! [ -d "$folder" ] || echo "$folder"
    done
}
# Each run removes the cgroups of killed runs. Another suite may kill one of its own meanwhile.
no_cgroup_left() {
    for _ in $(seq "$(scaled 100)"); do
        "${gcc[@]}" true
        [ -n "$(old_cgroups)" ] || return 0
        sleep 0.1
    done
    old_cgroups
    return 1
}
[ -n "$who" ] || check "no cgroup is left" no_cgroup_left

# --- with and without cgroups, without /proc --------------------------------------------
"$sandboxed" --compiler sh -c 'sleep 600' & box_pid=$!
made=
for _ in $(seq "$(scaled 20)"); do
    guard=$(cat /proc/$box_pid/task/$box_pid/children 2>/dev/null)
    [ -z "$guard" ] || made=$(find /sys/fs/cgroup -name "warpbook-${guard% }" 2>/dev/null)
    [ -z "$made" ] || break
    sleep 0.05
done
kill -TERM $box_pid && wait $box_pid
if [ -n "$made" ] && [ -z "$who" ]; then
    check_says "the processes and threads of a cgroup are limited" "temporarily" \
        "$sandboxed" --compiler "$intruder" 400-threads
    check_says "so is the memory of several processes" "held: " \
        "$sandboxed" --compiler --memory 300 "$intruder" three-processes
else
    echo "# ${who}this account makes no cgroup: the supervisor's limits alone"
fi
check_fails "${who}without a limit they get through" "GOT THROUGH" \
    "${brief[@]}" --compiler --memory 1000 "$intruder" three-processes

no_proc() { unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$@"; }
ordinary=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ -z "$who" ] && no_proc true 2>/dev/null; then
    check_says "without /proc what has left its group is killed" "left" no_proc \
        "$old_kernel" seccomp "$sandboxed" --no-sandbox --compiler --write . sh -c \
        'rm left2; setsid sh -c "echo \$\$ >left2; exec sleep 600" &
         while ! [ -s left2 ]; do :; done; echo left'
    check "it is" gone left2
    open=$TMP/open # another account may use it
    mkdir "$open" && cp "$sandboxed" "$intruder" "$open/"
    check_fails "with neither, a lab's program is refused" "/proc is not mounted" \
        no_proc "${ordinary[@]}" "$open/sandboxed" "$open/intruder" works
    [ -z "$made" ] || check_fails "its threads are counted" "more than 256 threads" \
        no_proc "${brief[@]}" "$intruder" threads
fi

# --- what it refuses --------------------------------------------------------------------
for lacking in landlock seccomp both; do
    check "${who}without $lacking it refuses" exits 125 \
        "$old_kernel" $lacking "$sandboxed" --compiler true
    check_fails "${who}and says so" "--no-sandbox" \
        "$old_kernel" $lacking "$sandboxed" --compiler true
    check "${who}--describe fails" exits 1 "$old_kernel" $lacking "$sandboxed" --describe
    check "${who}unless --no-sandbox" "$old_kernel" $lacking "$sandboxed" --no-sandbox true
done
check "${who}what there is still holds" exits 1 \
    "$old_kernel" seccomp "$sandboxed" --no-sandbox cat "$secret"
mkdir "$work/home" "$work/bin"
cp "$sandboxed" "$work/bin/"
check_fails "${who}a home folder is not readable" "which the program may read" \
    env HOME="$work/home" "$sandboxed" --compiler --read "$work" true
check_fails "${who}nor the tree" "which the program may read" \
    "$work/bin/sandboxed" --compiler --read "$work" true
check "${who}a folder next to them is" \
    env HOME="$work/home" "$work/bin/sandboxed" --compiler --read "$work/in" true
check_says "${who}--learn prints what would be refused" "would refuse system call" \
    sh -c '"$@" 2>&1 || true' sh "$sandboxed" --learn "$intruder" pipe
check "${who}exit code 125 for its own failures" exits 125 "$sandboxed" --write . true
check_fails "${who}an unknown option" "unknown option" "$sandboxed" --nothing true
check_fails "${who}no command" "name the command" "$sandboxed" --compiler
check_fails "${who}a number that is none" "needs a number" "$sandboxed" --cpu many true
cd "$top" || exit
