#!/usr/bin/env bash
# Which kernels a program runs: what has passed, else the solution, else the handout's
# fallback; and two labs with the same helper names never clash.
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/tiny.sh"
PYTHON_REAL=$(realpath "$PYTHON")
tiny_tree
cat >"$tree/program.mk" <<'E2'
$(B)/program: main.c $(B)/kernels.o $(B)/objects/common/wb.o $(BACKEND_LIBS)
	$(Q)$(CC) $(CFLAGS) $(INCLUDES) $(BACKEND_INCLUDES) -c $< -o $@.o
	$(Q)$(CXX) $@.o $(B)/kernels.o $(B)/objects/common/wb.o $(BACKEND_LIBS) $(LDLIBS) -o $@
E2
both="forward backward"
solution_twice() { tiny_source twice 2 0.5 $both >"$tree/solutions/lab01_twice/twice.cu"; }
solution_thrice() { tiny_source thrice 3 0.5 $both >"$tree/solutions/lab02_thrice/thrice.cu"; }
mine_twice() { tiny_source twice 2 0.25 "$@" >"$tree/labs/lab01_twice/twice.cu"; }
mine_thrice() { tiny_source thrice 3 0.25 "$@" >"$tree/labs/lab02_thrice/thrice.cu"; }
solution_twice; solution_thrice; mine_twice $both; mine_thrice $both

says() { # says "what" "results" MAKE-ARGUMENT...
    says_what=$1 says_results=$2; shift 2
    check_says "$says_what" "$says_results" tiny_results "$@"
}
solved="twice=20.5 twice_back=20.5 thrice=30.5 thrice_back=30.5"
for opt in -O0 -O2; do
    rm -rf "$tree/$B/objects/solutions" "$tree/$B/objects/labs"
    says "two labs with the same helper names, $opt" "$solved" OPT=$opt
    says "the same from labs/, $opt" \
        "twice=20.25 twice_back=20.25 thrice=30.25 thrice_back=30.25" OPT=$opt MINE=all
done
check_fails "names of one lab clash with the other's when they are not isolated" "multiple definition" \
    sh -c "cd '$tree' && ${LD:-ld} -r $B/objects/labs/lab01_twice/twice.o $B/objects/labs/lab02_thrice/thrice.o -o '$TMP/x.o'"

says "MINE names one lab" "twice=20.5 twice_back=20.5 thrice=30.25 thrice_back=30.25" MINE=thrice
check_fails "MINE names no lab" "MINE=fourfold: no such lab; use all, none or some of" \
    tiny_link MINE=fourfold

mkdir "$tree/labs/lab00_first"
check_fails "no program calls lab 00" "MINE=first: no such lab; use all, none or some of twice" \
    tiny_link MINE=first
rmdir "$tree/labs/lab00_first"

starter() { # a program that calls one
    printf '#include "wb.h"\nint main(void) { WB_CHECK(WB_TODO); }\n' >"$TMP/todo.c"
    ${CC:-cc} -Icommon "$TMP/todo.c" common/wb.c -o "$TMP/todo" && "$TMP/todo"
}
check_fails "a starter that MINE took says what to do" "finish it in labs/ or build without MINE=" starter

# Function by function: one has passed, its neighbour in the same file has not.
tiny_pass lab01 twice twice_forward_f32
says "a passed function is taken, its neighbour is not" \
    "twice=20.25 twice_back=20.5 thrice=30.5 thrice_back=30.5"
check "the table names the sources" grep -qE "twice_forward +f32 +yours" "$TMP/run"
check "and the solution's" grep -qE "twice_backward +f32 +solution$" "$TMP/run"
says "MINE=none takes the solutions all the same" "$solved" MINE=none
says "nothing is left of another choice" "twice=20.25 twice_back=20.5"

mine_twice forward
tiny_pass lab01 twice twice_forward_f32
says "a half-finished lab" "twice=20.25 twice_back=20.5"
check_fails "a function that is not there cannot be asked for" \
    "labs/lab01_twice does not define twice_backward_f32" tiny_link MINE=twice

echo "// one more try" >>"$tree/labs/lab01_twice/twice.cu"
says "an edited source loses its receipt" "$solved"
check "and the table says so" grep -q "solution (edited since it passed)" "$TMP/run"
echo "broken {" >>"$tree/labs/lab01_twice/twice.cu"
says "an unfinished edit that does not compile is nobody's concern" "$solved"
mine_twice $both
tiny_pass lab01 twice twice_forward_f32 twice_backward_f32
echo "int other(void) { return 1; }" >"$tree/labs/lab01_twice/other.cu"
says "a new file beside it is an edit too" "$solved"
rm "$tree/labs/lab01_twice/other.cu"
says "back as it was: the receipt holds" "twice=20.25 twice_back=20.25"
echo "# another case" >>"$tree/labs/lab01_twice/cases"
says "other cases: to be passed again" "$solved"
check "and the table says so" grep -q "solution (labs/lab01_twice/cases changed since)" "$TMP/run"
mkdir "$tree/reference"
echo "from twice_parts import two" >"$tree/reference/twice.py"
echo "two = 2" >"$tree/reference/twice_parts.py"
tiny_pass lab01 twice twice_forward_f32
says "passed by a reference of two files" "twice=20.25 twice_back=20.5"
echo "two = 3" >"$tree/reference/twice_parts.py"
says "a part of it is another: to be passed again" "$solved"
check "and the table says so" grep -q "(reference/twice_parts.py changed since)" "$TMP/run"
echo "not JSON" >"$tree/$B/passed/lab01.json"
says "a damaged receipt counts for nothing" "$solved"

# A handout: no solutions, their kernels prebuilt.
(cd "$tree" && make -s "$B/fallback.a" BACKEND="$BACKEND") >"$TMP/.out" 2>&1 || tap_show
mkdir "$tree/fallback"
cp "$tree/$B/fallback.a" "$tree/fallback/$BACKEND-$(uname -m).a"
mv "$tree/solutions" "$TMP/away"
rm -rf "$tree/$B/objects/solutions" "$tree/$B/kernels" "$tree/$B/fallback" "$tree/$B/fallback.a" "$tree/$B/passed"
says "a tree without solutions: the fall-back" "$solved"
check "the table says so" grep -qE "twice_forward +f32 +fallback" "$TMP/run"
tiny_pass lab01 twice twice_backward_f32
says "a passed function beside the fall-back" "twice=20.5 twice_back=20.25"
rm -rf "$tree/fallback" "$tree/$B/fallback.a"
check_fails "neither solution nor fall-back: a sentence that names the lab" \
    "lab01_twice: twice_forward_f32 has not passed" tiny_link
mv "$TMP/away" "$tree/solutions"
rm -rf "$tree/$B/passed"
says "solutions again" "$solved"
solution_factor() { sed -i "s/bias = [0-9.]*f/bias = $1f/" "$tree/solutions/lab01_twice/twice.cu"; }
check "an edited solution is noticed" eval 'solution_factor 0.75 && says_now=$(tiny_results; cat "$TMP/run") && echo "$says_now" | grep -q twice=20.75'
solution_factor 0.5
echo "not an archive" >"$tree/$B/fallback.a"
check_says "nothing is rebuilt when nothing is new" "up to date" \
    sh -c "cd '$tree' && make -s $B/kernels.o BACKEND=$BACKEND >/dev/null && touch -r $B/kernels.o '$TMP/stamp' && make $B/kernels.o BACKEND=$BACKEND && [ ! $B/kernels.o -nt '$TMP/stamp' ] && echo up to date"

# From ./grade to the programs, with a real lab: the solution takes the role of the
# learner's work.
if [ ! -d solutions ]; then
    skip "a lab that ./grade has passed is taken" "this tree has no solutions/"
else
    real=$TMP/real mine=$TMP/real/labs/lab02_rope/rope.cu
    mkdir -p "$real/labs" "$real/$B"
    for shared in Makefile mk tools common grader grade reference solutions; do
        ln -s "$PWD/$shared" "$real/$shared"
    done
    mkdir -p build/data && ln -s "$PWD/build/host" "$PWD/build/data" "$real/build/"
    reuse_build "$real/$B" "$B" objects/solutions
    (B=build/check; reuse_build "$real/build/check" build/check)
    cp -r labs/lab02_rope "$real/labs/"
    in_real() { (cd "$real" && "$@"); }
    make_real() { in_real make -s BACKEND="$BACKEND" OPT="$QUICK" "$@"; }
    grade_real() { make_real lab02 "$@" && BUILD=$B in_real ./grade lab02; }
    table_says() {
        make_real "$B/kernels.o" && grep -qE "$1" "$real/$B/kernels/table.c"
    }
    check "full points by FROM=solutions" grade_real FROM=solutions
    check "are not the learner's: the solution is taken" table_says "rope_forward .*solution"
    cp solutions/lab02_rope/*.cu* "$real/labs/lab02_rope/"
    check "full points of the learner's own file" grade_real
    check "count: all its functions are taken" table_says "rope_backward +f32 f16 bf16 +yours"
    check "and counted" table_says "kernels: [1-9][0-9]* of [1-9][0-9]* are yours .--kernels"
    check "and a program can ask" table_says 'yours\[\] = .*"rope_forward", '
    check "none from elsewhere" sh -c "! grep -q solution '$real/$B/kernels/table.c'"
    sed -i 's/if (ld < (long long)H/if (sign < 0.0f) return WB_TODO; &/' "$mine"
    check "edited: no longer" table_says "rope_forward .*solution .edited since it passed"
    check "  and counted" table_says "kernels: 0 of .* are yours, [1-9][0-9]* changed since they passed"
    grade_real >/dev/null 2>&1
    check "half of the lab passes again: it is taken" table_says "rope_forward +f32 f16 bf16 +yours"
    check "the other half is the solution's" table_says "rope_backward +f32 f16 bf16 +solution"
fi

# A lab of several parts that share a header. Each part has a kernel template of the
# same name and arguments that does something else.
tiny_part() { # FUNCTION FACTOR: twice_FUNCTION gives FACTOR x + 1
    cat <<EOF
#include "twice.h"
#include "given.cuh"
template <typename E> __global__ void scale(E *out, const E *x, int n)
{
    int i = given_index();
    if (i < n) out[i] = E($2) * x[i] + given_bias();
}
wb_status twice_$1_f32(float *out, const float *x, int n, cudaStream_t stream)
{
    scale<<<(n + 63) / 64, 64, 0, stream>>>(out, x, n);
    return wb_launched();
}
EOF
}
given() { # BIAS
    printf 'static __device__ inline int given_index(void)\n%s\n' \
        '{ return blockIdx.x * blockDim.x + threadIdx.x; }'
    echo "template <typename E = float> __device__ E given_bias(void) { return E($1); }"
}
parts() { # FOLDER BIAS
    rm -f "$1"/*.cu
    tiny_part forward 4 >"$1/forward.cu"; tiny_part backward 5 >"$1/backward.cu"
    given "$2" >"$1/given.cuh"
}
parts "$tree/solutions/lab01_twice" 0.5; parts "$tree/labs/lab01_twice" 0.25
for opt in -O0 -O2; do
    rm -rf "$tree/$B/objects/solutions" "$tree/$B/objects/labs"
    says "two parts with templates of one name, $opt" "twice=40.5 twice_back=50.5" OPT=$opt
    says "the same from labs/ with its own header, $opt" "twice=40.25 twice_back=50.25" \
        OPT=$opt MINE=twice
done
tiny_pass lab01 twice twice_backward_f32
says "one part has passed, the other has not" "twice=40.5 twice_back=50.25"
check "all parts become one object" eval '(cd "$tree" && make -s $B/solutions/lab01_twice.o BACKEND=$BACKEND) &&
    [ "$(${NM:-nm} --extern-only --defined-only "$tree/$B/solutions/lab01_twice.o" | grep -c " T ")" = 2 ]'
given 1.5 >"$tree/labs/lab01_twice/given.cuh"
check "an edited header beside the parts is noticed" eval 'says_now=$(tiny_results MINE=twice) && echo "$says_now" | grep -q "twice=41.5 twice_back=51.5"'
rm "$tree"/{labs,solutions}/lab01_twice/{forward.cu,backward.cu,given.cuh}
solution_twice; mine_twice $both

# The same isolation on nvcc's objects, on a computer without a GPU.
if [ "$BACKEND" = cuda ]; then :
elif [ -z "${NVCC:-$(command -v nvcc)}" ]; then
    skip "two labs with the same helper names, nvcc" "nvcc is not there"
else
    B=build/cuda
    check "two labs with the same helper names, nvcc: they link" \
        sh -c "cd '$tree' && make -s $B/kernels.o $B/program BACKEND=cuda MINE=all ARCH=-arch=sm_80 -f Makefile -f program.mk"
fi
tap_done
