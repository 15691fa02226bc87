// language.cu - every form that the translator must recognize.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <string.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../tap.h"
#include "language.cuh"

/* --- launches, and text that looks like launches ------------------------------------ */

// a comment with k<<<1, 2>>>(x); and a "string
static const char *const text = "k<<<1, 1>>>(no)", *const raw = R"x(k<<<1, 1>>>(y) )")x";

template <typename T, int N> __global__ void scale(T *x, T a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * a + N;
}
template <typename T> __global__ void put_f32(T *x, T v)
{
    x[threadIdx.x] = v;
}
template <typename T> __global__ void fill(T *x, T v, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = v;
}
namespace outer
{
namespace inner
{
__global__ void null_or_not(int *p, const int *q, int n)
{
    if ((int)threadIdx.x < n) p[threadIdx.x] = q == nullptr ? n : -n;
}
}  // namespace inner
template <class T> struct kernels {
    static __device__ T twice(T v)
    {
        return 2 * v;
    }
};
}  // namespace outer
__global__ void add(float *x, float a)
{
    x[threadIdx.x] += a;
}
template <class F> __global__ void apply(float *x, F f)
{
    x[threadIdx.x] = f(x[threadIdx.x]);
}
struct pair {
    float a;
    int b;
};
__global__ void take_struct(float *x, pair p)
{
    x[threadIdx.x] = p.a * p.b;
}

// A kernel and a host function of one name: the plain call is of the host function.
__global__ void overloaded(float *x, int)
{
    x[threadIdx.x] = 5;
}
static void overloaded(float *x)
{
    overloaded<<<1, 32>>>(x, 0);
}

// A macro that ends in __global__ declares no kernel on the next line.
#define KERNEL __global__
#define CHECK(call) (call)
KERNEL void add_greek(float *x, float α)
{
    float Δ = α;
    x[threadIdx.x] += Δ;
}

// Its copy would free the data.
template <class T> struct owning {
    T *data;
    explicit owning(int n)
    {
        cudaMalloc(&data, n * sizeof(T));
    }
    ~owning()
    {
        cudaFree(data);
    }
    operator T *()
    {
        return data;
    }
};
struct uncopied : owning<float> {
    using owning::owning;
    uncopied(const uncopied &) = delete;
};

#define CEIL(a, b) (((a) + (b)-1) / (b))
#define PASTE(a, b) a##b
#define LAUNCH_TYPE(name, T, e) name##_##e<T><<<1, 32>>>(x, (T)5)
#define LAUNCH(kernel, n, ...) kernel<<<CEIL(n, 128), 128>>>(__VA_ARGS__)

struct model {
    float *w;
    int n;
    void step(cudaStream_t s)
    {
        fill<float><<<CEIL(n, 64), 64, 0, s>>>(w, 3.0f, n);
    }
};

static float *x;  // on the device
static float h[4096];
static const float *get(void)
{
    cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
    return h;
}

static void owners(void)
{
    owning<float> a(32);
    uncopied b(32);
    for (int i = 0; i < 2; i++)  // a second launch would find freed data
        fill<float><<<1, 32>>>(a, 3, 32), fill<float><<<1, 32>>>(b, 4, 32);
    add_greek<<<1, 32>>>(a, 0.5f);
    add_greek<<<1, 32>>>(b, 0.5f);
    CHECK(cudaMemcpy(h, a, 4, cudaMemcpyDefault));
    CHECK(cudaMemcpy(h + 1, b, 4, cudaMemcpyDefault));
    tap(h[0] == 3.5f && h[1] == 4.5f && cudaGetLastError() == cudaSuccess,
        "arguments that own their data and convert to a pointer");
    int next = 0;
    std::map<std::string, void (*)(float *, float)> named{{"add", add}};
    void (*const table[])(float *, float) = {add, add_greek};
    fill<<<1, 32>>>(x, 0.0f, 32);
    named["add"]<<<1, 32>>>(x, 1);
    table[next++]<<<1, 32>>>(x, 2);
    table[next++]<<<1, 32>>>(x, 4);
    tap(next == 2 && get()[31] == 7, "the index of a table of kernels is evaluated once");
}

static void launches(void)
{
    tap(!strcmp(text, "k<<<1, 1>>>(no)") && strlen(raw) == 17, "strings are left alone");
    fill<<<CEIL(1000, 256), 256>>>(x, 2.0f, 1000);
    tap(get()[999] == 2, "template arguments deduced");
    scale<float, (4 > 3 ? 4 : 3)><<<dim3(CEIL(1000, 256)), dim3(256, 1, 1), 0, 0>>>(
        x,
        3.f,  // a comment with >>> (
        1000);
    tap(get()[0] == 10 && h[999] == 10,
        "a launch over several lines, > in its template arguments");
    LAUNCH(fill<float>, 10, x, 1.0f, 10);
    tap(get()[9] == 1 && h[10] == 10, "a launch in a macro");

    LAUNCH_TYPE(put, float, f32);
    tap(get()[9] == 5, "a launch in a macro that pastes the kernel's name");

    int *p = (int *)x;
    outer::inner::null_or_not<<<1, 64>>>(p, NULL, 50);
    get();
    tap(((int *)h)[49] == 50, "NULL as a kernel's argument");
    ::outer::inner::null_or_not<<<1, 64>>>(p, 0, 50);
    get();
    tap(((int *)h)[49] == 50, "0 as a null pointer, blanks around <<<");
    outer::inner::null_or_not<<<1, 64>>>(p, p, 0);
    outer::inner::null_or_not<<<1, 64>>>(p, nullptr, 3 < 4 ? 40 : 0);
    get();
    tap(((int *)h)[39] == 40 && ((int *)h)[49] == 50,
        "0 as a number, nullptr, ? : in arguments");

    void (*pointer)(float *, float) = add;
    void (*table[2])(float *, float) = {add, add};
    fill<<<1, 64>>>(x, 0.0f, 64);
    pointer<<<1, 64>>>(x, 1);
    (*pointer)<<<1, 64>>>(x, 2);
    table[1]<<<1, 64>>>(x, 4);
    struct step {
        void (*kernel)(float *, float);
        step *next;
    } steps[2] = {{add, steps}, {add, steps}}, *at = steps;
    steps[1].kernel<<<1, 64>>>(x, 8);
    at[0].next->kernel<<<1, 64>>>(x, 16);
    if (at) (*pointer)<<<1, 64>>>(x, 32);
    PASTE(ad, d)<<<1, 64>>>(x, 64);
    tap(get()[63] == 127, "kernels by pointer, from tables, of pasted names");

    float k = 3;
    apply<<<1, 32>>>(
        x, [=] __device__(float v) { return outer::kernels<float>::twice(v) + k; });
    tap(get()[0] == 257, "a device lambda");
    take_struct<<<1, 32>>>(x, pair{1.5f, 4});
    tap(get()[31] == 6, "a struct by value");

    int i = 0;
    std::vector<float *> owners{x};
    scale<float, 1><<<1, 32>>>(owners.at(0), (float)++i, 32);
    tap(i == 1 && get()[0] == 7, "arguments are evaluated once");
    std::unique_ptr<float[]> host(new float[2]{4, 5});
    fill<<<1, 32>>>(x, host[1], 32);
    tap(get()[5] == 5, "arguments are evaluated on the host");

    for (int r = 0; r < 3; r++)
        if (r & 1)
            fill<<<1, 1>>>(x, 21.0f, 1);
        else
            fill<<<1, 1>>>(x + 1, 22.0f, 1);
    tap(get()[0] == 21 && h[1] == 22, "launches as statements of if and else");
    int shifted = 1000 << 2, back = shifted >> 3 > 2 ? 1 : 0;
    tap(shifted == 4000 && back == 1, "shifts are not launches");
    overloaded(x);
    tap(get()[31] == 5, "a host function with the name of a kernel");
    tap(launch_from_header(x) == cudaSuccess && get()[0] == 310, "a launch in a header");
    cudaStream_t s;
    cudaStreamCreate(&s);
    model m = {x, 100};
    fill<<<2, 64>>>(x, 0.0f, 128);
    m.step(s);
    cudaStreamSynchronize(s);
    tap(get()[99] == 3 && h[100] == 0, "a launch in a member function, on a stream");
    cudaStreamDestroy(s);
}

/* --- shared, constant and device memory --------------------------------------------- */

extern __shared__ float file_scope[];
__constant__ float coefficient[4];
static __constant__ float fixed[2] = {0.5f, 8.0f};
__device__ int counter;

__global__ void dynamic_at_file_scope(float *o)
{
    file_scope[threadIdx.x] = 2;
    __syncthreads();
    o[threadIdx.x] =
        file_scope[threadIdx.x ^ 1] * coefficient[threadIdx.x & 3] * fixed[1];
}
template <typename T> __global__ void dynamic_in_template(T *o)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    T *s = reinterpret_cast<T *>(bytes);
    s[threadIdx.x] = T(threadIdx.x);
    __syncthreads();
    o[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
__global__ void dynamic_2d(float *o)
{
    extern __shared__ float tile[][33];
    tile[threadIdx.y][threadIdx.x] = threadIdx.x + 100 * threadIdx.y;
    __syncthreads();
    o[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void static_shapes(float *o)
{
    static __shared__ pair p[32];
    volatile __shared__ float v;
    __shared__ half hh[2][32];
    __shared__ float4 f4[8], *ptr;
    int t = threadIdx.x;
    p[t].a = t;
    hh[1][t] = __float2half(0.5f * t);
    if (t < 8) f4[t] = make_float4(t, 1, 2, 3);
    if (t == 0) v = 7, ptr = f4;
    __syncthreads();
    o[t] = p[31 - t].a + v + __half2float(hh[1][t]) + ptr[t & 7].w;
}
__device__ int counted(int more)
{
    __shared__ union {
        int i[2];
        float f[2];
    } sum;
    __shared__ struct both {
        char c[3];
    } other;
    if (threadIdx.x == 0) sum.i[1] = more + (more > 1 ? sum.i[1] : 0), other.c[2] = 1;
    __syncthreads();
    int n = sum.i[1] + other.c[2] - 1;
    __syncthreads();
    return sizeof sum == 8 && sizeof other == 3 && sizeof(both) == 3 ? n : -1;
}
// Shared memory in a device function: both calls use the same array.
__global__ void call_twice(int *o)
{
    counted(1);
    o[threadIdx.x] = counted(2);
}
// The compiler must not cache shared memory across a barrier.
static __global__ void internal(int *o)
{
    __shared__ int v;
    if (threadIdx.x == 0) v = 1;
    __syncthreads();
    int before = v;
    __syncthreads();
    if (threadIdx.x == 1) v = 2;
    __syncthreads();
    o[threadIdx.x] = before * 10 + v;
}
__global__ void __launch_bounds__(64, 2) where(int *o, int w, int d)
{
    __shared__ int blocks[1];
    int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (t == 0) blocks[0] = b;
    __syncthreads();
    o[b * w + t] = blocks[0] * d + t;
}
__global__ void count(void)
{
    atomicAdd(&counter, 1);
}

static void memory_of_blocks(void)
{
    float c[4] = {1, 2, 3, 4};
    cudaMemcpyToSymbol(coefficient, c, sizeof c);
    dynamic_at_file_scope<<<1, 32, 128>>>(x);
    tap(get()[3] == 64, "dynamic shared memory at file scope; __constant__ memory");
    dynamic_in_template<float><<<1, 64, 64 * sizeof(float)>>>(x);
    tap(get()[0] == 63, "dynamic shared memory in a template");
    dynamic_2d<<<1, dim3(32, 32), 32 * 33 * 4>>>(x);
    tap(get()[32 * 2 + 5] == 502, "dynamic shared memory with two dimensions");
    static_shapes<<<1, 32>>>(x);
    tap(get()[4] == 27 + 7 + 2 + 3,
        "static, volatile, half, vector and pointer shared variables");
    call_twice<<<2, 32>>>((int *)x);
    get();
    tap(((int *)h)[9] == 3, "a union and a struct keep their values in a block");
    internal<<<1, 64>>>((int *)x);
    get();
    int wrong = 0;
    for (int i = 0; i < 64; i++)
        wrong += ((int *)h)[i] != 12;
    tap(!wrong, "a barrier makes the writes of other threads visible");
    where<<<dim3(3, 2, 2), dim3(4, 3, 2)>>>((int *)x, 24, 100);
    get();
    for (int i = 0; i < 12 * 24; i++)
        wrong += ((int *)h)[i] != i / 24 * 100 + i % 24;
    tap(!wrong, "three-dimensional grids and blocks");
    count<<<70, 33>>>();
    int n = 0;
    cudaMemcpyFromSymbol(&n, counter, sizeof n);
    tap(n == 70 * 33, "a __device__ variable, incremented by all threads");
}

__global__ void functions(float *o)
{
    int i = 0;
    o[i++] = rsqrtf(4);
    o[i++] = __expf(0);
    o[i++] = __fdividef(1, 4);
    o[i++] = __int_as_float(__float_as_int(2.5f));
    o[i++] = __popc(0xff) + __clz(1) + __ffs(8);
    o[i++] = __brev(1) >> 31;
    o[i++] = fmaxf(NAN, 1) + fminf(2, NAN);
    o[i++] = max(3, 4) + min(3u, 4u) + max(1.0f, 2.0f);
    o[i++] = __ldg(&fixed[0]) + __saturatef(7);
    o[i++] = __umulhi(1u << 31, 4);
    o[i++] = __dp4a(0x01020304, 0x01010101, 5);
    o[i++] = __float2int_rn(2.5f) + __float2int_rz(-2.5f) + __float2int_ru(0.5f);
    o[i++] = __byte_perm(0x33221100, 0x77665544, 0x7410) == 0x77441100;
    o[i++] = __fmul_rn(3, 4) - __fadd_rn(1, 1);
    float4 v = make_float4(1, 2, 3, 4);
    o[i++] = reinterpret_cast<float4 *>(&v)->w + dim3(7).y;
}

/* --- shifts by the width and more --------------------------------------------------- */

struct wide {
    int v;
    __device__ wide operator<<(int n) const
    {
        return {100 * v + n};
    }
};
struct sum {
    int v;
};
template <class T> __device__ sum &operator<<(sum &s, const T &v)
{
    s.v += (int)v;
    return s;
}
template <class T> struct box {
    T v;
};
struct fields {
    unsigned a : 3, b : sizeof(int) + 1;
    unsigned all : 32;
    int c : 5;
};
struct __attribute__((packed)) packed_fields {
    char c;
    unsigned u, v[2];
};
template <int N> __global__ void shifts(float *o, int n, long long m)
{
    __shared__ int s[1 << N];
    int i = 0, minus = -8;
    unsigned char c = 200;
    unsigned u = 1;
    unsigned long long w = 5;
    box<box<int>> b = {{n >> 4}};
    s[threadIdx.x] = n;
    o[i++] = (1 << n) + (u >> n) + (float)(w << 2 * n) + (1 << -n); /* all are 0 */
    o[i++] = (minus >> n) + (minus >> n + 8);
    o[i++] = (float)(w << n >> m << 1);
    o[i++] = (1 << n - 30 << 1) + (u << (n > 3 ? 2 : 1) | 1);
    o[i++] = c << 1 << (n & 3) << N;
    c <<= n - 29, u <<= n, w >>= m + 32, minus >>= s[0] - 31;
    o[i++] = c + 1000 * u + (float)w + minus;
    o[i++] = (wide{2} << n).v + b.v.v;
    sum t = {1};
    t << n << m;
    o[i++] = t.v + (n < 3 && m < n >> 1);
    fields f = {3, 16, ~0u, 1};
    packed_fields p = {0, 1, {1, 2}};
    int k = n - 30;
    o[i++] = (f.b << k + 25 < 0) + ((f.a) << k);
    f.b >>= k, f.c <<= k, p.u <<= k, p.v[1] <<= k;
    o[i++] = (f.all << k > 0) + f.b + f.c + p.u + p.v[1];
}

int main()
{
    cudaMalloc(&x, sizeof h);
    cudaMemset(x, 0, sizeof h);
    owners();
    launches();
    memory_of_blocks();
    functions<<<1, 1>>>(x);
    const float want[] = {0.5f, 1, 0.25f, 2.5f, 8 + 31 + 4, 1,  3, 9,
                          1.5f, 2, 15,    1,    1,          10, 5};
    get();
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        tap(h[i] == want[i], "device function %zu: %g, expected %g", i, h[i], want[i]);
    shifts<4><<<1, 1>>>(x, 32, 32);
    const float shifted[] = {0, -2, 10, 13, 6400, 60, 234, 65, 13, 21};
    get();
    for (size_t i = 0; i < sizeof shifted / sizeof *shifted; i++)
        tap(h[i] == shifted[i], "shift %zu: %g, expected %g", i, h[i], shifted[i]);
    tap(cudaGetLastError() == cudaSuccess, "no pending error");
    cudaFree(x);
    return tap_done();
}
