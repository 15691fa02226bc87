# tiny.sh - sourced: a workbook in $TMP/tree with two labs of a few lines each. Their
# helpers have the same names. Build rules, tools and back end are the real ones.
tree=$TMP/tree

# tiny_source OP FACTOR BIAS [FUNCTION...]: a .cu that computes FACTOR * x + BIAS. Every
# helper has the same name in both labs but does something different, so the results show
# whether the linker mixed them up.
tiny_source() {
    tiny_op=$1 tiny_factor=$2 tiny_bias=$3
    shift 3
    cat <<EOF
#include "$tiny_op.h"

__constant__ float bias = ${tiny_bias}f;
int threads(void) { return 32 * $tiny_factor; }
struct factor { static float value(void) { return $tiny_factor.0f; } };
template <typename E> struct launches { static int count; };
template <typename E> int launches<E>::count = 1000 * $tiny_factor;
template <typename E> inline int &calls(void)
{
    static int n = 100 * $tiny_factor;
    return n;
}

template <typename E> __global__ void scale(E *out, const E *x, int n, float factor)
{
    __shared__ float shared[32 * $tiny_factor];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    shared[threadIdx.x] = i < n ? (float)x[i] : 0.0f;
    __syncthreads();
    if (i < n) out[i] = E(shared[threadIdx.x] * factor + bias);
}

template <typename E> wb_status run(E *out, const E *x, int n, cudaStream_t stream)
{
    launches<E>::count++;
    calls<E>()++;
    if (launches<E>::count / 1000 != $tiny_factor) return WB_UNSUPPORTED;
    if (calls<E>() / 100 != $tiny_factor) return WB_UNSUPPORTED;
    scale<E><<<(n + threads() - 1) / threads(), threads(), 0, stream>>>(
        out, x, n, factor::value());
    return wb_launched();
}
EOF
    for tiny_function in "$@"; do
        echo "wb_status ${tiny_op}_${tiny_function}_f32("
        echo "    float *out, const float *x, int n, cudaStream_t stream)"
        echo "{ return run<float>(out, x, n, stream); }"
    done
}

tiny_lab() { # tiny_lab lab01 OP
    mkdir -p "$tree/labs/$1_$2" "$tree/solutions/$1_$2"
    cat >"$tree/labs/$1_$2/$2.h" <<EOF
#ifndef TINY_$2
#define TINY_$2
#include "wb.h"
#ifdef __cplusplus
extern "C" {
#endif
wb_status $2_forward_f32(float *out, const float *x, int n, cudaStream_t stream);
wb_status $2_backward_f32(float *out, const float *x, int n, cudaStream_t stream);
#ifdef __cplusplus
}
#endif
#endif
EOF
    echo "# cases" >"$tree/labs/$1_$2/cases"
}

tiny_tree() {
    mkdir -p "$tree/build" "$tree/grader/adapters"
    for shared in Makefile mk tools common; do ln -s "$PWD/$shared" "$tree/$shared"; done
    ln -s "$PWD/build/host" "$tree/build/host"
    reuse_build "$tree/$B" "$B"
    tiny_lab lab01 twice
    tiny_lab lab02 thrice
    cat >"$tree/main.c" <<'EOF'
#include "kernels.h"
#include "thrice.h"
#include "twice.h"
#include <cuda_runtime_api.h>
#include <stdio.h>

enum { N = 200 };
typedef wb_status launcher(float *out, const float *x, int n, cudaStream_t stream);

/* Prints the result for x = 10, which must be the same in all elements. */
static void show(const char *name, launcher *f)
{
    float x[N], y[N], *dx, *dy;
    for (int i = 0; i < N; i++) x[i] = 10;
    cudaMalloc((void **)&dx, sizeof x);
    cudaMalloc((void **)&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    wb_status s = f(dy, dx, N, NULL);
    cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
    for (int i = 1; i < N; i++)
        if (y[i] != y[0]) s = WB_BAD_CUDA;
    if (s == WB_OK) printf("%s=%g\n", name, y[0]);
    else printf("%s: %s\n", name, wb_status_name(s));
}

int main(void)
{
    wb_print_kernels(stdout);
    show("twice", twice_forward_f32);
    show("twice_back", twice_backward_f32);
    show("thrice", thrice_forward_f32);
    show("thrice_back", thrice_backward_f32);
    return 0;
}
EOF
}

# Links $B/kernels.o and the program. The arguments go to make.
tiny_link() {
    (cd "$tree" && make -s "$B/kernels.o" "$B/program" BACKEND="$BACKEND" -f Makefile \
        -f program.mk "$@")
}
tiny_run() { tiny_link "$@" && "$tree/$B/program"; }
# Only the results, on one line.
tiny_results() { tiny_run "$@" >"$TMP/run" && grep = "$TMP/run" | paste -sd' '; }

# tiny_pass lab01 twice FUNCTION...: writes a receipt like the grader's.
tiny_pass() {
    (cd "$tree" && mkdir -p "$B/passed" && "$PYTHON_REAL" - "$@" <<'EOF'
import json, os, sys
sys.path.insert(0, "tools")
import labkit
lab, op, *functions = sys.argv[1:]
name = f"{lab}_{op}"
files = labkit.judged_by(name) + labkit.sources(f"labs/{name}")
receipt = {"lab": name, "files": labkit.hashes(files), "functions": functions}
open(os.environ["B"] + f"/passed/{lab}.json", "w").write(json.dumps(receipt))
EOF
    )
}
