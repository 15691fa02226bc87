/* Rare device functions: halfwords and bytes of an int, directed rounding, the compiler's atomics. */
#include <cub/cub.cuh>
#include <cuda_fp8.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "expect.h"

// Applies f to the n parts of a and b, which are signed if `with_sign` says so.
template <class F>
__host__ __device__ unsigned parts(int n, bool with_sign, unsigned a, unsigned b, F f)
{
    const int bits = 32 / n, size = 1 << bits;
    unsigned r = 0;
    for (int i = 0; i < 32; i += bits) {
        int x = (int)(a >> i) & (size - 1), y = (int)(b >> i) & (size - 1);
        if (with_sign && x >= size / 2) x -= size;
        if (with_sign && y >= size / 2) y -= size;
        r |= ((unsigned)f(x, y, size) & (unsigned)(size - 1)) << i;
    }
    return r;
}
#define PARTS(name, with_sign, result)                                                   \
    {                                                                                    \
        auto f = [](int x, int y, int size) {                                            \
            return (void)x, (void)y, (void)size, result;                                 \
        };                                                                               \
        wrong += __v##name##2(a, b) != parts(2, with_sign, a, b, f);                     \
        wrong += __v##name##4(a, b) != parts(4, with_sign, a, b, f);                     \
    }
__device__ int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

__global__ void integers(int *errors)
{
    unsigned a = 0x80017fffu, b = 0xff7f0180u;
    int wrong = 0;
    for (int step = 0; step < 500; step++) {
        PARTS(add, false, x + y)
        PARTS(addss, true, clamp(x + y, -size / 2, size / 2 - 1))
        PARTS(subus, false, clamp(x - y, 0, size))
        PARTS(absdiffs, true, abs(x - y))
        PARTS(avgu, false, (x + y + 1) / 2)
        PARTS(maxs, true, x > y ? x : y)
        PARTS(minu, false, x < y ? x : y)
        PARTS(cmpgts, true, x > y ? size - 1 : 0)
        PARTS(setleu, false, x <= y)
        int low = (int)(short)a, high = (int)(short)(a >> 16);
        wrong += __vabsss2(a) != ((unsigned)clamp(abs(high), 0, 0x7fff) << 16 |
                                  (unsigned)clamp(abs(low), 0, 0x7fff));
        bool more, less;
        unsigned most = __vibmax_s16x2(a, b, &more, &less);
        wrong += most != __vmaxs2(a, b) || more != (high >= (short)(b >> 16));
        wrong += __viaddmin_s32_relu((int)a >> 4, (int)b >> 4, 77) !=
                 clamp(((int)a >> 4) + ((int)b >> 4), 0, 77);
        int sum = 3;
        for (int i = 0; i < 4; i++)
            sum += (signed char)(a >> 8 * i) * (signed char)(b >> 8 * i);
        char4 ca = make_char4((char)a, (char)(a >> 8), (char)(a >> 16), (char)(a >> 24));
        char4 cb = make_char4((char)b, (char)(b >> 8), (char)(b >> 16), (char)(b >> 24));
        wrong += __dp4a((int)a, (int)b, 3) != sum || __dp4a(ca, cb, 3) != sum;
        wrong += __dp2a_hi((int)a, (int)b, 3) !=
                 3 + low * (signed char)(b >> 16) + high * (signed char)(b >> 24);
        unsigned third = __fns(a, 0, 3);  // the third bit from below
        wrong += __popc(a) < 3 ? third != ~0u : __popc(a & ((2u << third) - 1)) != 3;
        a = a * 1664525 + 1013904223, b = b * 22695477 + (a >> 7);
    }
    *errors = wrong;
}

__global__ void rounding(int *errors)
{
    int wrong = 0;
    for (int i = -2000; i < 2000;
         i++) {  // results with more than 24 bits, exact in double
        float a = i * 257 + 1, b = i * 3 + 1000001, c = i * 0.25f;
        double exact = (double)a * b + c;
        float down = __fmaf_rd(a, b, c), up = __fmaf_ru(a, b, c),
              zero = __fmaf_rz(a, b, c);
        wrong += down > exact || up < exact || zero != (exact > 0 ? down : up);
        wrong += exact == (float)exact ? down != up : nextafterf(down, INFINITY) != up;
        long long n = (long long)(i * 123456789.0 * 1000003);
        float low = __ll2float_rd(n), high = __ll2float_ru(n);
        wrong += (double)low > (double)n || (double)high < (double)n || low > high;
        wrong += __double2float_rd(1e300) != 3.402823466e38f ||
                 __int2float_rz(-16777219) != -16777218;
    }
    wrong += fabs(erfcx(2.0) - exp(4.0) * erfc(2.0)) > 1e-15;
    wrong += fabs(erfcx(19.9999) / erfcx(20.0001) - 1.00000997) > 1e-7;  // both formulas
    *errors += wrong;
}

__global__ void atomics(unsigned *x)
{
    __nv_atomic_fetch_add(x, 2u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
    __nv_atomic_max(x + 1, threadIdx.x, __NV_ATOMIC_RELAXED);
    unsigned old = __nv_atomic_load_n(x + 2, __NV_ATOMIC_RELAXED);
    while (!__nv_atomic_compare_exchange_n(
        x + 2, &old, old + 3, true, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_RELAXED)) {
    }
}

int main()
{
    int *errors;
    unsigned *x;
    cudaMallocManaged(&errors, sizeof *errors);
    cudaMallocManaged(&x, 3 * sizeof *x);
    x[0] = x[1] = x[2] = 0;
    integers<<<1, 1>>>(errors);
    rounding<<<1, 1>>>(errors);
    atomics<<<2, 64>>>(x);
    EXPECT(cudaDeviceSynchronize() == cudaSuccess);
    EXPECT(*errors == 0);
    EXPECT(x[0] == 256 && x[1] == 63 && x[2] == 384);

    // cub::Traits: unsigned numbers in the order of the floats
    const float f[] = {-INFINITY, -2.5f, -0.0f, 0.0f, 1e-30f, 7, INFINITY};
    for (int i = 0; i < 7; i++) {
        unsigned bits, before = 0;
        memcpy(&bits, f + i, 4);
        if (i) memcpy(&before, f + i - 1, 4);
        unsigned key = cub::Traits<float>::TwiddleIn(bits);
        EXPECT(cub::Traits<float>::TwiddleOut(key) == bits);
        EXPECT(i == 0 || cub::Traits<float>::TwiddleIn(before) < key);
    }
    EXPECT(cub::Traits<int>::TwiddleIn((unsigned)-1) == 0x7fffffffu);

    // Four fp8 numbers from two pairs of halves
    const __nv_fp8x4_e4m3 four(
        __floats2half2_rn(1, 2), __half2(__float2half(-3), __float2half(500)));
    const float4 v(four);
    EXPECT(v.x == 1 && v.y == 2 && v.z == -3 && v.w == 448);
    return 0;
}
