/* 03_walk.cu - parts 06.2 and 06.3: a thread walks through the tokens of a channel.
 *
 * Neighbouring threads have neighbouring channels, so a warp reads 32 neighbours at every
 * step. What a channel needs repeatedly stays in registers: its taps, its last inputs,
 * softplus of its parameter. So each element is loaded once. Rows are cut into chunks of
 * 32 tokens to fill the GPU; each chunk writes its part of dw, dbias or da_param to the
 * workspace, and a second kernel adds the parts in a fixed order. What is left: a thread
 * loads 2 or 4 bytes at a time and could load 16.
 */
// fails: gates_wide
#include "partial_sums.cuh"
#include "rglru_contract.cuh"

constexpr int THREADS = 128;
constexpr int WALK = 32;      // tokens of a chunk
constexpr int MAX_WIDTH = 8;  // taps

/* What a thread works on: tokens first to last-1 of a channel of row b. last = 0: none */
struct chunk {
    size_t channel, b, index;  // index: of the chunk, among those of all rows
    int first, last;
};

static __device__ chunk own_chunk(int B, int T, int C)
{
    size_t i = (size_t)blockIdx.x * THREADS + threadIdx.x, chunks = (T + WALK - 1) / WALK;
    size_t index = i / C, b = index / chunks;
    int first = (int)(index % chunks) * WALK, last = first + WALK < T ? first + WALK : T;
    return {i % C, b, index, first, b < (size_t)B ? last : 0};
}

static size_t chunk_count(int B, int T)
{
    return (size_t)B * ((T + WALK - 1) / WALK);
}

static unsigned block_count(int B, int T, int C)
{
    return (unsigned)((chunk_count(B, T) * C + THREADS - 1) / THREADS);
}

/* --- 06.2 --------------------------------------------------------------------------- */

/* in[s] is the input s tokens before. The thread of a row's first chunk reads the ring
 * and is the one that overwrites it at its end. */
template <typename E>
static __global__ void conv1d_walk(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld)
{
    chunk own = own_chunk(B, T, C);
    if (own.last == 0) return;
    size_t row = own.b * T, ring = own.b * width;
    float taps[MAX_WIDTH], in[MAX_WIDTH] = {};
    for (int s = 0; s < MAX_WIDTH; s++)
        taps[s] = s < width ? (float)w[own.channel * width + width - 1 - s] : 0.0f;
    int before = pos ? pos[row] : 0;  // tokens of the document that the ring may hold
    for (int s = 0; s + 1 < width; s++) {
        int t = own.first - 1 - s;
        if (t >= 0)
            in[s] = (float)x[(row + t) * ld + own.channel];
        else if (conv_state && -t <= before)
            in[s] = (float)conv_state[(ring + (before + t) % width) * C + own.channel];
    }
    for (int t = own.first; t < own.last; t++) {
        int p = pos ? pos[row + t] : t;
        for (int s = MAX_WIDTH - 1; s > 0; s--)
            in[s] = in[s - 1];
        in[0] = (float)x[(row + t) * ld + own.channel];
        float sum = (float)bias[own.channel];
        for (int s = 0; s < MAX_WIDTH; s++)
            if (s < width && s <= p) sum += taps[s] * in[s];
        out[(row + t) * C + own.channel] = (E)sum;
    }
    int end = len ? len[own.b] : T;
    if (!conv_state || own.first > 0 || end == 0) return;
    int p = pos ? pos[row + end - 1] : end - 1;
    for (int s = 0; s < width && s <= p && s < end; s++)
        conv_state[(ring + (p - s) % width) * C + own.channel] =
            x[(row + end - 1 - s) * ld + own.channel];
}

template <typename E>
static wb_status conv1d(
    E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,
    const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)
{
    conv1d_walk<<<block_count(B, T, C), THREADS, 0, stream>>>(
        out, conv_state, x, w, bias, pos, len, B, T, C, width, ld);
    return wb_launched();
}

/* dx takes dout of later tokens, dw the inputs of earlier ones: in[s] is x[t-s]. */
template <typename E>
static __global__ void conv1d_walk_back(
    E *dx, float *partial, const E *dout, const E *x, const E *w, const int *pos, int B,
    int T, int C, int width, int ld)
{
    chunk own = own_chunk(B, T, C);
    if (own.last == 0) return;
    size_t row = own.b * T, channel = own.channel;
    float taps[MAX_WIDTH], in[MAX_WIDTH] = {}, dw[MAX_WIDTH] = {}, db = 0.0f;
    for (int s = 0; s < MAX_WIDTH; s++)
        taps[s] = s < width ? (float)w[channel * width + width - 1 - s] : 0.0f;
    for (int s = 0; s + 1 < width && own.first > s; s++)
        in[s] = (float)x[(row + own.first - 1 - s) * ld + channel];
    for (int t = own.first; t < own.last; t++) {
        for (int s = MAX_WIDTH - 1; s > 0; s--)
            in[s] = in[s - 1];
        in[0] = (float)x[(row + t) * ld + channel];
        int p = pos ? pos[row + t] : t;
        float d = (float)dout[(row + t) * C + channel], sum = 0.0f;
        db += d;
        for (int s = 0; s < MAX_WIDTH; s++) {
            if (s < width && s <= p && s <= t) dw[s] += d * in[s];
            if (s < width && t + s < T && (pos ? pos[row + t + s] : t + s) >= s)
                sum += taps[s] * (float)dout[(row + t + s) * C + channel];
        }
        dx[(row + t) * ld + channel] = (E)sum;
    }
    partial += own.index * C * (width + 1);
    for (int s = 0; s < MAX_WIDTH; s++)
        if (s < width) partial[channel * width + width - 1 - s] = dw[s];
    partial[(size_t)C * width + channel] = db;
}

template <typename E> static size_t conv1d_back_workspace(int B, int T, int C, int width)
{
    if (B < 1 || T < 1 || C < 1) return 0;
    return chunk_count(B, T) * C * (width + 1) * sizeof(float);
}

template <typename E>
static wb_status conv1d_back(
    E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w, const int *pos,
    int B, int T, int C, int width, int ld, float *partial, cudaStream_t stream)
{
    conv1d_walk_back<<<block_count(B, T, C), THREADS, 0, stream>>>(
        dx, partial, dout, x, w, pos, B, T, C, width, ld);
    add_partial_sums(
        {{dw, dbias}, {(size_t)C * width, (size_t)C}}, partial, (int)chunk_count(B, T),
        stream);
    return wb_launched();
}

/* --- 06.3 --------------------------------------------------------------------------- */

static __device__ float sigmoid(float v)
{
    return 1.0f / (1.0f + expf(-v));
}

static __device__ float softplus(float v)
{
    return fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)));  // never overflows
}

template <typename E>
static __global__ void gates_walk(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C)
{
    chunk own = own_chunk(B, T, C);
    if (own.last == 0) return;
    float rate = -8.0f * softplus((float)a_param[own.channel]);
    for (int t = own.first; t < own.last; t++) {
        size_t token = own.b * T + t, i = token * C + own.channel;
        bool first = (pos ? pos[token] : t) == 0;
        float log_a = rate * sigmoid((float)pa[i]);
        float m = first ? 1.0f : sqrtf(-expm1f(2.0f * log_a));
        a[i] = first ? 0.0f : expf(log_a);
        z[i] = m * sigmoid((float)px[i]) * (float)c[i];
    }
}

template <typename E>
static wb_status gates(
    float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,
    const int *pos, int B, int T, int C, cudaStream_t stream)
{
    gates_walk<<<block_count(B, T, C), THREADS, 0, stream>>>(
        a, z, c, px, pa, a_param, pos, B, T, C);
    return wb_launched();
}

template <typename E>
static __global__ void gates_walk_back(
    E *dc, E *dpx, E *dpa, float *partial, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C)
{
    chunk own = own_chunk(B, T, C);
    if (own.last == 0) return;
    float param = (float)a_param[own.channel], rate = -8.0f * softplus(param), sum = 0.0f;
    for (int t = own.first; t < own.last; t++) {
        size_t token = own.b * T + t, i = token * C + own.channel;
        bool first = (pos ? pos[token] : t) == 0;
        float gx = sigmoid((float)px[i]), ga = sigmoid((float)pa[i]);
        float a = expf(rate * ga), q = -expm1f(2.0f * rate * ga), in = dz[i] * gx;
        float m = first ? 1.0f : sqrtf(q);
        float dq = in * (float)c[i] / sqrtf(fmaxf(4.0f * q, 1e-6f));
        float dlog_a = first ? 0.0f : da[i] * a - 2.0f * a * a * dq;
        dc[i] = (E)(in * m);
        dpx[i] = (E)(in * m * (float)c[i] * (1.0f - gx));
        dpa[i] = (E)(rate * ga * (1.0f - ga) * dlog_a);
        sum += -8.0f * ga * dlog_a;
    }
    partial[own.index * C + own.channel] = sigmoid(param) * sum;
}

template <typename E> static size_t gates_back_workspace(int B, int T, int C)
{
    if (B < 1 || T < 1 || C < 1) return 0;
    return chunk_count(B, T) * C * sizeof(float);
}

template <typename E>
static wb_status gates_back(
    E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz, const E *c,
    const E *px, const E *pa, const E *a_param, const int *pos, int B, int T, int C,
    float *partial, cudaStream_t stream)
{
    gates_walk_back<<<block_count(B, T, C), THREADS, 0, stream>>>(
        dc, dpx, dpa, partial, da, dz, c, px, pa, a_param, pos, B, T, C);
    add_partial_sums({{da_param}, {(size_t)C}}, partial, (int)chunk_count(B, T), stream);
    return wb_launched();
}

DEFINE_CONV1D_FORWARD(float, f32)
DEFINE_CONV1D_FORWARD(wb_f16, f16)
DEFINE_CONV1D_FORWARD(wb_bf16, bf16)
DEFINE_CONV1D_BACKWARD(float, f32)
DEFINE_CONV1D_BACKWARD(wb_f16, f16)
DEFINE_CONV1D_BACKWARD(wb_bf16, bf16)
DEFINE_GATES(float, f32)
DEFINE_GATES(wb_f16, f16)
DEFINE_GATES(wb_bf16, bf16)
