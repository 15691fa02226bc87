/* 01_naive.cu - one thread per pair, and one per channel that is only copied.
 *
 * Lesson: one thread reads both channels of a pair before it writes either, so out may be
 * x. The channels of a pair are N/2 apart, so neighbouring threads still access
 * neighbouring channels, which pairs (2i, 2i+1) would not allow. The costs are the
 * divisions with which a thread finds its pair, and 8 bytes of cosine and sine for every
 * two channels.
 */
// fails: vectors,coalesced,angles,back_vectors,back_angles
#include "rope.h"

#include "table.cuh"

/* thread: pair or copied channel `at` of head h of token (b,t) */
template <typename E>
static __global__ void rotate_kernel(
    E *out, const E *x, const float *cis, const int *pos, float sign, size_t n, int T,
    int H, int D, int N, int ld)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;  // [0, B*T*H*(D-N/2))
    if (i >= n) return;
    int half = N / 2, work = D - half;
    int at = i % work, h = i / work % H;
    size_t token = i / work / H;
    out += token * ld + (size_t)h * D, x += token * ld + (size_t)h * D;
    if (at >= half) {  // one of the channels N..D-1
        out[at + half] = x[at + half];
        return;
    }
    int p = pos ? pos[token] : (int)(token % T);
    const float *angle = cis + ((size_t)p * half + at) * 2;
    float c = angle[0], s = angle[1] * sign;
    float a = (float)x[at], b = (float)x[at + half];
    out[at] = E(a * c - b * s);
    out[at + half] = E(b * c + a * s);
}

template <typename E>
static void rotate(
    E *out, const E *x, const float *cis, const int *pos, float sign, int B, int T, int H,
    int D, int N, int ld, cudaStream_t stream)
{
    size_t n = (size_t)B * T * H * (D - N / 2);
    rotate_kernel<<<(unsigned)((n + 255) / 256), 256, 0, stream>>>(
        out, x, cis, pos, sign, n, T, H, D, N, ld);
}

#include "contract.h"
