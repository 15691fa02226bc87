// scores_only.cu - part 05.6 after step 3: Q K^T on tensor cores, P V by each thread.
// fails: tensor_values
// passes: f16,bf16,bf16_groups,tensor_scores
// checked: yes
// says: tensor cores execute 524288 multiply-adds; this case asks for at least 919000
#include "contract.cuh"

#include "cuda/device.cuh"

#include <float.h>
#include <mma.h>

using namespace nvcuda;

constexpr int BM = 64;  // queries of a block, a thread each; a warp has 32
constexpr int BN = 16;  // keys of a tile
constexpr int MAX_D = 256;
constexpr int PAD = 8;  // of a row: 16 bytes, so that the next one lies in other banks

/* From step 2 on, in dynamic shared memory */
template <typename E> struct block_tiles {
    E q[BM][MAX_D + PAD], k[BN][MAX_D + PAD], v[BN][MAX_D + PAD];
    E p[BM][BN + PAD];
    float s[BM][BN + PAD / 2];
};

template <typename E> static __global__ void online_kernel(forward_call<E> c)
{
    sizes z = c.z;
    int blocks = (z.T + BM - 1) / BM;  // of a head
    int t0 = blockIdx.x % blocks * BM, t = t0 + threadIdx.x;
    int h = blockIdx.x / blocks % z.H;
    size_t b = blockIdx.x / blocks / z.H;
    int last = t < z.T ? z.S - z.T + t : -1;  // the last key that query t sees
    int end = z.S - z.T + min(t0 + BM, z.T);  // the block needs the keys before `end`
    int i = z.S - z.T + min(t, z.T - 1);
    int first = max(i - min(c.pos ? c.pos[b * z.T + min(t, z.T - 1)] : i, z.window), 0);
    int i0 = z.S - z.T + t0;
    int begin = max(i0 - min(c.pos ? c.pos[b * z.T + t0] : i0, z.window), 0);
    int g = h / (z.H / z.K);
    const E *qg = c.q + b * z.T * z.ldq + h * z.D;
    const E *kg = c.k + b * z.S * z.ldkv + g * z.D,
            *vg = c.v + b * z.S * z.ldkv + g * z.D;
    extern __shared__ uint4 smem[];
    block_tiles<E> &tile = *(block_tiles<E> *)smem;
    int width = (z.D + 15) / 16 * 16;
    for (int n = threadIdx.x; n < BM * width; n += BM) {
        int i = n / width, d = n % width;
        bool in = t0 + i < z.T && d < z.D;
        tile.q[i][d] = in ? qg[(size_t)(t0 + i) * z.ldq + d] : E(0.0f);
    }
    float m = -FLT_MAX, l = 0.0f, o[MAX_D] = {};
    for (int j0 = begin; j0 < end; j0 += BN) {  // a tile: the keys j0, j0 + 1, ...
        __syncthreads();
        for (int n = threadIdx.x; n < BN * width; n += BM) {
            int j = n / width, d = n % width;
            bool in = j0 + j < z.S && d < z.D;
            tile.k[j][d] = in ? kg[(size_t)(j0 + j) * z.ldkv + d] : E(0.0f);
            tile.v[j][d] = in ? vg[(size_t)(j0 + j) * z.ldkv + d] : E(0.0f);
        }
        __syncthreads();
        int first_row = threadIdx.x / 32 * 32;  // of this warp
        for (int row = first_row; row < first_row + 32; row += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, E, wmma::row_major> a;
            wmma::fragment<wmma::matrix_b, 16, 16, 16, E, wmma::col_major> b;
            wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
            wmma::fill_fragment(sum, 0.0f);
            for (int d = 0; d < width; d += 16) {
                wmma::load_matrix_sync(a, &tile.q[row][d], MAX_D + PAD);
                wmma::load_matrix_sync(b, &tile.k[0][d], MAX_D + PAD);
                wmma::mma_sync(sum, a, b, sum);
            }
            wmma::store_matrix_sync(tile.s[row], sum, BN + PAD / 2, wmma::mem_row_major);
        }
        __syncwarp();
        float s[BN], m_new = m;
        for (int j = 0; j < BN; j++) {
            s[j] = -INFINITY;
            if (j0 + j > last || j0 + j < first) continue;
            s[j] = z.scale * tile.s[threadIdx.x][j];
            m_new = fmaxf(m_new, s[j]);
        }
        float r = expf(m - m_new);
        m = m_new;
        l *= r;
        for (int j = 0; j < BN; j++)
            l += s[j] = expf(s[j] - m);
        for (int d = 0; d < z.D; d++) {
            float sum = r * o[d];
            for (int j = 0; j < BN; j++)
                if (j0 + j <= last && j0 + j >= first) sum += s[j] * (float)tile.v[j][d];
            o[d] = sum;
        }
    }
    if (t >= z.T) return;
    if (c.lse) c.lse[(b * z.H + h) * z.T + t] = m + logf(l);
    for (int d = 0; d < z.D; d++)
        c.out[((b * z.T + t) * z.H + h) * z.D + d] = E(o[d] / l);
}

template <typename E> static size_t forward_workspace(sizes z)
{
    (void)z;
    return 0;
}

template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s)
{
    sizes z = c.z;
    size_t smem_bytes = sizeof(block_tiles<E>);
    unsigned blocks = (z.T + BM - 1) / BM * z.H * z.B;
    allow_smem(online_kernel<E>, smem_bytes);
    online_kernel<<<blocks, BM, smem_bytes, s>>>(c);
    return wb_launched();
}

DEFINE_FORWARD(wb_f16, f16)
DEFINE_FORWARD(wb_bf16, bf16)
