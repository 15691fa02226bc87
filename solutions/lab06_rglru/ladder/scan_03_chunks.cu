/* scan_03_chunks.cu - time is cut into chunks of STEPS, so that chunks run side by side. What
 * a chunk does to the state before it is again one step, h -> A h + H. Three kernels:
 *
 *     totals   a thread per chunk and channel: A and H of the chunk
 *     carries  a thread per row and channel goes over the chunks: the state before each
 *     finish   a thread per chunk and channel walks again, now from the right state
 *
 * Any B fills the machine, but a and z are read twice: 5 tensors move in place of 3.
 */
#include "rglru.h"

constexpr int BLOCK = 128;
constexpr int STEPS = 64;

static __host__ __device__ size_t chunks_of(int T)
{
    return ((size_t)T + STEPS - 1) / STEPS;
}

/* One of the two directions. Backwards, step i of the scan is token T-1-i, its factor a of the
 * token after, and what comes from outside at T-1 is dh_last. */
template <typename E> struct scan {
    const E *a, *z;      // z: dh, backwards
    const float *start;  // the state before the first step, or NULL: 0
    E *out, *da;         // h, or dz and da
    const E *h;          // backwards: of the forward pass
    const float *h0;
    float *last;    // the state after the last step, or NULL; backwards: dh0
    float2 *pairs;  // (chunks, B, C): A and H; then .x is the state before the chunk
    int B, T, C;
};

/* Step i of channel `at` (of token 0 of its row): the factor of the state, and the term. */
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
    size_t n = (size_t)blockIdx.x * BLOCK + threadIdx.x, rows = (size_t)s.B * s.C;
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
    size_t row = (size_t)blockIdx.x * BLOCK + threadIdx.x, rows = (size_t)s.B * s.C;
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
    size_t n = (size_t)blockIdx.x * BLOCK + threadIdx.x, rows = (size_t)s.B * s.C;
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

static size_t scan_workspace(int B, int T, int C)
{
    return B < 1 || T < 1 || C < 1 ? 0 : chunks_of(T) * B * C * sizeof(float2);
}

template <bool BACK, typename E> static void run(scan<E> s, cudaStream_t stream)
{
    size_t rows = (size_t)s.B * s.C, all = chunks_of(s.T) * rows;
    unsigned many = (unsigned)((all + BLOCK - 1) / BLOCK);
    totals<BACK><<<many, BLOCK, 0, stream>>>(s);
    carries<<<(unsigned)((rows + BLOCK - 1) / BLOCK), BLOCK, 0, stream>>>(s);
    finish<BACK><<<many, BLOCK, 0, stream>>>(s);
}

template <typename E>
static void scan_forward(
    E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T, int C,
    void *workspace, cudaStream_t stream)
{
    scan<E> s = {a, z, h0, h, NULL, NULL, NULL, h_last, (float2 *)workspace, B, T, C};
    run<false>(s, stream);
}

template <typename E>
static void scan_backward(
    E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a, const E *h,
    const float *h0, int B, int T, int C, void *workspace, cudaStream_t stream)
{
    scan<E> s = {a, dh, dh_last, dz, da, h, h0, dh0, (float2 *)workspace, B, T, C};
    run<true>(s, stream);
}

#include "scan_contract.h"
