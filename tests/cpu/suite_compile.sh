#!/usr/bin/env bash
# What the CPU back end makes of a source: red zones, mistakes that are rejected, loops over
# threads, lines for the debugger, other compilers, sanitizers.
. "$(dirname "$0")/../tap.sh"
[ "$BACKEND" = cpu ] || tap_done

# Builds one .cu by hand: build COMPILER FILE.cu OUT [FLAGS]
flags="$(grep -v '^#' common/cpu/flags) -Icommon/cpu/include -Icommon/cpu -include cuda_runtime.h"
build() {
    compiler=$1 file=$2 out=$3; shift 3
    mkdir -p "$out.d" && build/host/translate "$file" "$out.d" &&
        $compiler $flags -iquote "$(dirname "$file")" "$@" \
            -x c++ "$out.d/$(basename "$file").cpp" -x none -o "$out" \
            ${LIB:-$B/libwbcpu.a} -lstdc++ -lpthread -ldl -lm
}
compile_only() { build "$1" "$2" "$3" -fsyntax-only; }

# wrong COMPILER FILE COMMAND...: must fail, with every `// says:` line of FILE in its
# output
wrong() {
    name="$(basename "$2" .cu) ($1)" file=$2; shift 2
    if "$@" >"$TMP/.out" 2>&1; then
        echo "not ok - $name (did not fail)"; tap_failed=1; return
    fi
    sed -n 's,^// says: ,,p' "$file" | while read -r words; do
        grep -qF -- "$words" "$TMP/.out" || echo "$words"
    done >"$TMP/.missing"
    if [ -s "$TMP/.missing" ]; then
        echo "not ok - $name does not say: $(cat "$TMP/.missing")"; tap_show; tap_failed=1
    else echo "ok - $name"; fi
}

echo "# right programs among red zones, in shared memory full of NaN"
cat >"$TMP/poison.cpp" <<'END'
#include "wbcpu.h"
__attribute__((constructor)) static void poison() { wbcpu_poison_shared(0x7FFB, 0x7FF7); }
END
anchors=$(case ${CXX:-g++} in *clang*) ;; *) echo -fno-section-anchors ;; esac)
with_red_zones() { # COMPILER NAME: builds tests/cpu/NAME.cu as tools/compiling.py does
    mkdir -p "$TMP/zones" &&
        build/host/translate "tests/cpu/$2.cu" "$TMP/zones" -I common &&
        $1 $flags $anchors -Icommon -O1 -iquote tests/cpu -DWBCPU_RED_ZONES \
            -fsanitize=alignment -fno-sanitize-recover=alignment -x c++ -S "$TMP/zones/$2.cu.cpp" -o "$TMP/zones/$2.s" &&
        "$PYTHON" tools/red_zones.py "$TMP/zones/$2.s" &&
        [ "$(grep -c 'zero.*2048' "$TMP/zones/$2.s")" -gt 4 ] &&
        $1 $flags "$TMP/poison.cpp" "$TMP/zones/$2.s" -o "$TMP/zones/$2" \
            ${LIB:-$B/libwbcpu.a} -lstdc++ -lpthread -ldl -lm && "$TMP/zones/$2"
}
for name in language blocks file_shared cluster; do
    check "$name" with_red_zones "${CXX:-g++}" $name
done
for seed in 1 2 3 4 5 6 7 8; do
    check "cluster in thread order $seed" env WB_SHUFFLE=$seed "$TMP/zones/cluster"
done
check_fails "a write past an array at file scope" \
    "writes past the end of its shared array counts (tests/cpu/file_shared.cu:11): it has 12" \
    "$TMP/zones/file_shared" past

echo "# mistakes are rejected with the line of the source"
compilers=${CXX:-g++}
if command -v clang++ >/dev/null && [ "${CXX:-}" != clang++ ]; then
    compilers="$compilers clang++"
fi
for file in tests/cpu/wrong/translate_*.cu; do
    wrong translator "$file" build/host/translate "$file" "$TMP/t"
done
for compiler in $compilers; do
    for file in tests/cpu/wrong/compile_*.cu; do
        wrong "$compiler" "$file" compile_only "$compiler" "$file" "$TMP/wrong"
    done
done
for file in tests/cpu/wrong/run_*.cu; do
    if [ "$(basename "$file")/$(uname -m)" = run_divide.cu/aarch64 ]; then
        skip "run_divide" "AArch64 divides by zero without an error, as GPUs do"
    elif build "${CXX:-g++}" "$file" "$TMP/run" >"$TMP/.out" 2>&1; then
        # one worker, so that the same block deadlocks first on every machine
        wrong "at run time" "$file" env WB_THREADS=1 "$TMP/run"
    else echo "not ok - $file does not compile"; tap_show; tap_failed=1; fi
done
for file in tests/cpu/right/*.cu; do
    for compiler in $compilers; do
        check "$(basename "$file" .cu) is accepted ($compiler)" \
            compile_only $compiler "$file" "$TMP/right"
    done
done
check_fails "a missing file" "nowhere.cu: error: cannot be read" \
    build/host/translate nowhere.cu "$TMP/t"
cat >"$TMP/active.cu" <<'END'
__global__ void k(unsigned *x) { x[threadIdx.x] = __activemask(); }
int main() { k<<<1, 32>>>(nullptr); }
END
check_says "__activemask warns" \
    "which lanes are active together depends on the scheduler" \
    compile_only "${CXX:-g++}" "$TMP/active.cu" "$TMP/active"

echo "# the translator"
check "line breaks are kept" bash -c "
    build/host/translate tests/cpu/language.cu $TMP/t &&
    [ \$((\$(wc -l <tests/cpu/language.cu) + 1)) = \
      \$(sed '/^#ifdef WBCPU_WHOLE/,/^#endif/d; /^# [0-9]* [^ ]*\$/{N;s/.*\n//;H;d}' $TMP/t/language.cu.cpp | wc -l) ]"
check "nested headers are translated and are dependencies for make" bash -c "
    build/host/translate tests/cpu/language.cu $TMP/t -d out.o &&
    grep -q '\"language.cu.[12].h\"' $TMP/t/language.cu.cpp &&
    grep -q wbcpu_dynamic_shared $TMP/t/language.cu.[12].h &&
    grep -q attribute $TMP/t/language.cu.[12].h &&
    grep -q 'out.o:.*tests/cpu/language.cuh' $TMP/t/language.cu.headers.d &&
    grep -q 'out.o:.*tests/cpu/parts/inner.cuh' $TMP/t/language.cu.headers.d"
cat >"$TMP/loops.cu" <<'END'
#define HALF_WARP 16
constexpr int WARP = 32;
__device__ float yes(float v, float *s, float2 m)
{
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
    for (int offset = warpSize / 2; offset; offset /= 2) {
        v += __shfl_down_sync(~0u, v, offset);
    }
    for (unsigned o = WARP / 2; o >= 1; o = o / 2)
        v = fmaxf(v, __shfl_xor_sync(-1, v, o));
    for (int o = HALF_WARP; o != 0; o >>= 1) v = min(__shfl_xor_sync(~0u, v, o, 32), v);
#pragma unroll
    for (int o = 1; o < 32; o *= 2) v = v + __shfl_xor_sync(~0u, v, o);
    for (int o = 16; o > 0; o /= 2) { // two in one loop
        s[3] += __shfl_xor_sync(~0u, s[3], o);
        m.y *= __shfl_xor_sync(~0u, m.y, /* lane */ o);
    }
    for (int o = 16; o > 0; o /= 2) { // in two steps
        float t = __shfl_down_sync(~0u, v, o);
        v = fmaxf(v, t);
        const float u = __shfl_down_sync(~0u, m.x, o);
        m.x += u;
    }
    return v;
}
END
cat >"$TMP/other.cu" <<'END'
__device__ float no(float v, float w, float *s, int n, int i)
{
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, w, o);
    for (int o = 16; o > 1; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    for (int o = n / 2; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    for (int o = 12; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    for (int o = 16; o > 0; o >>= 1) v -= __shfl_xor_sync(~0u, v, o);
    for (int o = 16; o > 0; o >>= 1) v += 2 * __shfl_xor_sync(~0u, v, o);
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o), w++;
    for (int o = 16; o > 0; o >>= 1) { v += __shfl_xor_sync(~0u, v, o); w += v; }
    for (int o = 16; o > 0; o >>= 1) {
        v += __shfl_xor_sync(~0u, v, o);
        w += __shfl_xor_sync(~0u, w + v, o);
    }
    for (int o = 16; o > 0; o >>= 1) float t = __shfl_xor_sync(~0u, v, o); v += w;
    for (int o = 16; o > 0; o >>= 1) { float t = __shfl_xor_sync(~0u, v, o); v += t * t; }
    for (int o = 16; o > 0; o >>= 1) { float t = __shfl_xor_sync(~0u, v, o); w += t; }
    for (int o = 16; o > 0; o >>= 1) { float o = __shfl_xor_sync(~0u, v, o); v += o; }
    for (int o = 16; o > 0; o >>= 1) s[i++] += __shfl_xor_sync(~0u, s[i++], o);
    for (int o = 16; o > 0; o >>= 1) s[o] += __shfl_xor_sync(~0u, s[o], o);
    for (int o = 16; o > 0; o >>= 1)
        v += __shfl_xor_sync(__ballot_sync(~0u, 1), v, o);
    for (int o = 16; o > 0; o >>= 1) v += __shfl_down_sync(~0u, v, o, 16);
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o, 16);
    for (int o = 16; o > 0; o -= 1) v += __shfl_xor_sync(~0u, v, o);
    for (int o = 16; o > 0; o >>= 1) if (o != 2) v += __shfl_xor_sync(~0u, v, o);
    for (int o = 16; o > 0; o >>= 1) v += __shfl_up_sync(~0u, v, o);
    return v;
}
END
count_loops() {
    build/host/translate "$1" "$TMP/t" &&
        grep -o warp_loop "$TMP/t/$(basename "$1").cpp" | wc -l
}
check_says "reduction loops are recognized" "9" count_loops "$TMP/loops.cu"
check_says "other loops are left alone" "0" count_loops "$TMP/other.cu"
count_blocks() {
    build/host/translate "$1" "$TMP/t" &&
        grep -c begin_block "$TMP/t/$(basename "$1").cpp" || true
}
check_says "threads as loops" "19" count_blocks tests/cpu/whole_blocks.cu
cat >"$TMP/left.cu" <<'END'
__global__ void k(float *y, const float *x)
{
    float v = x[threadIdx.x];
    v += __shfl_xor_sync(~0u, v, 1);
    if (threadIdx.x < 32) {
        v += __shfl_xor_sync(~0u, v, 2);
        y[threadIdx.x] = v;
    }
}
END
count_tests() { build/host/translate "$TMP/left.cu" "$TMP/t" && grep -o "$1" "$TMP/t/left.cu.cpp" | wc -l; }
check_says "only threads in an if may be left out" 2 count_tests 'if (wbcpu_gone'
check_says "and rows of them" 2 count_tests 'if (::wbcpu::is_row_gone'
check_says "kernels that call functions" "10" count_blocks tests/cpu/whole_calls.cu
check_says "other kernels are left alone" "0" count_blocks tests/cpu/no_loops.cu
shown() { WBCPU_LOOPS=1 build/host/translate "$1" "$TMP/t"; }
check_says "WBCPU_LOOPS shows loops" "functions: loops, if these have plain types: scale" \
    shown tests/cpu/whole_calls.cu
check_says "and why a kernel is none" \
    "u: fibers: line 22 cannot be parsed, near \`&\`" shown tests/cpu/no_loops.cu
echo '#ifdef WBCPU_WHOLE_BLOCKS' >"$TMP/no.cu.cpp"
rejected_loops() {
    WBCPU_LOOPS=1 tools/compile_blocks.sh "$TMP/no.cu.cpp" sh -c \
        '[ $# = 1 ] || { echo "no.cu:3: error: here" >&2; exit 1; }' sh 2>&1
}
check_says "or that the loops do not compile" \
    "no.cu: all kernels: fibers: the loops do not compile: no.cu:3: error: here" rejected_loops
check "they compile" build "${CXX:-g++}" tests/cpu/whole_blocks.cu "$TMP/run" -O2
check "and so do these" build "${CXX:-g++}" tests/cpu/whole_calls.cu "$TMP/run" -O2
check_fails "a shuffle in an if waits for lanes that do not come" \
    "waits for lanes 0xffff0000, which an \`if\` leaves out" "$TMP/run" incomplete
build "${CXX:-g++}" tests/cpu/wrong/run_crash.cu "$TMP/run" -O2 >"$TMP/.out" 2>&1
check_fails "a crash in such a kernel names 16 threads" \
    "block (0,0,0), threads (32,1,0) to (47,1,0); WB_SHUFFLE=1 finds which" "$TMP/run"
check_fails "an access far from any allocation, after one that failed" \
    "an allocation of 1125899906842624 bytes failed earlier" "$TMP/run" far
check_fails "and in a seeded order the thread" "block (0,0,0), thread (33,1,0)" \
    env WB_THREADS=1 WB_SHUFFLE=3 "$TMP/run"

echo "# the debugger"
if command -v gdb >/dev/null; then
    build "${CXX:-g++}" tests/cpu/gdb_demo.cu "$TMP/demo" -O0 -g >"$TMP/.out" 2>&1
    line=$(grep -n 'stop here' tests/cpu/gdb_demo.cu | cut -d: -f1)
    in_gdb() {
        WB_THREADS=1 gdb -q -batch -nx -ex "set debuginfod enabled off" \
            -ex "break gdb_demo.cu:$line if threadIdx.x == 5" -ex run \
            -ex 'printf "thread %d of block %d\n", threadIdx.x, blockIdx.x' -ex next \
            -ex 'printf "v = %g, s[5] = %g\n", v, s[5]' -ex backtrace "$TMP/demo"
    }
    if in_gdb 2>&1 | grep -q "ptrace: Operation not permitted"; then
        skip "gdb" "ptrace is not permitted"
    else
        check_says "gdb stops in the requested thread" "thread 5 of block 0" in_gdb
        check_says "gdb prints local and shared variables" "v = 116, s[5] = 10" in_gdb
        check_says "gdb's backtrace has the line in the kernel" \
            "gdb_demo.cu:$((line + 1))" in_gdb
    fi
else skip "gdb" "not installed"; fi

echo "# other compilers"
for compiler in clang++ g++-11; do
    command -v $compiler >/dev/null || { skip "$compiler" "not installed"; continue; }
    for program in language warps blocks; do
        check "$program by $compiler" \
            build $compiler tests/cpu/$program.cu "$TMP/$program" -O1 -w
        check "$program by $compiler runs" "$TMP/$program"
    done
done

echo "# sanitizers"
sanitized() { make -s -j2 BACKEND=cpu asan-programs; }
check "a build with AddressSanitizer and UndefinedBehaviorSanitizer" sanitized
export ASAN_OPTIONS=detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1
for program in language warps blocks runtime backend; do
    check "$program under the sanitizers" build/cpu-asan/tests/cpu/$program
    check "$program under the sanitizers in thread order 4" \
        env WB_SHUFFLE=4 build/cpu-asan/tests/cpu/$program
done
LIB=build/cpu-asan/libwbcpu.a build "${CXX:-g++}" tests/cpu/wrong/asan_overflow.cu \
    "$TMP/over" -O1 -fsanitize=address,undefined
wrong AddressSanitizer tests/cpu/wrong/asan_overflow.cu "$TMP/over"
sanitized_lab() { make BACKEND=cpu asan-lab00 "$@"; }
check "a lab under the sanitizers" sanitized_lab FROM=solutions
check_says "is graded without --under" "Score: 11/11" \
    env -u ASAN_OPTIONS BUILD=build/cpu-asan ./grade lab00 -k 00.7
cp solutions/lab00_basics/basics.cu "$TMP/"
check_fails "a source from elsewhere is refused" "copy $TMP/basics.cu to labs/lab00_basics" \
    sanitized_lab FILE="$TMP/basics.cu"
tap_done
