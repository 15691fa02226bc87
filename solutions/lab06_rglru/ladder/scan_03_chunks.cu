/* scan_03_chunks.cu - part 06.4: time is cut into chunks of STEPS, which run in parallel.
 * A chunk as a whole is again one step, h -> A h + H. Three kernels:
 *
 *     totals   a thread per chunk and channel: A and H of the chunk
 *     carries  a thread per row and channel walks over the chunks: the state before each
 *     finish   a thread per chunk and channel walks again, now from the right state
 *
 * Any B fills the GPU, but a and z are read twice: 5 tensors move instead of 3.
 */
// fails: scan_once
#include "rglru_contract.cuh"

constexpr int THREADS = 128;
constexpr int STEPS = 64;

static __host__ __device__ size_t chunks_of(int T)
{
    return ((size_t)T + STEPS - 1) / STEPS;
}

/* Either direction. Backward, step i of the scan is token T-1-i, its factor is a of the
 * token after it, and the state before the first step is dh_last. */
template <typename E> struct scan {
    const E *a, *z;      // z: dh in the backward pass
    const float *start;  // the state before the first step, or NULL: 0
    E *out, *da;         // h, or dz and da
    const E *h;          // backward: of the forward pass
    const float *h0;
    float *last;    // the state after the last step, or NULL; backward: dh0
    float2 *pairs;  // (chunks, B, C): A and H; then .x is the state before the chunk
    int B, T, C;
};

/* Step i of the channel whose token 0 is at `at`: the factor of the state, the term */
template <bool BACK, typename E>
static __device__ float2 step_of(const scan<E> &s, size_t at, int i)
{
    if (!BACK) {
        at += (size_t)i * s.C;
        return make_float2((float)s.a[at], (float)s.z[at]);
    }
    at += (size_t)(s.T - 1 - i) * s.C;
    return make_float2(i ? (float)s.a[at + s.C] : 1.0f, (float)s.z[at]);
}

template <bool BACK, typename E> static __global__ void totals(scan<E> s)
{
    size_t n = (size_t)blockIdx.x * THREADS + threadIdx.x, rows = (size_t)s.B * s.C;
    if (n >= chunks_of(s.T) * rows) return;  // (chunk B + b) C + c
    size_t row = n % rows, at = row / s.C * s.T * s.C + row % s.C;
    int first = (int)(n / rows) * STEPS, end = min(first + STEPS, s.T);
    float A = 1.0f, H = 0.0f;
    for (int i = first; i < end; i++) {
        float2 step = step_of<BACK>(s, at, i);
        A *= step.x, H = step.x * H + step.y;
    }
    s.pairs[n] = make_float2(A, H);
}

template <typename E> static __global__ void carries(scan<E> s)
{
    size_t row = (size_t)blockIdx.x * THREADS + threadIdx.x, rows = (size_t)s.B * s.C;
    if (row >= rows) return;  // [0, B*C)
    float state = s.start ? s.start[row] : 0.0f;
    for (size_t n = row; n < chunks_of(s.T) * rows; n += rows) {
        float2 pair = s.pairs[n];
        s.pairs[n].x = state;
        state = pair.x * state + pair.y;
    }
}

template <bool BACK, typename E> static __global__ void finish(scan<E> s)
{
    size_t n = (size_t)blockIdx.x * THREADS + threadIdx.x, rows = (size_t)s.B * s.C;
    if (n >= chunks_of(s.T) * rows) return;
    size_t row = n % rows, at = row / s.C * s.T * s.C + row % s.C;
    int first = (int)(n / rows) * STEPS, end = min(first + STEPS, s.T);
    float state = s.pairs[n].x;
    for (int i = first; i < end; i++) {
        float2 step = step_of<BACK>(s, at, i);
        state = step.x * state + step.y;
        int t = BACK ? s.T - 1 - i : i;
        size_t here = at + (size_t)t * s.C;
        s.out[here] = (E)state;
        if (BACK) {
            float before = t ? (float)s.h[here - s.C] : s.h0 ? s.h0[row] : 0.0f;
            s.da[here] = (E)(state * before);
        }
    }
    if (s.last && end == s.T) s.last[row] = BACK ? (float)s.a[at] * state : state;
}

template <bool BACK, typename E> static wb_status run(scan<E> s, cudaStream_t stream)
{
    size_t rows = (size_t)s.B * s.C, all = chunks_of(s.T) * rows;
    unsigned blocks = (unsigned)((all + THREADS - 1) / THREADS);
    totals<BACK><<<blocks, THREADS, 0, stream>>>(s);
    carries<<<(unsigned)((rows + THREADS - 1) / THREADS), THREADS, 0, stream>>>(s);
    finish<BACK><<<blocks, THREADS, 0, stream>>>(s);
    return wb_launched();
}

template <typename E> static size_t linear_scan_workspace(int B, int T, int C)
{
    return B < 1 || T < 1 || C < 1 ? 0 : chunks_of(T) * B * C * sizeof(float2);
}

template <typename E>
static wb_status linear_scan(scan_call<E> call, void *workspace, cudaStream_t stream)
{
    float2 *pairs = (float2 *)workspace;
    scan<E> s = {
        call.a, call.z, call.h0, call.h, NULL, NULL, NULL, call.h_last, pairs, call.B,
        call.T, call.C};
    return run<false>(s, stream);
}

template <typename E> static size_t linear_scan_back_workspace(int B, int T, int C)
{
    return linear_scan_workspace<E>(B, T, C);
}

template <typename E>
static wb_status
linear_scan_back(scan_back_call<E> call, void *workspace, cudaStream_t stream)
{
    float2 *pairs = (float2 *)workspace;
    scan<E> s = {
        call.a, call.dh, call.dh_last, call.dz, call.da, call.h, call.h0, call.dh0, pairs,
        call.B, call.T, call.C};
    return run<true>(s, stream);
}

DEFINE_LINEAR_SCAN_FORWARD(float, f32)
DEFINE_LINEAR_SCAN_FORWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_FORWARD(wb_bf16, bf16)
DEFINE_LINEAR_SCAN_BACKWARD(float, f32)
DEFINE_LINEAR_SCAN_BACKWARD(wb_f16, f16)
DEFINE_LINEAR_SCAN_BACKWARD(wb_bf16, bf16)
