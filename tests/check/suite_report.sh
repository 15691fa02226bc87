#!/usr/bin/env bash
# The report of check mode: its text, its page (in a browser), and make check.
. "$(dirname "$0")/../tap.sh"

here=tests/check/report
R() { "$PYTHON" tools/check_report.py "$@"; }
"$PYTHON" $here/samples.py "$TMP" || exit 1
report() { R "$TMP/$1.json" --source "$TMP" "${@:2}"; }

# --- the text ---------------------------------------------------------------------------
check "errors: exit code 1" exits 1 report sample
cp "$TMP/.last" "$TMP/text"
has() { check "the text says: ${1:0:60}" grep -qF -- "$1" "$TMP/text"; }
has "sample.cu:35: error: reads in[33554432], 4 bytes past the end of the 134217728-byte"
has "       35 | if (i < n) out[i] = in[i + 1];"
has "    kernel shift, block (131071,0,0), thread (255,0,0): a"
has "    block (0,0,0), thread (1,0,0) writes at sample.cu:46"
has "    fix: put a __syncthreads() between the rounds, outside of the if"
has "    and 511 more; also with sample.cu:47"
has "sample.cu:47: note: 256 threads"
has "kernel norm_rows (sample.cu:57): 1 launch, 256 blocks of 128 threads"
has "    DRAM: 268 MB read, 134 MB written; 268 MB suffice (H200, 60 MB of L2)"
has "    takes at least 96.3 µs on NVIDIA H200 (limit: L1 and shared memory); the ideal"
has "      12 read            1.05 M    32.0   4.0  1.07 GB           squares += x[row * C"
has "         shared read     1.05 M                        32.0-way"
has "      25 barrier         32,768                                  __syncthreads();"
has "         vote             4,096"
has "sample.cu:15: neighbouring lanes read and write 4096 bytes apart: 32 sectors"
has "a is read 2.0 times: 268 MB where 134 MB suffice."
has "table is read 32,768 times: 134 MB where 4.10 KB suffice."
has "32-way bank conflict: the lanes are 128 bytes apart"
has "the first lies 4 bytes"
has "    168 registers per thread, 24 bytes of spills, occupancy at most 12%"
has "build/check/programs/sample: 3 errors, 1 note"
check "what costs little is not mentioned" [ "$(grep -c "b is written" "$TMP/text")" = 0 ]
check "one report per cause: races at one line are grouped" \
    [ "$(grep -c 'race-shared' "$TMP/text")" = 1 ]
check "errors come before notes" \
    [ "$(sed '/: note: /,$d' "$TMP/text" | grep -c ': error: ')" = 3 ]

check "every kind of finding is shown" exits 1 report kinds
check "  each once" [ "$(grep -c '^sample.cu:47: ' "$TMP/.last")" = 34 ]
check "no findings: exit code 0" exits 0 report clean
check "  and says so" grep -q 'sample: no findings' "$TMP/.last"

check "hostile names: exit code 1, not a crash" exits 1 report hostile
check "  no control or reordering characters reach the terminal" \
    "$PYTHON" -c "import sys; t=open('$TMP/.last').read(); sys.exit(any(
        not c.isprintable() and c != '\n' for c in t))"
check "  a file elsewhere is not read" [ "$(grep -c 'root:' "$TMP/.last")" = 0 ]
check_fails "a report that is missing" "none.json: No such file" R "$TMP/none.json"
echo '{"findings": [' >"$TMP/cut.json"
check_fails "a report that is cut short" "cut.json is not JSON" R "$TMP/cut.json"
echo '[1]' >"$TMP/list.json"
check_fails "a file that is no report" "is not a report of check mode" R "$TMP/list.json"
check "  exit code 2" exits 2 R "$TMP/list.json"
echo '{"findings":[{}, 3, {"other": {"file": []}}],
       "kernels":[{}, {"lines":[{}]}, null]}' >"$TMP/odd.json"
check "values that are missing or odd" \
    exits 1 R "$TMP/odd.json" --html "$TMP/odd.html"
check_fails "a report without an end" "/dev/zero is larger than 64 MB" R /dev/zero
if [ -w /dev/full ]; then
    full() { report clean >/dev/full; }
    check "a full disk: one line, exit code 2" exits 2 full
    check "  says so" [ "$(cat "$TMP/.last")" = \
        "check_report: the report cannot be printed: No space left on device" ]
    check_fails "the page on a full disk" "/dev/full cannot be written: No space left" \
        report clean --quiet --html /dev/full
fi
check_fails "a page that cannot be written" "cannot be written" \
    report clean --html "$TMP/none/x.html"

# --- the page ---------------------------------------------------------------------------
for name in sample kinds clean hostile; do
    report $name --html "$TMP/$name.html" --quiet >"$TMP/.out"
done
"$PYTHON" $here/page.py "$TMP" build/check/pages || tap_failed=1

# --- drawings ---------------------------------------------------------------------------
check "bank conflicts are drawn as they are counted" "$PYTHON" -c "
import sys; sys.path.insert(0, 'tools')
from report import counts, draw
def seen(lanes, size, units, ideal):
    worst = counts.Worst.of(dict(space='shared', bytes=size, lanes=lanes,
                                 wavefronts=units, ideal=ideal))
    return len(draw.phases(worst)), draw.banks(worst).count('class=\"bad\"')
got = [seen([16 * i for i in range(32)], 16, 4, 4),    # a row after the other
       seen([128 * i for i in range(32)], 16, 32, 4),  # all lanes in four banks
       seen([4 * i if i < 16 else 64 + 4 * i for i in range(32)], 4, 2, 1),
       seen([8 * i for i in range(32)], 8, 2, 2),
       seen([8 * (i % 16) for i in range(32)], 8, 2, 1)]  # written by both halves
print(got); sys.exit(got != [(1, 0), (1, 128), (1, 32), (1, 0), (2, 0)])"

# --- registers --------------------------------------------------------------------------
cat >"$TMP/ptxas.txt" <<'END'
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z5totalIfLi4EEvPT_PKS0_' for 'sm_90'
ptxas info    : Function properties for _Z5totalIfLi4EEvPT_PKS0_
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 1024 bytes smem
END
check "registers, spills and shared memory are read from what ptxas prints" "$PYTHON" -c "
import sys; sys.path.insert(0, 'tools'); import ptxas
got = ptxas.demangle(ptxas.parse(open('$TMP/ptxas.txt').read()))
print(got); sys.exit(got != [dict(name='total<float, 4>', sm=90, registers=168,
                                  spill_stores=8, spill_loads=12, shared=1024)])"

# --- make check -------------------------------------------------------------------------
cp $here/program.cu "$TMP/program.cu"
check "the back end in check mode builds" \
    make -s BACKEND=cpu CHECK=1 BUILD=build/check check-tools
export FILE=$TMP/program.cu
P() { ARGS=$* NVCC= "$PYTHON" tools/check.py --build build/check; }
check "a program without errors: exit code 0" exits 0 P clean
check "  no findings" grep -q "program: no findings" "$TMP/.last"
check "  no registers without nvcc" [ "$(grep -c ptxas "$TMP/.last")" = 0 ]
reads_past() { HTML=$TMP/p.html JSON=$TMP/p.json P past; }
check "a program that reads past the end: exit code 1" exits 1 reads_past
check "  and prints each finding once" [ "$(grep -c past "$TMP/.last")" = 1 ]
check "  and names the line" grep -q "program.cu:16: error: " "$TMP/.last"
check "  JSON= keeps the report" \
    json "$TMP/p.json" "r['findings'][0]['kind'] == 'out-of-bounds'"
check "  HTML= is the page, with the source" \
    grep -q 'values\[threadIdx.x + 1\]' "$TMP/p.html"
check "lanes with gaps between them" exits 1 P gaps
check "  are not called consecutive" grep -q "16 of 32 lanes write, with gaps" "$TMP/.last"
check "  a member of a struct in shared memory" grep -q 'pairs\[[0-9]*\] at byte 4' "$TMP/.last"
check "arguments are split as a shell does, and not expanded" \
    says "arg <two words>" P "args 'two words' \$HOME '*'"
check "  " grep -qF 'arg <$HOME>' "$TMP/.said"
hello() { echo hello | P input; }
check_says "standard input reaches the program" "input <hello>" hello
check "a program that fails: exit code 1" exits 1 P fail
check "  and says so" grep -q "ended with exit code 3" "$TMP/.last"
check "a program that is killed: exit code 2" exits 2 P kill
check "  says why there is no report" \
    grep -q "ended with signal SIGKILL and wrote no report" "$TMP/.last"
check "a program that writes a report of its own: exit code 2" exits 2 P forge
check "  says so" grep -q "is not a report of check mode" "$TMP/.last"
check "a cooperative launch of 512 blocks" exits 0 P together 512
check_fails "more blocks" "check mode runs at most 512 blocks" P together 513
little_memory() { (ulimit -v 3000000 && P together 300); }
check_fails "too little memory for their threads" \
    "cannot create a CPU thread with its stacks for each block of grid (300,1,1)" little_memory
check_fails "a signal without a name" "ended with signal 40 and wrote no" P signal
check_fails "a program without CUDA" "did it call a CUDA function?" P nothing
check_fails "ARGS with an open quote" "ARGS=a 'b: no closing quotation" P "a 'b"

onto_source() { env "$1=$FILE" ARGS=clean "$PYTHON" tools/check.py --build build/check; }
for name in JSON HTML; do
    check_fails "$name= is not the source" "is the program itself" onto_source $name
done
into_folder() { JSON=$TMP P clean; }
check_fails "JSON= that is a folder" "$TMP cannot be written: Is a directory" into_folder

from() { FILE=$1 P; }
wrong() { printf '%s\n' "$2" >"$TMP/$1.cu"; from "$TMP/$1.cu"; }
check_fails "no FILE" "which program? make check FILE=prog.cu" from ""
check_fails "a missing file" "none.cu: there is no such file" from "$TMP/none.cu"
check_fails "a folder" "is not a file: give one .cu" from "$TMP"
check "a compile error: exit code 2" exits 2 wrong broken 'int main() { return x; }'
check "  says so" \
    grep -q "broken.cu does not compile: fix the first error above" "$TMP/.last"
check_fails "no main" "empty.cu has no main: give a whole program" wrong empty 'int x;'
check_fails "an undefined name" "missing.cu uses a name that is not defined" \
    wrong missing 'void f(); int main() { f(); }'

printf '#include <number.h>\ntemplate <class T> concept any = sizeof(T) > 0;\n%s\n' \
    'int main() { void *x; return cudaMalloc(&x, NUMBER) || cudaFree(x) || VALUE != 5; }' >"$TMP/options.cu"
mkdir "$TMP/include" && echo '#define NUMBER 4' >"$TMP/include/number.h"
with_options() { NVCCFLAGS=$1 from "$TMP/options.cu"; }
check "NVCCFLAGS" exits 0 with_options "-std=c++20 -I $TMP/include -DVALUE=5 -rdc=true -arch=sm_80"
check_fails "an option that wbcc does not know" "NVCCFLAGS=--fast: see the message above" \
    with_options --fast

# Names and arguments may hold anything: make and the shell expand nothing.
odd="$TMP/a \"b' \$(touch hacked) \$(shell touch hacked) x"
cp "$TMP/program.cu" "$odd.cu"
check "make check, with names of spaces, quotes and \$(...)" exits 0 \
    make -s check FILE="$odd.cu" ARGS='args $(shell touch hacked)' HTML="$odd.html"
check "  nothing is expanded" [ ! -e hacked ]
check "  the page has the name that was asked for" [ -s "$odd.html" ]
rm -f hacked
tap_done
