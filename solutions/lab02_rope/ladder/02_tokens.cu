/* 02_tokens.cu - one block per token.
 *
 * Lesson: all threads of a block share a token, so they share its position and its row of
 * the table, which stays in the L1 cache for all heads. The block is two-dimensional,
 * (pairs, heads), so no thread divides to find its pair.
 */
// fails: vectors,coalesced,angles,back_vectors,back_angles
#include "rope.h"

#include "table.cuh"

/* block: a token; threadIdx.x: pairs, then copied channels; threadIdx.y: heads */
template <typename E>
static __global__ void rotate_kernel(
    E *out, const E *x, const float *cis, const int *pos, float sign, int T, int H, int D,
    int N, int ld)
{
    size_t token = blockIdx.x;  // [0, B*T)
    int half = N / 2;
    int p = pos ? pos[token] : (int)(token % T);
    cis += (size_t)p * N;
    for (int h = threadIdx.y; h < H; h += blockDim.y) {
        const E *in = x + token * ld + (size_t)h * D;
        E *to = out + token * ld + (size_t)h * D;
        for (int i = threadIdx.x; i < half; i += blockDim.x) {
            float c = cis[2 * i], s = cis[2 * i + 1] * sign;
            float a = (float)in[i], b = (float)in[i + half];
            to[i] = E(a * c - b * s);
            to[i + half] = E(b * c + a * s);
        }
        for (int i = N + threadIdx.x; i < D && in != to; i += blockDim.x)
            to[i] = in[i];
    }
}

template <typename E>
static void rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    int across = N == 0 ? 32 : N / 2 < 128 ? N / 2 : 128;
    int heads = 256 / across < H ? 256 / across : H;
    rotate_kernel<<<(unsigned)B * T, dim3(across, heads), 0, stream>>>(
        out, x, cis, pos, sign, T, H, D, N, ld);
}

#include "contract.h"
