#!/usr/bin/env bash
# Sources that the translator must refuse in one line, quickly, and without output:
# truncated, too large, too deep, of characters that are no text; and what it writes where.
. "$(dirname "$0")/../tap.sh"
translate=${TRANSLATE:-build/host/translate}
S=$TMP/s O=$TMP/o
mkdir -p "$S" "$O"
kernel='__global__ void k(float *x) { x[threadIdx.x] = 1; }'

run() { # run FILE ARGUMENT...: within 10 s of CPU time and 2 GB
    (ulimit -t 10; [ -n "${ASAN_OPTIONS:-}" ] || ulimit -v 2000000
     timeout 60 "$translate" "$1" "$O" "${@:2}")
}
nothing_left() { [ -z "$(ls -A "$O")" ]; }

# refused WHAT WORDS FILE ARGUMENT...: exit 1, the words, no control character, no file
refused() {
    tap_what=$1 tap_words=$2; shift 2
    run "$@" >"$TMP/.out" 2>&1
    rc=$?
    if [ $rc != 1 ]; then tap_not_ok "exit $rc"
    elif ! grep -qF -- "$tap_words" "$TMP/.out"; then tap_not_ok "does not say '$tap_words'"
    elif LC_ALL=C grep -q $'[\001-\010\013-\037\177]' "$TMP/.out"; then
        tap_not_ok "prints a control character"
    elif ! nothing_left; then tap_not_ok "leaves $(ls -A "$O")"
    else echo "ok - $tap_what"; fi
    rm -rf "${O:?}"; mkdir -p "$O"
}
# cut WHAT WORDS TEXT...: a source with these lines, without a final newline
cut() {
    cut_what=$1 cut_words=$2; shift 2
    { printf '%s\n' "$kernel"; printf '%b' "$1"; } >"$S/a.cu"
    refused "$cut_what" "a.cu:$cut_words" "$S/a.cu"
}
# taken WHAT TEXT: translated, and the result compiles
taken() {
    printf '%b' "$2" >"$S/a.cu"
    compiled() { # -w: warnings of the compiler are not the subject
        run "$S/a.cu" && ${CXX:-g++} -std=gnu++17 -Icommon/cpu/include \
            -include cuda_runtime.h -w -iquote "$S" -fsyntax-only -x c++ "$O/a.cu.cpp"
    }
    check "$1" compiled
}

echo "# truncated sources"
cut "a comment" "3: error: a comment without its */" 'int a;\n/* cut'
cut "a comment of one slash and star" "2: error: a comment without its */" '/*/'
cut "a string" '2: error: a string without its closing "' 'const char *s = "cut'
cut "a string that ends in a backslash" '2: error: a string without' 'char s[] = "cut\\\\'
cut "a character" "2: error: a string without its closing '" "char c = 'c;\\nint i;"
cut "a raw string" "2: error: a raw string without its end" 'const char *s = R"x(\ncut)y"'
cut "a raw string's name" '2: error: a raw string starts with R"(' 'const char *s = R"x'
cut "a raw string's long name" '2: error: a raw string starts with R"(' \
    'const char *s = R"01234567890123456(a)01234567890123456"'
cut "a launch" "2: error: kernel launch: '<<<' without its '>>>'" 'int main() { k<<<1,'
cut "a launch's arguments" "2: error: kernel launch: '(' without its ')'" \
    'int main() { k<<<1, 2>>>(x'
cut "#if around a kernel's name" "6: error: kernel launch: a preprocessor directive splits it" \
    'int main() {\n#if 1\n k\n#else\n#endif\n<<<1, 2>>>(0); }'
cut "a NUL byte" "3: error: a NUL byte" 'int a;\nint b\0c;'
printf '\377\376i\0n\0t\0' >"$S/a.cu"
refused "UTF-16" "a.cu:1: error: a NUL byte: this is not text" "$S/a.cu"

echo "# texts as editors write them"
main='int main() { k<<<1, 32>>>(nullptr); }'
taken "no final newline" "$kernel\\n$main"
taken "an empty file" ''
taken "CRLF" "$kernel\\r\\n#define N \\\\\\r\\n  3 // don't \\\\\\r\\n stop\\r\\n$main\\r\\n"
taken "a byte order mark" "\\xef\\xbb\\xbf$kernel\\n$main\\n"
taken "line splices" "$kernel\\n// a comment \\\\\\n don't\\nconst char *s = \"a\\\\\\nb\";\\n$main\\n"
taken "an apostrophe in text that #if leaves out" "#if 0\\ndon't\\n#endif\\n"
taken "an apostrophe in a comment after #include" \
    "#include <stddef.h> /* don't\\n   don't */\\n$kernel\\n"
taken "a backslash before a comment that ends the line" \
    '__global__ void k(int *x)\n{\n    x[0] = x[1] + \\ // one\n        2 * \\ /* two */\n        x[2];\n}\n'
taken "brackets in both branches of #if" \
    "int f(int a) {\\n#if 1\\n  if (a) {\\n#else\\n  if (!a) {\\n#endif\\n return 1; }\\n return 0; }\\n$kernel\\n$main"
taken "shared memory in nested scopes" "__global__ void s(float *x) { __shared__ float a[10], b; { __shared__ int c[2]; c[0] = 1; } { __shared__ int d; d = 1; } __shared__ float e; e = a[1] + b; x[0] = e; }"
printf '%b' '__global__ void s(float *x) { __shared__ float a[6000]; { __shared__ float b[6000]; x[0] = a[0] + b[0]; } { __shared__ float c[7000]; x[0] = c[0]; } }' >"$S/a.cu"
check_fails "the sizes of all visible shared memory are added" "more than 48 KB of static" \
    compiled

echo "# large sources"
python=$(command -v python3 || echo "$PYTHON")
generate() { "$python" -c "import sys; w = sys.stdout.write; $1" >"$S/a.cu"; }
# quick WHAT PYTHON: ends in the time and memory of run, whatever it says
quick() {
    generate "$2"
    quickly() { run "$S/a.cu" >"$TMP/.said" 2>&1; rc=$?; tail -c 300 "$TMP/.said"
        rm -rf "${O:?}"/*; [ $rc -le 1 ] && [ "$(wc -c <"$TMP/.said")" -lt 20000 ]; }
    check "$1" quickly
}
generate "w('int a;' * 1000000)"
refused "5 MB in one line" "a.cu:1: error: the file is larger than 4 MB" "$S/a.cu"
generate "w('(' * 3000)"
refused "brackets 3000 deep" "a.cu:1: error: brackets are nested more than 256 deep" "$S/a.cu"
generate "w('k<<<1,1>>>({' + '1,' * 5000 + '});')"
refused "a large braced argument" "an argument {...} of more than 4096 characters" "$S/a.cu"
generate "w('k<' + 'a,' * 5000 + 'a><<<1,1>>>();')"
refused "a large name" "a.cu:1: error: kernel launch: a kernel's name" "$S/a.cu"
generate "w('<<<1,2>>>(3);\\n' * 100000)"
refused "100,000 errors" "more than 19 errors: fix the first ones" "$S/a.cu"
quick "shared memory with an open bracket" "w('extern __shared__ ( float s[];')"
quick "shared memory" "w('__shared__ ' * 300000)"
quick "shared memory in one kernel" "w('void f() {' + '__shared__ int a; ' * 200000 + '}')"
quick "launch bounds" "w('__global__ __launch_bounds__(1) ' * 100000 + 'void k() {}')"
quick "launch bounds in launch bounds" "w('__launch_bounds__(' * 200 + 'a,' * 900000 + ')' * 200 + 'k() {}')"
quick "open angles" "w('__shared__ a' + '<a' * 1000000 + ';')"
quick "open angles in a launch" "w('k<<<1,1>>>(a' + '<a' * 1000000 + ');')"
quick "kernels" "w(''.join('__global__ void k%d(int);' % i for i in range(100000)))"
quick "a kernel that is called" "w('__global__ void k(int x);' + 'f k(1)' * 500000)"
quick "host variables in a kernel" "w(''.join('int a%d;' % i for i in range(100000)) + '__global__ void k() {' + ''.join('a%d*(a%d);' % (i, i) for i in range(100000)) + '}')"
quick "declarations" "w('static,' * 500000 + ';')"
quick "a call in lambdas" "w('void f(); __global__ void k() {' + '[]{f();};' * 300000 + '}')"
quick "loops" "w('for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);' * 40000)"
quick "loops in one loop" "w('for(int o=a;o;o>>=1)' * 150000)"
quick "loops and names" "w(''.join('for(int o=a%d;o;o>>=1);const int b%d=1;' % (i, i) for i in range(60000)))"
quick "a macro of loops" "w('#define A ' + 'for(;;) ' * 400000)"
quick "launches in launches" "w('k<<<1,1>>>(' * 200 + ')' * 200)"
quick "launches in names" "w('(' * 200 + 'k' + '<<<1,1>>>(0))' * 200 + '<<<1,1>>>(0);')"
quick "comments" "w('/**/' * 1000000)"
quick "a macro continued 500,000 times" "w('#define A \\\\\\\\\\n' + 'a \\\\\\\\\\n' * 500000)"
quick "one name" "w('__shared__ int ' + 'a' * 3000000 + ';')"
quick "arguments" "w('k<<<1,1>>>(' + '0,' * 1000000 + '0);')"
quick "marks" "w(';' * 4000000)"

quick "nests of loops" "w('#pragma unroll\\nfor(;;)' * 200000)"

quick "functions in functions" "w('__device__ void f0() {}' + ''.join('__device__ void f%d() { f%d(); }' % (i, i - 1) for i in range(1, 60000)) + '__global__ void k() { f59999(); }')"
quick "functions that wait in functions" "w('__device__ void f0() { __syncthreads(); }' + ''.join('__device__ void f%d() { f%d(); f%d(); }' % (i, i - 1, i - 1) for i in range(1, 60)) + '__global__ void k() { f7(); f59(); }' * 20000)"
quick "macros in macros" "w('#define A0\n' + ''.join('#define A%d %s\n' % (i, ('A%d ' % (i - 1)) * 25) for i in range(1, 9)) + '__global__ void k(int *x) { A8 x[0] = 1; }\n' * 20000)"
quick "calls in calls" "w('__device__ int f(int v) { __syncthreads(); return v; }' + '__global__ void k(int *x) { x[0] = ' + 'f(' * 200 + '1' + ')' * 200 + '; }' * 1)"
quick "branches in branches" "w('__global__ void k(int *x) {' + 'if (x[0]) {' * 200 + '__syncwarp();' * 800 + '}' * 200 + '}')"

echo "# #pragma unroll"
unrolled() { # unrolled WHAT HOW_MANY LOOP: outer loops that g++ shall unroll
    printf '__device__ void f(float *a, float *b) {\n#pragma unroll\n%b\n}\n' "$3" >"$S/a.cu"
    count() {
        run "$S/a.cu" && [ "$(grep -c '^#pragma GCC unroll' "$O/a.cu.cpp")" = "$2" ] &&
            [ "$(grep -c . "$O/a.cu.cpp")" -ge "$(grep -c . "$S/a.cu")" ]
    }
    check "$1" count "$@"
}
outer='for (int i = 0; i < 4; i++)\n' inner='for (int j = 0; j < 8; j++)\n'
unrolled "the outer loop of a nest that accumulates" 1 "$outer$inner a[j] += b[i * 8 + j];"
unrolled "the inner loop's pragma stays" 1 "$outer#pragma unroll\n$inner a[j] += b[i];"
unrolled "not a single loop" 0 "$inner a[j] += b[j];"
unrolled "not a nest that calls a function" 0 "$outer$inner a[j] += g(b[i]);"
unrolled "not a nest that only stores" 0 "$outer$inner a[j] = b[i];"
unrolled "not a nest in braces" 0 "$outer$inner { a[j] += b[i]; }"

echo "# headers"
header() { printf '%b' "$2" >"$S/$1"; }
printf '%s\n' "$kernel" >"$S/plain.cu"
including() { # including WHAT WORDS NAME: a source with that include in line 2
    printf '%s\n#include %s\n' "$kernel" "$3" >"$S/a.cu"
    refused "$1" "$2" "$S/a.cu" "${@:4}"
}
mkdir "$S/folder"
mkfifo "$S/fifo.h"
ln -s /dev/zero "$S/zero.h"
head -c 5000000 /dev/zero | tr '\0' ' ' >"$S/large.h"
including "a FIFO" "a.cu:2: error: fifo.h cannot be included: it is not a regular file" '"fifo.h"'
including "a device" "a.cu:2: error: zero.h cannot be included" '"zero.h"'
including "a device by its path" "a.cu:2: error: /dev/zero cannot be included" '"/dev/zero"'
including "a device in angles" "a.cu:2: error: /dev/zero cannot be included" '</dev/zero>'
including "a device in an -I folder" "a.cu:2: error: zero cannot be included" '<zero>' -I /dev
including "a large header" "large.h:1: error: the file is larger than 4 MB" '"large.h"'
header cut.h 'int a;\n/* cut'
including "a truncated header" "cut.h:2: error: a comment without its */" '"cut.h"'
header 'a:b.h' 'int a;'
including "a header that make cannot name" "a.cu:2: error: $S/a:b.h: a header's path has" '"a:b.h"' -d a.o
header $'e\033[31m.h' 'int a;'
including "a header with an escape sequence" "/e?[31m.h: a header's path has" $'"e\033[31m.h"'
if [ "$(id -u)" != 0 ]; then
    header secret.h 'int a;'; chmod 0 "$S/secret.h"
    including "a header of someone else" "secret.h cannot be read: Permission denied" '"secret.h"'
fi
for i in $(seq 250); do header "c$i.h" "#include \"c$((i + 1)).h\"\\n"; done
including "a chain of 250 headers" "c200.h:1: error: headers are nested more than 200 deep" '"c1.h"'
for i in $(seq 1100); do header "d$i.h" ""; echo "#include \"d$i.h\""; done >"$S/a.cu"
refused "1,100 headers" "a.cu:1001: error: more than 1000 different headers" "$S/a.cu"
generate "w('#include \"cut.h\"\\n' * 10 + '#include \"large.h\"\\n')"
refused "the first error is the only one" "cut.h:2" "$S/a.cu"
generate "w('#include \"c250.h\"\\n' * 20000)"
refused "20,000 includes" "more than 10000 #include lines" "$S/a.cu"
for i in 1 2 3; do head -c 3000000 /dev/zero | tr '\0' ' ' >"$S/l$i.h"; done
including "9 MB in three headers" "l3.h:1: error: the source and its headers are larger than 8 MB" \
    $'"l1.h"\n#include "l2.h"\n#include "l3.h"'
header self.cuh "#pragma once\\n$kernel\\n#include \"self.cuh\"\\n#include \"twin.cuh\"\\n"
header twin.cuh '#pragma once\n#include "self.cuh"\nstatic void l() { k<<<1, 1>>>(nullptr); }\n'
taken "headers that include each other" '#include "self.cuh"\nint main() { l(); }\n'
check "and are translated once each" [ "$(cd "$O" && echo *)" = "a.cu.1.h a.cu.2.h a.cu.cpp" ]
rm -rf "${O:?}"/*
taken "a folder as a header is left to the compiler" '#if 0\n#include "folder"\n#endif\n'

echo "# what is written, and where"
rm -rf "${O:?}"/*
only_in_output() { # only_in_output WHAT INCLUDE: translated, one header in OUT/deep
    mkdir -p "$O/deep/er"
    printf '%b\n' "$2" >"$S/folder/a.cu"
    inside() {
        "$translate" "$S/folder/a.cu" "$O/deep/er" -d x.o || return
        find "$O" "$S" -newer "$TMP/now" -type f | sort >"$TMP/.files"
        cat "$TMP/.files"
        [ "$(cd "$O" && find . -type f | sort | tr '\n' ' ')" = \
            "./deep/er/a.cu.1.h ./deep/er/a.cu.cpp ./deep/er/a.cu.headers.d " ] &&
            ! grep -v "^$O/deep/er/" "$TMP/.files"
    }
    touch "$TMP/now"; sleep 0.05
    check "$1" inside
    rm -rf "${O:?}"/*
}
mkdir "$S/folder/sub"
printf '%s\n' "$kernel" | tee "$S/up.h" "$S/folder/evil.d" "$S/folder/sub/evil.mk" >"$S/folder/.x.h"
sleep 0.05
only_in_output "a header named .d" '#include "evil.d"'
only_in_output "a header in a folder" '#include "sub/evil.mk"'
only_in_output "a header outside of the folder" '#include "../up.h"'
only_in_output "a header outside by a detour" '#include "sub/../../up.h"'
only_in_output "a header by its full path" "#include \"$S/up.h\""
only_in_output "a hidden header" '#include ".x.h"'
printf 'int good;\n' >"$S/a.cu"
run "$S/a.cu" -d x.o
printf '/*' >"$S/a.cu"
refused "after an error nothing of the last time is left" "without its */" "$S/a.cu"
printf '#include "plain.h"\n%s\n' "$kernel" >"$S/a.cu"
printf '%s\n' "$kernel" >"$S/plain.h"
echo precious >"$TMP/precious"
ln -s "$TMP/precious" "$O/a.cu.cpp"; ln -s "$TMP/precious" "$O/a.cu.1.h"
check "a link in the place of an output" run "$S/a.cu"
check "is replaced, not followed" grep -q precious "$TMP/precious"
rm -rf "${O:?}"/*

echo "# what cannot be read or written"
refused "a folder" "$S/folder: error: cannot be read: it is a folder" "$S/folder"
refused "a FIFO as the source" "fifo.h: error: cannot be read: it is not a regular file" "$S/fifo.h"
refused "a device as the source" "cannot be read: it is not a regular file" /dev/zero
cp "$S/plain.cu" "$S/"$'n\033]0;x\007"\n.cu'
refused "a name with escape sequences" 'n?]0;x?"?.cu: error: a source'"'s name has letters" \
    "$S/"$'n\033]0;x\007"\n.cu'
mkdir "$S/quo\"te" && cp "$S/plain.cu" "$S/quo\"te/a.cu"
quoted() { run "$S/quo\"te/a.cu" && grep -q 'quo\\"te/a.cu"$' "$O/a.cu.cpp"; }
check "a quote in a folder's name" quoted
rm -rf "${O:?}"/*
full() { (ulimit -f 1; "$translate" tests/cpu/language.cu "$O"); }
check_fails "no room for the output" "error: cannot be written: File too large" full
check "leaves nothing" nothing_left
touch "$TMP/file"
check_fails "a file in the place of the output folder" "$TMP/file/o: error: the folder cannot be made" \
    "$translate" "$S/plain.cu" "$TMP/file/o"
check_fails "an -I without a folder" "usage: translate" "$translate" "$S/plain.cu" "$O" -I
tap_done
