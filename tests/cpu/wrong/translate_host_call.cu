// says: translate_host_call.cu:23:12: error: kernel k calls plain, a host function: write __device__ before it
// says: translate_host_call.cu:24:12: error: kernel k calls generic, a host function: write __device__ before it
// says: translate_host_call.cu:25:12: error: kernel k calls from_header, a host function: write __device__ before it
// says: translate_host_call.cu:26:19: error: kernel k calls inner::plain_too, a host function: write __device__ before it
// says: translate_host_call.cu:27:12: error: kernel k calls rounded, a constexpr host function: write __host__ __device__ before it
// says: translate_host_call.cu:28:44: error: kernel k calls plain, a host function: write __device__ before it
// says: translate_host_call.cu:33:35: error: kernel used calls plain, a host function: write __device__ before it
// says: translate_host_call.cu:35:50: error: __device__ function helper calls plain, a host function: write __device__ before it
// says: translate_host_call.cu:41:66: error: a __device__ lambda in main calls plain, a host function: write __device__ before it
#include "host_only.h"

static float plain(float x) { return 2 * x; }
template <typename T> T generic(T x) { return x; }
static constexpr int rounded(int n) { return (n + 31) / 32 * 32; }
namespace inner
{
float plain_too(float x) { return x; }
}

// nvcc refuses each of these.
__global__ void k(float *x)
{
    x[0] = plain(x[0]);
    x[1] = generic<float>(x[1]);
    x[2] = from_header(x[2]);
    x[3] = inner::plain_too(x[3]);
    x[4] = rounded(threadIdx.x);
    auto in_lambda = [=](float v) { return plain(v); };
    x[5] = in_lambda(1);
}
template <typename T> __global__ void unused(T *x) { x[0] = plain(x[0]); }
template <typename T>
__global__ void used(T *x) { *x = plain(*x); }

static __device__ float helper(float x) { return plain(x); }
template <typename F> __global__ void apply(F f) { f(1); }

int main()
{
    used<<<1, 1>>>((float *)nullptr);
    apply<<<1, 1>>>([=] __device__(float v) { return v + 1 < 0 ? plain(v) : v; });
}
