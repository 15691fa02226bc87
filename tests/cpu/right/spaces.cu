// spaces.cu - what looks like a mix of host and device code and is none: nvcc accepts all of
// it, so the translator must too. Only compiled.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <vector>

/* --- names of the host, used for something else in device code ---------------------- */

static float x[64], scale = 2, *table;
static int n, count, row, lanes;
static std::vector<float> rows;
const float limit = 3;
static constexpr float factors[2] = {1, 2};
static float step(float v)
{
    return v + scale;
}
static float clamp01(float v)
{
    return std::max(0.0f, std::min(v, 1.0f));
}
static float sum(const float *v, int count);
static float first(const float *v)
{
    return v[0];
}
static inline float both(double v)
{
    return (float)v;
}
static __device__ float both(float v)
{
    return v;
}
static float last(const float *v, int k)
{
    return v[k - 1];
}
template <typename T> T member(T v)
{
    return v;
}
float max(float a, float b, float c)
{
    return std::max(a, std::max(b, c));
}
int sync(int k)
{
    return k;
}

struct accumulator {
    float count, row;
    float (*apply)(float);
    __device__ float member(float v)
    {
        return count + member2(v) + row;
    }
    __device__ float member2(float v) const
    {
        return v * count;
    }
    __device__ accumulator operator+(const accumulator &o) const
    {
        return {count + o.count, row, apply};
    }
    __device__ float operator()(float v)
    {
        return v + row;
    }
    __device__ explicit accumulator(float c) : count(c), row{c}, apply(nullptr) {}
    __device__ accumulator(float c, float r, float (*a)(float))
        : count(c), row(r), apply(a)
    {
    }
};
static __device__ float sum(const float *v, int k)
{
    float s = 0;
    for (int i = 0; i < k; i++)
        s += v[i];
    return s;
}

__global__ void parameters(float *x, const float *__restrict__ table, int n, float scale)
{
    int row = blockIdx.x, count = n;
    if (row < n) x[row] = (count * scale + table[row]) * limit;
}
__global__ void locals(float *o, int k)
{
    float a = 1, x = o[0], *table = o;
    const unsigned n = 3;
    for (int i = 0, count = k; i < count; i++)
        table[i] = (a * x + n) * i;
    auto step = [=](float v) { return v + a; };
    auto clamp01 = [](float scale) { return scale * 2; };
    enum { lanes = 4, row = 5 };
    half2 rows = __floats2half2_rn(a, x);
    o[1] = step(x) + clamp01(x) + lanes + row + __low2float(rows);
    o[2] = sizeof(scale) + sizeof(factors) / sizeof factors[0] + sizeof(first(o));
    constexpr float f = factors[1];
    o[3] = both(f) + sum(o, 3) + max(f, a);
}
template <typename F, int n, class T>
static __device__ float call(F first, T &count, float (*last)(const float *, int))
{
    count += n;
    return first(&count) + last(&count, n);
}
static __device__ float own_first(const float *v)
{
    return *v;
}
static __device__ float own_last(const float *v, int k)
{
    return v[k];
}
__global__ void members(float *o)
{
    accumulator a(o[0]), b = a + accumulator(2);
    b.count = a.member(3) + b.row;
    accumulator *p = &b;
    o[0] = p->count + p->member(1) + b(2) + accumulator(3).row;
    float value = 1;
    o[1] = call<float (*)(const float *), 3>(own_first, value, own_last);
}

/* --- macros, #if, namespaces, templates --------------------------------------------- */

#define DEVICE static __device__ __forceinline__
#define TWICE(v) step((v) + (v))
#define NAME(e) times_##e
#define DEFINE(e)                                                                        \
    static __device__ float NAME(e)(float v)                                             \
    {                                                                                    \
        return v * 2;                                                                    \
    }
#define step(v) ((v) + 1)
DEVICE float in_macro(float v)
{
    return TWICE(v);
}
DEFINE(two)
static float shadowed(float v)
{
    return v;
}
#define shadowed(v) ((v)*2)

#ifdef __CUDACPU__
static inline float lane_sum(float v)
{
    return v;
}
#else
static __device__ float lane_sum(float v)
{
    return __shfl_xor_sync(~0u, v, 1);
}
#endif
static float slow_log(float v)
{
    return v;
}
static __host__ __device__ float any_log(float v)
{
#ifdef __CUDA_ARCH__
    return __logf(v);
#else
    return slow_log(v);
#endif
}
namespace fast
{
static __device__ float first(const float *v)
{
    return v[1];
}
struct twice {
    static __device__ float step2(float v)
    {
        return v;
    }
};
namespace inner
{
static __device__ int count;
}
}  // namespace fast
extern "C" __device__ float in_c(float v)
{
    return v;
}
// A template that is not used is not compiled.
template <typename T> __device__ T unused(T v)
{
    return slow_log(v) + rows[0];
}
template <bool HOST> __device__ float chosen(float v)
{
    if constexpr (HOST)
        return slow_log(v);
    else
        return v;
}
template <typename T> __device__ T special(T v);
template <> __device__ float special<float>(float v)
{
    return v;
}
template <> __device__ int special<int>(int v)
{
    return v + 1;
}
// Recursion; a redeclaration; a function declared first without a body.
static __device__ int depth(int k)
{
    return k ? depth(k - 1) + 1 : 0;
}
static __device__ float later(float v);

__global__ void __launch_bounds__(64) uses(float *o)
{
    o[0] = in_macro(1) + times_two(2) + shadowed(3.0f) + lane_sum(4) + any_log(5);
    o[1] = fast::first(o) + fast::twice::step2(1) + in_c(2) + chosen<false>(1);
    o[2] = special(1.0f) + special(2) + depth(3) + later(1) + fast::inner::count;
    o[3] = std::abs(o[2]) + std::sqrt(o[1]) + std::move(o[0]);
    if (o[3] < 0) printf("%g\n", o[3]);
}
static __device__ float later(float v)
{
    return v;
}

/* --- device code in host functions -------------------------------------------------- */

template <typename F> __global__ void apply(float *o, F f)
{
    o[threadIdx.x] = f(o[0]);
}
template <typename T> static void launch(T *o, T by)
{
    auto f = [=] __device__(T v) { return later(v) * by; };
    apply<<<1, 32>>>(o, f);
    apply<<<1, 32>>>(o, [=] __host__ __device__(T v) { return v * by; });
}
struct depth_of {
    int depth(int k)
    {
        return k;
    }
};
static float later_by(float (*later)(float))
{
    return later(2);
}
/* After a class with a device function, host code may have variable-length arrays. */
struct doubler {
    __device__ int operator()(int x) const { return 2 * x; }
};
static int variable_array(int n)
{
    char c[n];
    return sizeof c;
}

int main()
{
    float *o;
    cudaMalloc(&o, sizeof x);
    parameters<<<1, 64>>>(o, o, n, scale);
    locals<<<1, 1>>>(o, count);
    members<<<1, 1>>>(o);
    uses<<<1, 32>>>(o);
    launch(o, 2.0f);
    auto both_of = [](float v) { return clamp01(v) + first(x); };
    int depth = depth_of().depth(3);
    rows.push_back(any_log(1) + later_by([](float v) { return v; }));
    rows.push_back(both(1.0) + both_of(2) + depth + sizeof(in_c(1)) + last(x, 1));
    return row + lanes + (table == nullptr) + (int)rows[0] + sync(1) + (int)max(1, 2, 3);
}
static float unused_host(void)
{
    return slow_log(2);
}
void use_the_rest(void)
{
    table = &x[(int)unused_host() + (int)member(1) + variable_array(3)];
}
