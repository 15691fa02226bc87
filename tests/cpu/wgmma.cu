/* wgmma.cu - cuda/wgmma.cuh: every shape, layout and swizzle, A from shared memory and from
 * registers, groups. */
#include "hopper.h"

enum { M = 64, K = 64, THREADS = 128 };

/* One operand: `rows` of m or n, K of k. Element (mn, k) is at byte offset(mn, k) of the
 * tile; part(k) is the first byte of the part that begins with k, a multiple of 16. */
struct layout {
    int rows, S;
    wgmma_major major;
    size_t bytes(void) const
    {
        return major == K_MAJOR ? (size_t)rows * K * 2
                                : (size_t)((rows * 2 + S - 1) / S) * K * S;
    }
    size_t offset(int mn, int k) const
    {
        int w = S / 2;  // elements of a row of the tile
        size_t at = major == K_MAJOR
                        ? (size_t)(k / w) * rows * S + (size_t)mn * S + k % w * 2
                        : (size_t)(mn / w) * K * S + (size_t)k * S + mn % w * 2;
        return swizzled(at, S);
    }
    __device__ int part(int k) const
    {
        return major == K_MAJOR ? k / (S / 2) * rows * S + k % (S / 2) * 2 : k * S;
    }
    __device__ uint64_t tile(const void *smem) const
    {
        return S == 128  ? wgmma_tile<128>(smem, K * S)
               : S == 64 ? wgmma_tile<64>(smem, K * S)
                         : wgmma_tile<32>(smem, K * S);
    }
};

/* C (64,N) = A B. images: both tiles as they lie in shared memory; b's is at image_b, a
 * multiple of 1024. a (64,K) row-major, for A from registers */
template <typename E, int N, wgmma_major A, wgmma_major B, bool REGISTERS>
__global__ void __launch_bounds__(THREADS, 1) multiply(
    float *c, const char *images, int bytes, int image_b, const E *a, layout la,
    layout lb)
{
    extern __shared__ __align__(1024) char smem[];
    int thread = threadIdx.x, row = thread / 32 * 16 + thread % 32 / 4;
    for (int i = thread; i < bytes / 16; i += THREADS)
        ((uint4 *)smem)[i] = ((const uint4 *)images)[i];
    fence_async();
    __syncthreads();
    float d[N / 2];
    for (int i = 0; i < N / 2; i++)
        d[i] = 1000.0f;
    uint64_t ta[K / 16], tb[K / 16];
    for (int k = 0; k < K; k += 16) {
        ta[k / 16] = wgmma_step(la.tile(smem), la.part(k));
        tb[k / 16] = wgmma_step(lb.tile(smem + image_b), lb.part(k));
    }
    unsigned fa[K / 16][4];
    for (int i = 0; REGISTERS && i < K / 4; i++)
        fa[i / 4][i % 4] = *(
            const unsigned
                *)&a[(row + i % 2 * 8) * K + i / 4 * 16 + thread % 4 * 2 + i / 2 % 2 * 8];
    wgmma_fence(d);
#pragma unroll
    for (int k = 0; k < K / 16; k++) {
        if constexpr (REGISTERS)
            wgmma<E, B>(d, fa[k], tb[k], k > 0);
        else
            wgmma<E, A, B>(d, ta[k], tb[k], k > 0);
    }
    wgmma_commit();
    wgmma_wait<0>(d);
    for (int i = 0; i < N / 2; i++)
        c[(row + i / 2 % 2 * 8) * N + i / 4 * 8 + thread % 4 * 2 + i % 2] = d[i];
}

static int value_a(int m, int k)
{
    return (m * 7 + k * 3 + m * k) % 13 - 6;
}
static int value_b(int k, int n)
{
    return (n * 5 + k * 11 + n * k) % 15 - 7;
}

template <typename E, int N, wgmma_major A, wgmma_major B, bool REGISTERS>
static bool is_right(int sa, int sb)
{
    layout la = {M, sa, A}, lb = {N, sb, B};
    size_t image_b = (la.bytes() + 1023) / 1024 * 1024, bytes = image_b + lb.bytes();
    char *images = managed<char>(bytes);
    E *a = managed<E>(M * K);
    float *c = managed<float>(M * N);
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            a[m * K + k] = *(E *)(images + la.offset(m, k)) = E((float)value_a(m, k));
    for (int n = 0; n < N; n++)
        for (int k = 0; k < K; k++)
            *(E *)(images + image_b + lb.offset(n, k)) = E((float)value_b(k, n));
    auto kernel = multiply<E, N, A, B, REGISTERS>;
    allow_smem(kernel, bytes);
    kernel<<<1, THREADS, bytes>>>(c, images, (int)bytes, (int)image_b, a, la, lb);
    bool right = finished();
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            int sum = 0;
            for (int k = 0; k < K; k++)
                sum += value_a(m, k) * value_b(k, n);
            right = right && c[m * N + n] == (float)sum;
        }
    cudaFree(images), cudaFree(a), cudaFree(c);
    return right;
}

static const int SWIZZLES[] = {128, 64, 32};
static const char *const MAJOR[] = {"K", "MN"};

template <typename E, int N, wgmma_major A, wgmma_major B>
static void test_layouts(const char *type)
{
    for (int sa : SWIZZLES)
        for (int sb : SWIZZLES) {
            if (sa != sb && N != 64) continue;
            tap(is_right<E, N, A, B, false>(sa, sb),
                "wgmma %s N %d: A %s-major, %d bytes of swizzle, B %s-major, %d", type, N,
                MAJOR[A], sa, MAJOR[B], sb);
        }
    if constexpr (A == K_MAJOR)
        for (int sb : SWIZZLES)
            tap(is_right<E, N, A, B, true>(128, sb),
                "wgmma %s N %d: A from registers, B %s-major, %d bytes of swizzle", type,
                N, MAJOR[B], sb);
}
template <typename E, int N> static void test_shape(const char *type)
{
    test_layouts<E, N, K_MAJOR, K_MAJOR>(type);
    test_layouts<E, N, K_MAJOR, MN_MAJOR>(type);
    test_layouts<E, N, MN_MAJOR, K_MAJOR>(type);
    test_layouts<E, N, MN_MAJOR, MN_MAJOR>(type);
}
template <typename E> static void test_shapes(const char *type)
{
    test_shape<E, 16>(type);
    test_shape<E, 32>(type);
    test_shape<E, 64>(type);
    test_shape<E, 80>(type);
    test_shape<E, 96>(type);
    test_shape<E, 128>(type);
    test_shape<E, 192>(type);
    test_shape<E, 256>(type);
}

/* Two warpgroups, each with two groups in flight: d = A A^T and e = 2 A A^T. */
__global__ void __launch_bounds__(256, 1) multiply_twice(float *c, const char *image)
{
    extern __shared__ __align__(1024) char smem[];
    for (int i = threadIdx.x; i < M * K * 2 / 16; i += 256)
        ((uint4 *)smem)[i] = ((const uint4 *)image)[i];
    fence_async();
    __syncthreads();
    float d[32], e[32];
    uint64_t tile = wgmma_tile<128>(smem);
    wgmma_fence(d);
#pragma unroll
    for (int k = 0; k < K; k += 16)
        wgmma<wb_bf16>(d, wgmma_step(tile, 2 * k), wgmma_step(tile, 2 * k), k > 0);
    wgmma_commit();
    wgmma_fence(e);
#pragma unroll
    for (int k = 0; k < 2 * K; k += 16) {
        uint64_t part = wgmma_step(tile, 2 * (k % K));
        wgmma<wb_bf16>(e, part, part, k > 0);
    }
    wgmma_commit();
    wgmma_wait<1>(d);
    for (int i = 0; i < 32; i++)
        c[threadIdx.x * 32 + i] = d[i];
    wgmma_wait<0>(e);
    for (int i = 0; i < 32; i++)
        c[threadIdx.x * 32 + i] += e[i];
}
static bool groups_are_right(void)
{
    layout l = {M, 128, K_MAJOR};
    char *image = managed<char>(l.bytes());
    float *c = managed<float>(256 * 32);
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            *(wb_bf16 *)(image + l.offset(m, k)) = wb_bf16((float)value_a(m, k));
    multiply_twice<<<1, 256, 8192>>>(c, image);
    bool right = finished();
    for (int t = 0; t < 256; t++)
        for (int i = 0; i < 32; i++) {
            int row = t % 128 / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8;
            int col = i / 4 * 8 + t % 4 * 2 + i % 2, sum = 0;
            for (int k = 0; k < K; k++)
                sum += value_a(row, k) * value_a(col, k);
            right = right && c[t * 32 + i] == (float)(3 * sum);
        }
    cudaFree(image), cudaFree(c);
    return right;
}

int main(void)
{
    if (!can_run()) return 0;
    tap(groups_are_right(), "wgmma: two groups in flight, two warpgroups");
    test_shapes<wb_bf16>("bf16");
    test_shapes<wb_f16>("f16");
    return tap_done();
}
