/* float16.cu - every half and every bfloat16, compared with a definition in double.
 *
 * Values are computed in a kernel and checked on the host. The program also runs on a
 * GPU, so it tests exactly what CUDA guarantees.
 */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

constexpr int ALL = 65536;
enum rounding_mode { NEAREST, ZERO, DOWN, UP };

/* --- the definition ----------------------------------------------------------------- */

typedef struct format {
    const char *name;
    int exponent_bits, mantissa_bits;
} format;
static const format HALF = {"half", 5, 10}, BF16 = {"bfloat16", 8, 7};

static double value_of(const format *f, unsigned bits)
{
    int exponent = (int)(bits >> f->mantissa_bits) & ((1 << f->exponent_bits) - 1);
    int mantissa = (int)bits & ((1 << f->mantissa_bits) - 1);
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    double v;
    if (exponent == (1 << f->exponent_bits) - 1)
        v = mantissa ? NAN : INFINITY;
    else if (exponent == 0)
        v = ldexp(mantissa, 1 - bias - f->mantissa_bits);
    else
        v = ldexp(mantissa + (1 << f->mantissa_bits), exponent - bias - f->mantissa_bits);
    return bits & 0x8000 ? -v : v;
}

/* The bits that represent x, by binary search: positive values are in order of bits. */
static unsigned nearest_bits(const format *f, double x, int mode)
{
    if (isnan(x)) return 0x7fff;
    unsigned sign = signbit(x) ? 0x8000 : 0;
    double a = fabs(x);
    unsigned low = 0, infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    for (unsigned step = 0x4000; step; step /= 2)  // the largest value <= a
        if (low + step <= infinity && value_of(f, low + step) <= a) low += step;
    if (low == infinity || value_of(f, low) == a) return sign | low;
    double below = value_of(f, low), above = value_of(f, low + 1);
    if (low + 1 == infinity)  // the next value if the exponent had no limit
        above = 2 * below - value_of(f, low - 1);
    int up;
    if (mode == NEAREST)
        up = a - below > above - a || (a - below == above - a && (low & 1));
    else
        up = mode == (sign ? DOWN : UP);
    return sign | (low + (up ? 1 : 0));
}

/* --- one interface for both types --------------------------------------------------- */

template <class T> __host__ __device__ T from_bits(unsigned short bits)
{
    T v;
    memcpy((void *)&v, &bits, sizeof v);
    return v;
}
template <class T> __host__ __device__ unsigned short to_bits(T v)
{
    unsigned short bits;
    memcpy(&bits, (const void *)&v, sizeof bits);
    return bits;
}

__device__ unsigned short round_in(float x, int mode, __half)
{
    return to_bits(
        mode == ZERO   ? __float2half_rz(x)
        : mode == DOWN ? __float2half_rd(x)
        : mode == UP   ? __float2half_ru(x)
                       : __float2half_rn(x));
}
__device__ unsigned short round_in(float x, int mode, __nv_bfloat16)
{
    return to_bits(
        mode == ZERO   ? __float2bfloat16_rz(x)
        : mode == DOWN ? __float2bfloat16_rd(x)
        : mode == UP   ? __float2bfloat16_ru(x)
                       : __float2bfloat16_rn(x));
}
__device__ int integer_in(__half x, int mode)
{
    return mode == ZERO   ? __half2int_rz(x)
           : mode == DOWN ? __half2int_rd(x)
           : mode == UP   ? __half2int_ru(x)
                          : __half2int_rn(x);
}
__device__ int integer_in(__nv_bfloat16 x, int mode)
{
    return mode == ZERO   ? __bfloat162int_rz(x)
           : mode == DOWN ? __bfloat162int_rd(x)
           : mode == UP   ? __bfloat162int_ru(x)
                          : __bfloat162int_rn(x);
}

/* --- kernels ------------------------------------------------------------------------ */

template <class T> __global__ void widen_all(float *out)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    out[i] = (float)from_bits<T>((unsigned short)i);
}

template <class T>
__global__ void round_all(unsigned short *out, const float *x, int n, int mode)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = round_in(x[i], mode, T());
}

template <class T>
__global__ void round_doubles(unsigned short *out, const double *x, int n)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) out[i] = to_bits(T(x[i]));
}

template <class T> __global__ void integers(int *out, int mode)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    out[i] = integer_in(from_bits<T>((unsigned short)i), mode);
}

enum { ADD, SUB, MUL, DIV, FMA, MAX, MIN, NEG, ABS, OPERATIONS };
static const char *const OPERATION[] = {"a + b",  "a - b",  "a * b", "a / b", "__hfma",
                                        "__hmax", "__hmin", "-a",    "__habs"};
template <class T>
__global__ void operate(unsigned short *out, const unsigned short *in, int n, int op)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    T a = from_bits<T>(in[3 * i]), b = from_bits<T>(in[3 * i + 1]);
    T c = from_bits<T>(in[3 * i + 2]);
    T r = op == ADD   ? a + b
          : op == SUB ? a - b
          : op == MUL ? a * b
          : op == DIV ? a / b
          : op == FMA ? __hfma(a, b, c)
          : op == MAX ? __hmax(a, b)
          : op == MIN ? __hmin(a, b)
          : op == NEG ? -a
                      : __habs(a);
    out[i] = to_bits(r);
}

enum {
    EXP,
    EXP2,
    EXP10,
    LOG,
    LOG2,
    LOG10,
    SQRT,
    RSQRT,
    RCP,
    SIN,
    COS,
    FLOOR,
    CEIL,
    RINT,
    TRUNC,
    FUNCTIONS
};
static const char *const FUNCTION[] = {"hexp",   "hexp2",  "hexp10", "hlog",  "hlog2",
                                       "hlog10", "hsqrt",  "hrsqrt", "hrcp",  "hsin",
                                       "hcos",   "hfloor", "hceil",  "hrint", "htrunc"};
template <class T> __global__ void apply(unsigned short *out, int function)
{
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    T x = from_bits<T>((unsigned short)i), r = x;
    switch (function) {
    case EXP:
        r = hexp(x);
        break;
    case EXP2:
        r = hexp2(x);
        break;
    case EXP10:
        r = hexp10(x);
        break;
    case LOG:
        r = hlog(x);
        break;
    case LOG2:
        r = hlog2(x);
        break;
    case LOG10:
        r = hlog10(x);
        break;
    case SQRT:
        r = hsqrt(x);
        break;
    case RSQRT:
        r = hrsqrt(x);
        break;
    case RCP:
        r = hrcp(x);
        break;
    case SIN:
        r = hsin(x);
        break;
    case COS:
        r = hcos(x);
        break;
    case FLOOR:
        r = hfloor(x);
        break;
    case CEIL:
        r = hceil(x);
        break;
    case RINT:
        r = hrint(x);
        break;
    case TRUNC:
        r = htrunc(x);
        break;
    }
    out[i] = to_bits(r);
}
static double exact_function(double x, int function)
{
    switch (function) {
    case EXP:
        return exp(x);
    case EXP2:
        return exp2(x);
    case EXP10:
        return pow(10, x);
    case LOG:
        return log(x);
    case LOG2:
        return log2(x);
    case LOG10:
        return log10(x);
    case SQRT:
        return sqrt(x);
    case RSQRT:
        return 1 / sqrt(x);
    case RCP:
        return 1 / x;
    case SIN:
        return sin(x);
    case COS:
        return cos(x);
    case FLOOR:
        return floor(x);
    case CEIL:
        return ceil(x);
    case RINT:
        return rint(x);
    default:
        return trunc(x);
    }
}

/* --- helpers ------------------------------------------------------------------------ */

template <class T> static T *shared_array(size_t n)  // for host and device
{
    void *p = NULL;
    if (cudaMallocManaged(&p, n * sizeof(T)) != cudaSuccess) exit(2);
    return (T *)p;
}

static uint64_t state = 0x5eed;
static unsigned random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33);
}

static int same(const format *f, unsigned a, unsigned b)  // all NaNs are the same
{
    return a == b || (isnan(value_of(f, a)) && isnan(value_of(f, b)));
}

/* The distance of two values in steps of the format. */
static int steps(unsigned a, unsigned b)
{
    int x = a & 0x8000 ? -(int)(a & 0x7fff) : (int)a;
    int y = b & 0x8000 ? -(int)(b & 0x7fff) : (int)b;
    return abs(x - y);
}

/* --- tests -------------------------------------------------------------------------- */

template <class T> static void test_widening(const format *f)
{
    float *wide = shared_array<float>(ALL);
    widen_all<T><<<ALL / 256, 256>>>(wide);
    cudaDeviceSynchronize();
    int wrong = 0, wrong_here = 0, wrong_back = 0;
    for (int i = 0; i < ALL; i++) {
        double want = value_of(f, (unsigned)i);
        int nan = isnan(want);
        float here = (float)from_bits<T>((unsigned short)i);
        wrong +=
            nan ? !isnan(wide[i]) : wide[i] != want || signbit(wide[i]) != signbit(want);
        wrong_here += nan ? !isnan(here) : here != want;
        wrong_back += !same(f, to_bits(T(here)), (unsigned)i);
    }
    tap(wrong == 0, "%s: all 65536 to float, in a kernel (%d wrong)", f->name, wrong);
    tap(wrong_here == 0, "%s: all 65536 to float, on the host (%d wrong)", f->name,
        wrong_here);
    tap(wrong_back == 0, "%s: all 65536 to float and back (%d wrong)", f->name,
        wrong_back);
    cudaFree(wide);
}

/* Between adjacent values: the middle, its neighbours, a quarter; and out of range. */
template <class T> static void test_rounding(const format *f)
{
    unsigned infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    int n = 0;
    float *x = shared_array<float>(12 * ALL);
    for (unsigned i = 0; i < infinity; i++) {
        double low = value_of(f, i), high = value_of(f, i + 1);
        if (i + 1 == infinity) high = 2 * low - value_of(f, i - 1);
        float middle = (float)(low / 2 + high / 2);
        float points[] = {
            (float)low, middle, nextafterf(middle, 0), nextafterf(middle, INFINITY),
            (float)(low + (high - low) / 4)};
        for (int p = 0; p < 5; p++)
            for (int sign = -1; sign <= 1; sign += 2)
                x[n++] = (float)sign * points[p];
    }
    const float ends[] = {INFINITY, NAN, 3.4e38f, 1e-45f, 70000.0f, 65520.0f, 65519.996f};
    for (int e = 0; e < 7; e++)
        x[n++] = ends[e], x[n++] = -ends[e];
    unsigned short *got = shared_array<unsigned short>((size_t)n);
    const char *const names[] = {"to nearest even", "toward zero", "down", "up"};
    for (int mode = NEAREST; mode <= UP; mode++) {
        round_all<T><<<(n + 255) / 256, 256>>>(got, x, n, mode);
        cudaDeviceSynchronize();
        int wrong = 0;
        for (int i = 0; i < n; i++)
            if (!same(f, got[i], nearest_bits(f, x[i], mode)) && wrong++ == 0)
                printf(
                    "# %a gives %04x, expected %04x\n", x[i], got[i],
                    nearest_bits(f, x[i], mode));
        tap(wrong == 0, "%s: %d floats rounded %s (%d wrong)", f->name, n, names[mode],
            wrong);
    }
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += !same(f, to_bits(T(x[i])), nearest_bits(f, x[i], NEAREST));
    tap(wrong == 0, "%s: the same floats rounded on the host (%d wrong)", f->name, wrong);
    cudaFree(x);
    cudaFree(got);
}

/* A double just above a tie must not be rounded to the tie by a conversion to float. */
template <class T> static void test_doubles(const format *f)
{
    int n = 0;
    double *x = shared_array<double>(4 * ALL);
    for (unsigned i = 1; i < 0x7000; i += 3) {
        double middle = (value_of(f, i) + value_of(f, i + 1)) / 2;
        x[n++] = middle * (1 + 0x1p-50), x[n++] = middle * (1 - 0x1p-50);
        x[n++] = -middle, x[n++] = middle * (1 + 0x1p-20);
    }
    unsigned short *got = shared_array<unsigned short>((size_t)n);
    round_doubles<T><<<(n + 255) / 256, 256>>>(got, x, n);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < n; i++)
        wrong += !same(f, got[i], nearest_bits(f, x[i], NEAREST));
    tap(wrong == 0, "%s: %d doubles rounded once (%d wrong)", f->name, n, wrong);
    cudaFree(x);
    cudaFree(got);
}

template <class T> static void test_integers(const format *f)
{
    int *got = shared_array<int>(ALL);
    const char *const names[] = {"rn", "rz", "rd", "ru"};
    for (int mode = NEAREST; mode <= UP; mode++) {
        integers<T><<<ALL / 256, 256>>>(got, mode);
        cudaDeviceSynchronize();
        int wrong = 0;
        for (unsigned i = 0; i < ALL; i++) {
            double v = value_of(f, i);
            if (isnan(v)) continue;
            double w = mode == NEAREST ? rint(v)
                       : mode == ZERO  ? trunc(v)
                       : mode == DOWN  ? floor(v)
                                       : ceil(v);
            int want = w >= 2147483647.0    ? 2147483647
                       : w <= -2147483648.0 ? INT32_MIN
                                            : (int)w;
            wrong += got[i] != want;
        }
        tap(wrong == 0, "%s: to int, _%s (%d wrong)", f->name, names[mode], wrong);
    }
    cudaFree(got);
}

static double exact_operation(double a, double b, double c, int op)
{
    switch (op) {
    case ADD:
        return a + b;
    case SUB:
        return a - b;
    case MUL:
        return a * b;
    case DIV:
        return a / b;
    case FMA:
        return a * b + c;
    case MAX:
        return fmax(a, b);
    case MIN:
        return fmin(a, b);
    case NEG:
        return -a;
    default:
        return fabs(a);
    }
}

/* Exponents from 2^-6 to 2^6, so that double results are exact (except a / b, where no
 * quotient is near a tie). Many products and sums are ties. */
template <class T> static void test_operations(const format *f)
{
    constexpr int N = 200000;
    unsigned short *in = shared_array<unsigned short>(3 * N), *got;
    got = shared_array<unsigned short>(N);
    int bias = (1 << (f->exponent_bits - 1)) - 1;
    for (int i = 0; i < 3 * N; i++) {
        unsigned r = random_bits(), exponent = (unsigned)bias - 6 + r % 13;
        unsigned mantissa = random_bits() & ((1u << f->mantissa_bits) - 1);
        if (r & 1024) mantissa &= ~0u << (f->mantissa_bits - 3);  // few bits: ties
        in[i] =
            (unsigned short)((r & 2048) << 4 | exponent << f->mantissa_bits | mantissa);
    }
    const unsigned special[] = {
        0,
        0x8000,
        1,
        0x8001,
        (unsigned)bias << f->mantissa_bits,
        ((1u << f->exponent_bits) - 1) << f->mantissa_bits,
        0x7fff};
    // all pairs of zeros, the smallest values, 1, infinity and NaN
    for (int i = 0; i < 49; i++) {
        in[3 * i] = (unsigned short)special[i / 7];
        in[3 * i + 1] = (unsigned short)special[i % 7];
        in[3 * i + 2] = 0;
    }
    for (int op = 0; op < OPERATIONS; op++) {
        operate<T><<<(N + 255) / 256, 256>>>(got, in, N, op);
        cudaDeviceSynchronize();
        int wrong = 0, slack = op == DIV ? 1 : 0;  // a GPU divides by a reciprocal
        for (int i = 0; i < N; i++) {
            double a = value_of(f, in[3 * i]), b = value_of(f, in[3 * i + 1]);
            double exact = exact_operation(a, b, value_of(f, in[3 * i + 2]), op);
            unsigned want = nearest_bits(f, exact, NEAREST);
            if (exact == 0 && (got[i] & 0x7fff) == 0) continue;  // zeros of either sign
            if (same(f, got[i], want)) continue;
            if (!isnan(exact) && steps(got[i], want) <= slack) continue;
            if (wrong++ == 0)
                printf("# %a, %a: %04x, expected %04x\n", a, b, got[i], want);
        }
        tap(wrong == 0, "%s: %s, %d times (%d wrong)", f->name, OPERATION[op], N, wrong);
    }
    cudaFree(in);
    cudaFree(got);
}

template <class T> static void test_functions(const format *f)
{
    unsigned short *got = shared_array<unsigned short>(ALL);
    for (int function = 0; function < FUNCTIONS; function++) {
        apply<T><<<ALL / 256, 256>>>(got, function);
        cudaDeviceSynchronize();
        int wrong = 0;
        for (unsigned i = 0; i < ALL; i++) {
            double x = value_of(f, i), exact = exact_function(x, function);
            if ((function == SIN || function == COS) && !(fabs(x) <= 100)) continue;
            unsigned want = nearest_bits(f, exact, NEAREST);
            if (same(f, got[i], want)) continue;
            if (!isnan(exact) && steps(got[i], want) <= 2) continue;
            if (exact == 0 && (got[i] & 0x7fff) == 0) continue;
            if (wrong++ == 0)
                printf(
                    "# %s(%a): %04x, expected %04x\n", FUNCTION[function], x, got[i],
                    want);
        }
        tap(wrong == 0, "%s: %s of all 65536 within 2 steps (%d wrong)", f->name,
            FUNCTION[function], wrong);
    }
    cudaFree(got);
}

/* All comparisons of all pairs of a few values, as bits of one number. */
template <class T> __global__ void compare(unsigned *out, const unsigned short *v, int n)
{
    int i = (int)threadIdx.x / n, j = (int)threadIdx.x % n;
    T a = from_bits<T>(v[i]), b = from_bits<T>(v[j]);
    unsigned r = 0;
    r |= (unsigned)(a == b) | (unsigned)(a != b) << 1 | (unsigned)(a < b) << 2;
    r |= (unsigned)(a <= b) << 3 | (unsigned)(a > b) << 4 | (unsigned)(a >= b) << 5;
    r |= (unsigned)__heq(a, b) << 6 | (unsigned)__hne(a, b) << 7 |
         (unsigned)__hlt(a, b) << 8;
    r |= (unsigned)__hle(a, b) << 9 | (unsigned)__hgt(a, b) << 10 |
         (unsigned)__hge(a, b) << 11;
    r |= (unsigned)__hequ(a, b) << 12 | (unsigned)__hneu(a, b) << 13;
    r |= (unsigned)__hltu(a, b) << 14 | (unsigned)__hgeu(a, b) << 15;
    r |= (unsigned)__hisnan(a) << 16 | (unsigned)(__hisinf(a) == 1) << 17;
    r |= (unsigned)(__hisinf(a) == -1) << 18;
    out[threadIdx.x] = r;
}
static unsigned compare_exactly(double a, double b)
{
    int nan = isnan(a) || isnan(b);
    unsigned eq = a == b, lt = a < b, gt = b < a, r = 0;
    r |= eq | (unsigned)(a != b) << 1 | lt << 2 | (eq | lt) << 3 | gt << 4 |
         (eq | gt) << 5;
    r |= eq << 6 | (lt | gt) << 7 | lt << 8 | (eq | lt) << 9 | gt << 10 | (eq | gt) << 11;
    r |= (eq | (unsigned)nan) << 12 | (unsigned)(a != b) << 13 |
         (lt | (unsigned)nan) << 14;
    r |= (eq | gt | (unsigned)nan) << 15;
    r |= (unsigned)(isnan(a) != 0) << 16 | (unsigned)(a == INFINITY) << 17;
    return r | (unsigned)(a == -INFINITY) << 18;
}
template <class T> static void test_comparisons(const format *f)
{
    unsigned infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    const unsigned values[] = {0,      0x8000, 1,        0x3c00,
                               0xbc00, 0x3c01, infinity, infinity | 0x8000,
                               0x7fff, 0x1234};
    constexpr int N = 10;
    unsigned short *v = shared_array<unsigned short>(N);
    unsigned *got = shared_array<unsigned>(N * N);
    for (int i = 0; i < N; i++)
        v[i] = (unsigned short)values[i];
    compare<T><<<1, N * N>>>(got, v, N);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < N * N; i++)
        wrong += got[i] != compare_exactly(value_of(f, v[i / N]), value_of(f, v[i % N]));
    tap(wrong == 0, "%s: comparisons, with zeros, infinities and NaN (%d wrong)", f->name,
        wrong);
    cudaFree(v);
    cudaFree(got);
}

__global__ void pairs(float *out)
{
    __half2 a = __floats2half2_rn(1.5f, -2.0f), b = __float2half2_rn(3.0f);
    float2 r = __half22float2(__hfma2(a, b, a));  // 6, -8
    out[0] = r.x, out[1] = r.y;
    out[2] = __low2float(__hmul2(a, b)), out[3] = __high2float(a + b);  // 4.5, 1
    out[4] = __half2float(__low2half(__lowhigh2highlow(a)));            // -2
    out[5] = __hbgt2(b, a) ? 1 : 0;
    out[6] = __low2float(__hlt2(a, b)), out[7] = __high2float(__habs2(a));  // 1, 2
    __nv_bfloat162 c = __floats2bfloat162_rn(1.5f, -2.0f), d = __float2bfloat162_rn(3.0f);
    r = __bfloat1622float2(__hfma2(c, d, c));
    out[8] = r.x, out[9] = r.y;
    out[10] = __low2float(__hmul2(c, d)), out[11] = __high2float(c + d);
    out[12] = __bfloat162float(__low2bfloat16(__lowhigh2highlow(c)));
    out[13] = __hbgt2(d, c) ? 1 : 0;
    out[14] = __low2float(__hlt2(c, d)), out[15] = __high2float(__habs2(c));
}
static void test_pairs(void)
{
    const float want[] = {6, -8, 4.5f, 1, -2, 1, 1, 2};
    float *got = shared_array<float>(16);
    pairs<<<1, 1>>>(got);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < 16; i++)
        wrong += got[i] != want[i % 8];
    tap(wrong == 0, "pairs: arithmetic, comparisons, unpacking (%d wrong)", wrong);
    cudaFree(got);
}

__global__ void count(__half *h, __nv_bfloat16 *b, __half2 *h2, __nv_bfloat162 *b2)
{
    atomicAdd(h, __float2half(1.0f));
    atomicAdd(h2, __floats2half2_rn(1.0f, -1.0f));
    if (threadIdx.x < 32) {  // bfloat16 counts to 256 only
        atomicAdd(b, __float2bfloat16(1.0f));
        atomicAdd(b2, __floats2bfloat162_rn(2.0f, -2.0f));
    }
}
static void test_atomics(void)
{
    typedef struct sums {
        __half2 h2;
        __nv_bfloat162 b2;
        __half h;
        __nv_bfloat16 b;
    } sums;
    sums *s = shared_array<sums>(1);
    memset((void *)s, 0, sizeof *s);
    count<<<8, 256>>>(&s->h, &s->b, &s->h2, &s->b2);
    cudaDeviceSynchronize();
    tap((float)s->h == 2048 && (float)s->h2.x == 2048 && (float)s->h2.y == -2048,
        "half: atomicAdd of 2048 threads, single and in pairs");
    tap((float)s->b == 256 && (float)s->b2.x == 512 && (float)s->b2.y == -512,
        "bfloat16: atomicAdd of 256 threads, single and in pairs");
    cudaFree(s);
}

template <class T> static void test_type(const format *f)
{
    test_widening<T>(f);
    test_rounding<T>(f);
    test_doubles<T>(f);
    test_integers<T>(f);
    test_operations<T>(f);
    test_functions<T>(f);
    test_comparisons<T>(f);
}

int main(void)
{
    test_type<__half>(&HALF);
    test_type<__nv_bfloat16>(&BF16);
    test_pairs();
    test_atomics();
    return tap_done();
}
