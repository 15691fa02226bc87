/* step_row.cuh - one row of x: a stream of weights through shared memory.
 *
 * The whole matrix goes by once, so all that counts is that memory always has enough to
 * do. Each lane copies what it alone will use, SLOTS steps ahead, into its own places of
 * shared memory, and needs no barrier for it: 80 KB of a multiprocessor are under way, and
 * two such kernels fit. So the one behind has filled its places while this one ends.
 */
#ifndef STEP_ROW_CUH
#define STEP_ROW_CUH
#include "early.cuh"
#include "elements.cuh"
#include "step.cuh"

constexpr int SLOTS = 10;                     // steps ahead, of two packs each
constexpr int LONGEST_ROW = 16384;            // of x: it lies in shared memory, as floats
constexpr int RING = WARPS * SLOTS * 2 * 32;  // packs

static inline size_t row_bytes(int I)
{
    return RING * 16 + (size_t)I * sizeof(float);
}

/* Where the floats of pack i lie: four of each pack side by side, then the next four, so
 * that the lanes of a warp read neighbours. */
template <int V>
static __device__ __forceinline__ float *quarter(float *x, int i, int h, int I)
{
    return x + (size_t)h * (I / (V / 4)) + i * 4;
}

/* u = x (offset + norm) as floats into shared memory, and the sum of x^2 over the block */
template <typename E, int V>
static __device__ float
stage_row(float *u, const E *x, const E *norm, int I, float offset)
{
    __shared__ float of_warp[WARPS];
    for (int i = (int)threadIdx.x; norm && i < I / V; i += BLOCK) {
        float f[V];
        load<V>(f, norm + i * V, V);
        for (int h = 0; h < V / 4; h++)
            for (int j = 0; j < 4; j++)
                quarter<V>(u, i, h, I)[j] = offset + f[h * 4 + j];
    }
    wait_for_kernel_before();
    float squares = 0.0f;
    for (int i = (int)threadIdx.x; i < I / V; i += BLOCK) {
        float y[V];
        load<V>(y, x + i * V, V);
#pragma unroll
        for (int h = 0; h < V / 4; h++) {
            float4 *at = (float4 *)quarter<V>(u, i, h, I);
            float4 f = norm ? *at : make_float4(1.0f, 1.0f, 1.0f, 1.0f);
            const float *z = y + h * 4;
            squares += z[0] * z[0] + z[1] * z[1] + z[2] * z[2] + z[3] * z[3];
            *at = make_float4(z[0] * f.x, z[1] * f.y, z[2] * f.z, z[3] * f.w);
        }
    }
    squares = warp_sum(squares);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = squares;
    __syncthreads();  // u and every warp's squares are there
    float sum = 0.0f;
    for (int k = 0; k < WARPS; k++)
        sum += of_warp[k];
    return sum;
}

/* A warp takes two rows of w at a time: of an activation the gate and its factor. */
template <typename E, typename Out, int GATES, int V>
static __global__ void __launch_bounds__(BLOCK, 2) row_kernel(
    Out *out, const E *x, const E *w, const E *bias, const E *norm, const E *res, step z,
    int act)
{
    extern __shared__ uint4 shared[];
    int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
    int units = GATES == 2 ? z.O : (z.O + 1) / 2, stride = (int)gridDim.x * WARPS;
    int first = warp * (int)gridDim.x + (int)blockIdx.x;
    int packs = z.I / V, steps = (packs + 31) / 32;
    size_t second = GATES == 2 ? (size_t)z.O * z.I : (size_t)z.I;
    uint4 *mine = shared + (size_t)warp * SLOTS * 2 * 32 + lane;
    float *u = (float *)(shared + RING);

    int to_unit = first, to_step = 0, to_slot = 0;  // of the next copy
    auto copy_next = [&]() {
        if (to_unit < units) {
            int o = GATES == 2 ? to_unit : 2 * to_unit, i = to_step * 32 + lane;
            const E *from = w + (size_t)o * z.I + (size_t)i * V;
            if (i < packs) {
                copy_async(mine + to_slot * 64, from, true);
                // behind an odd last row there is none
                if (GATES == 2 || o + 1 < z.O)
                    copy_async(mine + to_slot * 64 + 32, from + second, true);
            }
            if (++to_step == steps) to_step = 0, to_unit += stride;
        }
        if (++to_slot == SLOTS) to_slot = 0;
        copy_commit();
    };
    let_next_kernel_start();
    for (int k = 0; k < SLOTS; k++)
        copy_next();
    float squares = stage_row<E, V>(u, x, norm, z.I, z.offset);
    float rstd = norm ? rsqrtf(squares / (float)z.I + z.eps) : 1.0f;

    int slot = 0;
    for (int unit = first; unit < units; unit += stride) {
        int o = GATES == 2 ? unit : 2 * unit, p = GATES == 2 ? z.O + o : o + 1;
        bool both = GATES == 2 || p < z.O;
        float addend[2] = {}, sum[2] = {};
        if (bias) addend[0] = (float)bias[o], addend[1] = both ? (float)bias[p] : 0.0f;
        if (res) addend[0] += (float)res[o], addend[1] += both ? (float)res[p] : 0.0f;
        for (int k = 0; k < steps; k++) {
            copy_wait<SLOTS - 1>();
            int i = k * 32 + lane;
            if (i < packs) {
                pack<E, V> a = *(const pack<E, V> *)(mine + slot * 64);
                pack<E, V> b = *(const pack<E, V> *)(mine + slot * 64 + 32);
#pragma unroll
                for (int h = 0; h < V / 4; h++) {
                    float4 y = *(const float4 *)quarter<V>(u, i, h, z.I);
                    const float f[4] = {y.x, y.y, y.z, y.w};
#pragma unroll
                    for (int j = 0; j < 4; j++) {
                        sum[0] += f[j] * (float)a.e[h * 4 + j];
                        sum[1] += f[j] * (float)b.e[h * 4 + j];
                    }
                }
            }
            if (++slot == SLOTS) slot = 0;
            copy_next();  // into the places just read
        }
        float y[2] = {
            warp_sum(sum[0]) * rstd + addend[0], warp_sum(sum[1]) * rstd + addend[1]};
        if (lane) continue;
        if (GATES == 2) {
            out[o] = Out(activated(act, y[0]) * y[1]);
        } else {
            out[o] = Out(y[0]);
            if (both) out[p] = Out(y[1]);
        }
    }
}

#endif
