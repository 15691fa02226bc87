#!/usr/bin/env bash
# Hostile submissions against the build: names that reach a shell or make, files that are not
# the submission's, sources that never end. tools/grade_submission and make lab03 FILE=.
# Started by root, what the account could change runs a second time as an ordinary one.
. "$(dirname "$0")/../tap.sh"
build/host/sandboxed --describe >"$TMP/.out" || {
    skip "the build is confined" "sandbox: $(cat "$TMP/.out")"
    tap_done
}

# --- a tree of its own, with the grader built in it -----------------------------------------
tree=$TMP/tree in=$TMP/in
mkdir -p "$tree" "$in"
git ls-files -z --cached --others --exclude-standard -- Makefile mk labs solutions reference \
    common grader tools grade requirements.txt tests/grader | xargs -0 cp -p --parents -t "$tree"
reuse_builds "$tree"
python_here=$(readlink -f "$PYTHON")
grep -q exec "$python_here" && python_here=$(sed -n 's/^exec "\([^"]*\)".*/\1/p' "$python_here")
cp tests/grader/naive.cu "$in/naive.cu"
chmod 755 "$TMP"

# The ordinary account runs this: it may not be able to read the Python installation.
cat >"$TMP/python" <<E2
#!/bin/sh
export PYTHONDONTWRITEBYTECODE=1
if [ -x "$python_here" ] && "$python_here" -c '' 2>/dev/null; then exec "$python_here" "\$@"; fi
PYTHONPATH=$("$python_here" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') exec /usr/bin/python3 "\$@"
E2
chmod 755 "$TMP/python"
cp "$TMP/python" "$tree/build/host/python"
as_account() { # COMMAND...: as ACCOUNT, or as we are
    if [ -n "$account" ]; then
        setpriv --reuid="$account" --regid="$account" --clear-groups env -u PYTHON HOME=/ "$@"
    else env -u PYTHON "$@"; fi
}
no_assembly() { # NAME: in #APP, made global
    printf '#APP\n\t.globl %s\n#NO_APP\n' "$1" | "$PYTHON" -c 'import sys
sys.path.insert(0, "tools")
import scan
sys.exit("asm" if scan.assembly(sys.stdin.read()) else 0)'
}
grade() { # PATH [OPTION...]
    (cd "$tree" && as_account env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL BACKEND="$BACKEND" \
        timeout 100 tools/grade_submission lab03 "$@") >"$TMP/said" 2>&1
    code=$?
    cat "$TMP/said"
    ! grep -q Traceback "$TMP/said" || return 99
    return $code
}
refused() { # "what" "words" COMMAND...: exit 2 and these words
    what=$1 words=$2; shift 2
    check_fails "$who: $what" "$words" "$@"
    check "$who: $what: exit 2" test "$rc_of_grade" = 2
}
last() { grade "$@"; rc_of_grade=$?; return $rc_of_grade; }
make_file() { # FILE: make lab03 FILE=
    (cd "$tree" && as_account env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL \
        make -s BACKEND="$BACKEND" lab03 FILE="$1") 2>&1
}
# Of naive.cu; one of them is for what check mode counts.
naive="Score: 5/5" # of -k basic
naive_points() { [ "${CHECK:-}" = off ] && echo 30 || echo 31; }
# A source with the naive forward kernel; stdin goes in front of it.
source_with() { { cat; cat "$in/naive.cu"; } >"$1"; }

names() {
    s=$TMP/s; rm -rf "$s"; mkdir "$s"

    # --- names ------------------------------------------------------------------------------
    # Each name as a header, which is refused; most as a source and a folder, which are built.
    names=('$(shell touch pwned)' '$(touch pwned)' '`touch pwned`' ';touch pwned;' \
        "it's \"it\"" 'a b' 'a:b' '#x' '%' '$$' '-rf' $'new\nline' $'\xff\xfe' $'\e[31mred')
    n=0
    for name in "${names[@]}"; do
        rm -rf "${s:?}/d"; mkdir "$s/d"
        n=$((n + 1))
        cp "$in/naive.cu" "$s/d/naive.cu"; cp "$in/naive.cu" "$s/d/$name.h"
        refused "the same as a header ($n)" "rename this file" last "$s/d" -k basic
        check_fails "$who: the same with make FILE= ($n)" "rename this file" make_file "$s/d"
    done
    n=0
    for name in '$(shell touch pwned)' '`touch pwned`;touch pwned;' "it's \"it\"" \
        '#x %$$a:b' '-rf' $'new\nline' $'\xff\xfe\e[31mred'; do
        n=$((n + 1))
        rm -rf "${s:?}/d"; mkdir -p "$s/d/$name"
        cp "$in/naive.cu" "$s/d/$name.cu"; cp "$in/naive.cu" "$s/d/$name/"
        check_says "$who: a file's name runs nothing ($n)" "$naive" grade "$s/d/$name.cu" -k basic
        check_says "$who: nor with make FILE= ($n)" "built from" make_file "$s/d/$name.cu"
        check "$who: and it is printed clean ($n)" sh -c "! grep -q '$(printf '\033')' '$TMP/said'"
        check_says "$who: the same as a folder ($n)" "$naive" grade "$s/d/$name" -k basic
    done
    check "$who: nothing ran" sh -c "! find '$tree' '$s' -name 'pwned*' | grep ."
    rm -rf "${s:?}/d"; mkdir "$s/d"
    cp solutions/lab03_rmsnorm/* "$s/d/" 2>/dev/null
    cat "$s"/d/*.cu >"$s/d/bob.cu"; rm "$s"/d/rmsnorm*.cu
    cp "$in/naive.cu" "$s/d/[b]ob.cu"
    check_says "$who: a pattern is no name" "$naive" grade "$s/d/[b]ob.cu" -k basic
    rm -rf "${s:?}/d"; mkdir -p "$s/d/sub"; cp "$in/naive.cu" "$s/d/a:b.cu"
    printf '$(shell touch %s/pwned)\n' "$s" >"$s/d/sub/evil.d"
    source_with "$s/d/x.cu" <<<'#include "sub/evil.d"'
    rm "$s/d/a:b.cu"
    refused "a make file as a header" "No such file" last "$s/d"
    check_fails "$who: the same with make" "does not compile" make_file "$s/d"
    check_says "$who: later builds work" "built from" make_file "$in/naive.cu"
    check "$who: and it was not run" test ! -e "$s/pwned"
    mkdir -p "$s/returned/labs/lab03_rmsnorm"
    cp "$in/naive.cu" "$s/returned/labs/lab03_rmsnorm/rmsnorm.cu"
    printf 'all lab03 grader:\n\ttouch %s/pwned\n' "$s" | tee "$s/returned/GNUmakefile" >"$s/returned/Makefile"
    check_says "$who: a returned tree with make files of its own" "$naive" grade "$s/returned" -k basic
    check "$who: its make files were not run" test ! -e "$s/pwned"

    # --- files that others hide, results that are older ----------------------------------------
    rm -rf "${s:?}/d"; mkdir "$s/d"; cp "$in/naive.cu" "$s/d/x.cu"
    head -c 200 /dev/urandom >"$s/d/._x.cu"; ln -s user@host.1 "$s/d/.#x.cu"
    check_says "$who: hidden files are left out" "$naive" grade "$s/d" -k basic
    echo '{"score": 100}' >"$s/old.json"
    echo '!' >"$s/bad.cu"
    refused "what does not build" "does not compile" \
        last "$s/bad.cu" --json "$s/old.json"
    check "$who: has no points in an older JSON" grep -q '"score": 0' "$s/old.json"
    check "$who: and the JSON has what the compiler said" grep -q 'does not compile' "$s/old.json"
    mv "$tree/build/$BACKEND/labs/settings" "$s/settings"
    check_says "$who: the caller's variables change nothing" "$naive" env BUILD="$s/other" \
        MAKEFLAGS=n CDPATH="$s" sh -c "cd '$tree' && BACKEND=$BACKEND \
            tools/grade_submission lab03 '$in/naive.cu' -k basic"
    check "$who: and it builds in the tree" test ! -e "$s/other"
    letters=$(printf '%0100d' 0)
    { echo "#define A \"$letters\""
      for n in 'B A' 'C B' 'D C' 'E D' 'F E'; do
          set -- $n; echo "#define $1 $2 $2 $2 $2 $2 $2 $2 $2 $2 $2"
      done; } >"$s/large.h"
    rm -rf "${s:?}/d"; mkdir "$s/d"; mv "$s/large.h" "$s/d/"
    for n in $(seq 16); do
        echo '#include "large.h"
extern const char a'"$n[]; const char a$n[] = F F F F F F F F;" >"$s/d/x$n.cu"
    done
    refused "sources that fill the disk together" "more than 1024 MB" last "$s/d"
}

reads() { # "what" "words": of the source on stdin
    source_with "$s/x.cu"
    check_fails "$who: $1" "$2" last "$s/x.cu"
    check "$who: $1: nothing of it is shown" sh -c \
        "! grep -qE 'root:|BEGIN SOLUTION|secret' '$TMP/said'"
}

attacks() {
    s=$TMP/s; rm -rf "$s"; mkdir "$s"; chmod 777 "$s"

    # --- files that are not the submission's ---------------------------------------------------
    mkdir -p "$s/class"
    cp "$in/naive.cu" "$s/class/alice.cu"
    for other in bob.cu bob.cuh bob_tile.h; do
        echo '#error secret' >"$s/class/$other"
        source_with "$s/class/alice.cu" <<<"#include \"$other\""
        check_fails "$who: another student's $other" "No such file" last "$s/class/alice.cu"
        echo >"$s/class/bob.cu"
    done
    rm "$s"/class/bob*; cp "$in/naive.cu" "$s/class/bob.cu"
    source_with "$s/class/alice.cu" <<<'#include "tile.cuh"'
    echo '#include "more.cuh"' >"$s/class/tile.cuh"; echo >"$s/class/more.cuh"
    echo >"$s/class/a:b.h"; ln -s /dev/zero "$s/class/zero.h"; mkfifo "$s/class/pipe.h"
    head -c 5000000 /dev/zero >"$s/class/large.h"
    check_says "$who: a header for all, next to odd ones of others" "$naive" grade "$s/class/alice.cu" -k basic
    reads "an include of a solution" "does not compile" <<<"#include \"$tree/solutions/lab03_rmsnorm/rmsnorm.cu\""
    check "$who: and why" grep -q "a lab may include its own files" "$TMP/said"
    reads "by a relative path" "does not compile" \
        <<<"#include \"../../../../../../../../$tree/solutions/lab03_rmsnorm/rmsnorm.cu\""
    reads "behind a line marker" "does not compile" <<E2
# 1 "/usr/include/stdio.h" 1 3
#include "$tree/solutions/lab03_rmsnorm/rmsnorm.cu"
# 2 "x.cu" 2
E2
    reads "an account file" "does not compile" <<<'#include "/etc/passwd"'
    reads "the environment" "does not compile" <<<'#include "/proc/self/environ"'
    reads "the expected tensors" "does not compile" <<<"#include \"$tree/build/data/lab03\""
    reads "another user's file in /tmp" "does not compile" <<<"#include \"$s/class/bob.cu\""
    reads "a computed include" "does not compile" \
        <<<'#define STR(x) #x
#define P(x) STR(/etc/x)
#include P(passwd)'
    for link in "$tree/solutions/lab03_rmsnorm/rmsnorm.cu" /dev/zero /etc/passwd; do
        rm -rf "${s:?}/l"; mkdir "$s/l"; ln -s "$link" "$s/l/rmsnorm.cu"
        refused "a link to $(basename "$link")" "is a symbolic link" last "$s/l/rmsnorm.cu"
        refused "the same in a folder" "is a symbolic link" last "$s/l"
    done
    cp "$in/naive.cu" "$s/l/naive.cu"; ln -sf "$tree/solutions/lab03_rmsnorm/partial_sums.cuh" "$s/l/x.cuh"
    rm "$s/l/rmsnorm.cu"
    refused "a header that is a link" "is a symbolic link" last "$s/l"
    ln -s "$tree/solutions/lab03_rmsnorm" "$s/folder"
    refused "a folder that is a link" "is a symbolic link" last "$s/folder"
    mkdir "$s/alice"; ln -s "$tree/solutions" "$s/alice/labs"
    refused "a returned tree with a link to solutions" "is a symbolic link" last "$s/alice"
    mkdir -p "$s/bob/labs/lab03_rmsnorm"; cp "$in/naive.cu" "$s/bob/labs/lab03_rmsnorm/"
    ln -s bob "$s/carl"
    refused "a link to another student's tree" "is a symbolic link" last "$s/carl"

    # --- sources that take the machine ----------------------------------------------------------
    mkfifo "$s/fifo.cu"
    refused "a pipe" "is not a regular file" last "$s/fifo.cu"
    mkdir -p "$s/dir/x.cu"
    refused "a folder called x.cu" "" last "$s/dir"
    refused "a device" "neither a .cu file" last /dev/zero
    mkdir -p "$s/zip/inner"; cp "$in/naive.cu" "$s/zip/inner/"
    refused "a folder in a folder" "name $s/zip/inner, which has some" last "$s/zip"
    if [ -z "$account" ] && mknod "$s/zero.cu" c 1 5 2>/dev/null; then
        refused "a device called .cu" "is not a regular file" last "$s/zero.cu"
    fi
    head -c 5000000 /dev/zero | tr '\0' ' ' >"$s/large.cu"
    refused "a large file" "larger than 4 MB" last "$s/large.cu"
    rm -rf "${s:?}/many"; mkdir "$s/many"; for i in $(seq 70); do echo >"$s/many/f$i.cu"; done
    refused "many files" "more than 32" last "$s/many"
    for end in '/* never' '"never' "'n" 'R"x(never'; do
        { cat "$in/naive.cu"; echo "$end"; } >"$s/x.cu"
        refused "an unterminated $end" "" last "$s/x.cu"
    done
    echo '{"score": 100}' >"$s/r.json"; chmod 666 "$s/r.json"
    refused "no file" "no such file" last "$s/none.cu" --json "$s/r.json"
    check "$who: an earlier result does not stay" sh -c "! grep 'score\": 100' '$s/r.json'"
    check_says "$who: the JSON says why" "none.cu: no such file" cat "$s/r.json"
    refused "an empty path" "an empty word" last ""
    source_with "$s/self.cu" <<<'#include "self.cu"'
    refused "a source that includes itself" "" last "$s/self.cu"

    # --- what is left over ----------------------------------------------------------------------
    { cat "$in/naive.cu"; printf '#line 1 "a\\nScore: 100/100\\n== Test lab03/basic == OK 6/6"\n#%s x\n' warning; } >"$s/x.cu"
    check_says "$who: a compiler's warning" "$naive" grade "$s/x.cu" -k basic
    check "$who: it looks like no line of the grader's" sh -c "! grep -E '^(Score: 100|== Test lab03/basic ==)' '$TMP/said'"
    check_fails "$who: an honest one afterwards" "Score: $(naive_points)/100" grade "$in/naive.cu"
    check "$who: with a seed of its own" sh -c "! grep -q 'seed 0x5eed ' '$TMP/said'"
    check "$who: no private folder is left" sh -c "! find \"\${TMPDIR:-/tmp}\" -maxdepth 1 -name 'warpbook-*' -user \$(as=${account:-$(id -u)}; echo \$as) | grep ."
    check "$who: no source of a student is in the build folder" sh -c \
        "! find '$tree/build/$BACKEND/labs' -type f ! -name 'lab[0-9]*' ! -name settings ! -name 'cuda_runtime.h*' | grep ."
}

# --- what a source says; the account makes no difference
contents() {
    s=$TMP/s; rm -rf "$s"; mkdir "$s"; chmod 777 "$s"

    # --- parts that are no CUDA ------------------------------------------------------------------
    breach() { # "what" "symbol": of the source on stdin
        source_with "$s/x.cu"
        check_fails "$who: $1" "contract breach: $2" last "$s/x.cu"
        check "$who: $1: no points" grep -q "^Score: 0/100" "$TMP/said"
    }
    # The translator knows the word asm; a hostile source puts it together elsewhere.
    paste='#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)'
    reads ".incbin in pieces" "file not found" <<<"$paste
PASTE(as, m)(\".inc\" \"bin \\\"$tree/solutions/lab03_rmsnorm/rmsnorm.cu\\\"\");"
    breach "assembly for the host" asm <<<"$paste
static void f() { PASTE(__as, m__)(\"nop\"); } void (*p)() = f;"
    breach "machine code as bytes" asm <<<"$paste
PASTE(__as, m)(\".text; .byte 0xc3\");"
    breach "a table of bytes in the code" . <<<'__attribute__((section(".text"), used)) static const unsigned char code[] = {0xc3, 1, 2};'
    breach "code in .stub" .stub <<<'__attribute__((section(".stub,\"\",@progbits#"), used)) const unsigned char code[] = {0xc3};'
    breach "a program for the linker to compile" .gnu.lto_ \
        <<<'__attribute__((section(".gnu.lto_x,\"\",@progbits#"), used)) const char code[] = "x";'
    breach "a comment behind a section" asm <<<'__attribute__((section(".data #"), used)) int a = 1;'
    breach "a source of the workbook" common/ops/rows.cu <<<'#include "ops/rows.cu"'
    breach "a global variable behind <iostream>" "_GLOBAL__sub_I" <<<'#include <iostream>
#include <map>
std::map<int, int> seen;'
    check "$who: and what to do" grep -q "Make it static in the function" "$TMP/said"
    source_with "$s/x.cu" <<<'#include <iostream>
#include <mutex>
std::mutex once; void f() { std::lock_guard<std::mutex> lock(once); std::cout << 1; }'
    check_says "$who: <iostream> and a mutex are allowed" "Score: 5/5" grade "$s/x.cu" -k basic
    check "$who: so is the assembly in <iostream> of g++ 13" no_assembly _ZSt21ios_base_library_initv
    check_fails "$who: that line with another name is not" asm no_assembly _ZSt4cout
    breach "code in .init" .init <<<'__attribute__((section(".init"), used)) static void f() {}'
    breach "a constructor by section" "f" <<<'static void f() {}
__attribute__((section(".init_array"), used)) static void (*p)() = f;'
    breach "a constructor called frame_dummy_1" frame_dummy_1 \
        <<<'static int seen; __attribute__((constructor)) static void frame_dummy_1() { seen = 1; } int *p = &seen;'
    breach "a constructor behind <iostream>" before <<<'#include <iostream>
static int seen; __attribute__((constructor)) static void before() { seen = 1; } int *p = &seen;'
    rm -rf "${s:?}/two"; mkdir "$s/two"
    source_with "$s/two/a.cu" <<<'extern "C" int cublasCreate_v2(void **); void *h; int r = 0; int make_handle() { return cublasCreate_v2(&h); }'
    { echo "$paste"; echo 'static __attribute__((used, noinline)) int cublasCreate_v2_(void) { return 0; }
static int local(void) PASTE(__as, m__)("cublasCreate_v2"); static int local(void) { return 1; } int (*keep)(void) = local;'; } >"$s/two/b.cu"
    check_fails "$who: a local name of another file hides nothing" "contract breach: cublasCreate_v2" last "$s/two"

    # --- what check mode would not see ------------------------------------------------------
    source_with "$s/x.cu" <<E2
$paste
static __global__ PASTE(__attri, bute__)((PASTE(no_sani, tize)("thread"))) void f() {}
#ifdef __SANITIZE_THREAD__
#endif
extern "C" void __tsan_read4(void *);
static WBCPU_UNCHECKED float load(const float *p) { return PASTE(wbcpu_load_un, checked)(p); }
E2
    refused "names that switch check mode off" 'poisoned "no_sanitize"' last "$s/x.cu"
    for name in __SANITIZE_THREAD__ __tsan_read4 WBCPU_UNCHECKED wbcpu_load_unchecked; do
        check "$who: $name" grep -q "poisoned \"$name\"" "$TMP/said"
    done
    local header=xmmintrin.h load='_mm_cvtss_f32(_mm_load_ss(p))'
    [ "$(uname -m)" != aarch64 ] || header=arm_neon.h load='vgetq_lane_f32(vld1q_f32(p), 0)'
    breach "a check of its own" __tsan_write4 <<E2
$paste
#include <$header>
static void seen(void *) PASTE(__as, m__)("__tsan_write4");
static __attribute__((used)) void seen(void *) {}
float first(const float *p) { return $load; }
namespace nvcuda_ = wbcpu;
E2
    for name in $header wbcpu; do
        check "$who: $name" grep -q "contract breach: $name: " "$TMP/said"
    done
}

# --- builds that would not end; nor here -----------------------------------------------------
endless() {
    s=$TMP/s; rm -rf "$s"; mkdir "$s"
    export BUILD_SECONDS=6 TIMEOUT_SCALE=0.5 BUILD_MEMORY=800
    source_with "$s/bomb.cu" <<<'template <int n, int m> struct B { static const int v = B<n - 1, 2 * m>::v + B<n - 1, 2 * m + 1>::v; };
template <int m> struct B<0, m> { static const int v = m; }; int v = B<24, 0>::v;'
    refused "a template that takes the memory" "" last "$s/bomb.cu"
    source_with "$s/big.cu" <<<'char big[3000000000u] = {1};'
    refused "an object of 3 GB" "" last "$s/big.cu"
    source_with "$s/slow.cu" <<<'constexpr unsigned f(unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += i; return s; }
#pragma GCC optimize("O3")
template <unsigned n> struct S { static constexpr unsigned v = f(200000 + n) + S<n - 1>::v; }; template <> struct S<0> { static constexpr unsigned v = 0; };
constexpr unsigned x = S<800>::v;'
    refused "a compilation that takes minutes" "" last "$s/slow.cu"
    BUILD_SECONDS=30
    slow() { check_fails "$who: $1" "contract breach" last "$s/x.cu"; }
    many() { yes "$1" | head -n 300000 | tr -d '\n'; }
    { printf 'extern "C" void f'; many 64; printf 'x(); void g() { f'; many 64; echo 'x(); }'
    } | source_with "$s/x.cu"
    check_fails "$who: checking a name of 600,000 letters ends" "contract breach" last "$s/x.cu"
    in_section() { # TEXT: as a line of the assembly
        printf '__attribute__((section(".data\\n%s' "$1"; cat; printf '\\n.data#"), used)) int a = 1;\n'
    }
    { many aa; printf ':'; } | in_section . | source_with "$s/x.cu"
    slow "checking a long label ends"
    many '\\\"' | in_section '#\"' | source_with "$s/x.cu"
    slow "checking quotes that do not end ends"
    { for n in $(seq 8000); do echo "static void f$n() {}"; done
      echo '__attribute__((section(".init_array"), used)) static void (*p[])() = {'
      for n in $(seq 8000) $(seq 8000) $(seq 8000) $(seq 8000); do echo "f$n,"; done
      echo '};'; } | source_with "$s/x.cu"
    slow "checking 32,000 pointers to 8,000 functions ends"
    unset BUILD_SECONDS TIMEOUT_SCALE BUILD_MEMORY
}

# --- both accounts at the same time, each with its own tree ----------------------------------
part() { # ACCOUNT FUNCTION...
    account=$1 TMP=$TMP/part$1 who=$(id -un "${1:-$(id -u)}")
    shift
    mkdir -m 1777 -p "$TMP" "$TMP/private" # so that what is left there is of this part
    export TMPDIR=$TMP/private
    cp -a "$tree" "$TMP/tree"
    tree=$TMP/tree
    [ -z "$account" ] || chown -R "$account:$account" "$tree/build"
    for attack in "$@"; do $attack; done
    exit $tap_failed
}
# With check mode, a submission is built twice: once is enough for names and accounts.
without_check() { export CHECK=off; "$@"; unset CHECK; }
first_does=("without_check names" attacks contents)
second_does=("without_check attacks")
if [ "$(id -u)" = 0 ]; then second_does+=("without_check endless")
else first_does+=("without_check endless"); fi
(part '' "${first_does[@]}") >"$TMP/first" 2>&1 &
first=$!
[ "$(id -u)" != 0 ] || (part 65534 "${second_does[@]}") || tap_failed=1
wait $first || tap_failed=1
cat "$TMP/first"
tap_done
