/* cufft.h - cuFFT: complex and real transforms in float and double, of 1 to 3 dimensions,
 * in batches, with embedded strides. As in cuFFT, no transform is scaled. */
#ifndef WBCPU_CUFFT_H
#define WBCPU_CUFFT_H
#define _CUFFT_H_ /* helper_cuda.h asks for it */

#include "cuComplex.h"
#include "cuda_runtime.h"
#include "wbcpu/fft.h"

#include <map>

typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
enum { CUFFT_FORWARD = -1, CUFFT_INVERSE = 1 };
typedef enum cufftResult_t {
    CUFFT_SUCCESS = 0,
    CUFFT_INVALID_PLAN = 1,
    CUFFT_ALLOC_FAILED = 2,
    CUFFT_INVALID_TYPE = 3,
    CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5,
    CUFFT_EXEC_FAILED = 6,
    CUFFT_SETUP_FAILED = 7,
    CUFFT_INVALID_SIZE = 8,
    CUFFT_UNALIGNED_DATA = 9,
    CUFFT_INVALID_DEVICE = 11,
    CUFFT_NO_WORKSPACE = 13,
    CUFFT_NOT_IMPLEMENTED = 14,
    CUFFT_NOT_SUPPORTED = 16,
    CUFFT_MISSING_DEPENDENCY = 17,
    CUFFT_NVRTC_FAILURE = 18,
    CUFFT_NVJITLINK_FAILURE = 19,
    CUFFT_NVSHMEM_FAILURE = 20
} cufftResult;
typedef enum cufftType_t {
    CUFFT_R2C = 0x2a,
    CUFFT_C2R = 0x2c,
    CUFFT_C2C = 0x29,
    CUFFT_D2Z = 0x6a,
    CUFFT_Z2D = 0x6c,
    CUFFT_Z2Z = 0x69
} cufftType;

namespace wbcpu
{
/* Element (i, j, k) of transform b: b * distance + ((i * size1 + j) * size2 + k) * stride */
struct fft_layout {
    long embed[3], stride, distance;
    long at(long b, long i, long j, long k) const
    {
        return b * distance + ((i * embed[1] + j) * embed[2] + k) * stride;
    }
};
struct fft_plan {
    long size[3];
    int batch;
    cufftType type;
    fft_layout in, out;
    cudaStream_t stream;

    bool plain; /* no embedded strides were given */

    /* Functions in place of the loads and stores (cufftXtSetCallback), or NULL */
    struct callback {
        void *function, *info;
    } load, store;

    /* In place, the lines of real numbers are as long as those of complex ones. */
    void pad_real(bool real_in, bool real_out)
    {
        fft_layout &real = real_in ? in : out, &half = real_in ? out : in;
        if (!plain || real_in == real_out) return;
        real.embed[2] = 2 * half.embed[2];
        real.distance = 2 * half.distance;
    }
    /* Calls f(b, i, j, k) for the elements that are stored: of a real transform's complex
     * side only the first half of each line */
    template <class F> void each(bool half, F f) const
    {
        for (long b = 0; b < batch; b++)
            for (long i = 0; i < size[0]; i++)
                for (long j = 0; j < size[1]; j++)
                    for (long k = 0; k < (half ? size[2] / 2 + 1 : size[2]); k++)
                        f(b, i, j, k);
    }
    long index(long b, long i, long j, long k) const
    {
        return ((b * size[0] + i) * size[1] + j) * size[2] + k;
    }
    /* std::complex has the layout of cufftComplex, but is passed in another way. */
    template <class E>
    using element = std::conditional_t<
        std::is_same_v<E, std::complex<float>>, cufftComplex,
        std::conditional_t<std::is_same_v<E, std::complex<double>>, cufftDoubleComplex, E>>;
    template <class E> E fetch(const void *from, long at) const
    {
        typedef element<E> (*function)(void *, size_t, void *, void *);
        if (!load.function) return ((const E *)from)[at];
        element<E> x = ((function)load.function)(
            const_cast<void *>(from), (size_t)at, load.info, nullptr);
        return (E &)x;
    }
    template <class E> void put(void *to, long at, E x) const
    {
        typedef void (*function)(void *, size_t, element<E>, void *, void *);
        if (store.function)
            ((function)store.function)(
                to, (size_t)at, (element<E> &)x, store.info, nullptr);
        else
            ((E *)to)[at] = x;
    }
    template <class T> void run(const void *from, void *to, bool real_in, bool real_out, int sign) const
    {
        typedef std::complex<T> C;
        long one = size[0] * size[1] * size[2];
        std::vector<C> data((size_t)(one * batch));
        each(real_out, [&](long b, long i, long j, long k) {
            long at = in.at(b, i, j, k);
            C x = real_in ? C(fetch<T>(from, at)) : fetch<C>(from, at);
            data[(size_t)index(b, i, j, k)] = x;
            if (real_out && k && k < size[2] - k) /* the other half is its mirror */
                data[(size_t)index(b, (size[0] - i) % size[0], (size[1] - j) % size[1], size[2] - k)] =
                    std::conj(x);
        });
        for (long b = 0; b < batch; b++)
            fft(data.data() + b * one, size, sign);
        each(real_in, [&](long b, long i, long j, long k) {
            C x = data[(size_t)index(b, i, j, k)];
            if (real_out)
                put<T>(to, out.at(b, i, j, k), x.real());
            else
                put<C>(to, out.at(b, i, j, k), x);
        });
    }
};
inline std::map<cufftHandle, fft_plan> &fft_plans()
{
    static std::map<cufftHandle, fft_plan> plans;
    return plans;
}
}  // namespace wbcpu

#define WBCPU_CALL static inline cufftResult
WBCPU_CALL cufftCreate(cufftHandle *plan)
{
    static int last;
    cudaSetDevice(0); /* makes a context */
    *plan = ++last;
    wbcpu::fft_plans()[*plan] = wbcpu::fft_plan();
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftDestroy(cufftHandle plan)
{
    return wbcpu::fft_plans().erase(plan) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}
WBCPU_CALL cufftMakePlanMany(
    cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
    int ostride, int odist, cufftType type, int batch, size_t *bytes)
{
    if (rank < 1 || rank > 3 || batch < 1) return CUFFT_INVALID_VALUE;
    auto found = wbcpu::fft_plans().find(plan);
    if (found == wbcpu::fft_plans().end()) return CUFFT_INVALID_PLAN;
    wbcpu::fft_plan &p = found->second;
    p.batch = batch;
    p.type = type;
    p.plain = !inembed || !onembed;
    for (int i = 0; i < 3; i++) {
        p.size[i] = i < 3 - rank ? 1 : n[i - (3 - rank)];
        if (p.size[i] < 1) return CUFFT_INVALID_SIZE;
    }
    auto layout = [&](wbcpu::fft_layout &l, int *embed, int stride, int distance, bool half) {
        long one = 1;
        for (int i = 0; i < 3; i++) {
            long size = i == 2 && half ? p.size[2] / 2 + 1 : p.size[i];
            l.embed[i] = inembed && onembed && i >= 3 - rank ? embed[i - (3 - rank)] : size;
            one *= l.embed[i];
        }
        l.stride = inembed && onembed ? stride : 1;
        l.distance = inembed && onembed ? distance : one;
    };
    layout(p.in, inembed, istride, idist, type == CUFFT_C2R || type == CUFFT_Z2D);
    layout(p.out, onembed, ostride, odist, type == CUFFT_R2C || type == CUFFT_D2Z);
    if (bytes) *bytes = 0;
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftPlanMany(
    cufftHandle *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
    int ostride, int odist, cufftType type, int batch)
{
    cufftCreate(plan);
    return cufftMakePlanMany(
        *plan, rank, n, inembed, istride, idist, onembed, ostride, odist, type, batch, nullptr);
}
WBCPU_CALL cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *bytes)
{
    return cufftMakePlanMany(plan, 1, &nx, nullptr, 1, 0, nullptr, 1, 0, type, batch, bytes);
}
WBCPU_CALL cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type, size_t *bytes)
{
    int n[2] = {nx, ny};
    return cufftMakePlanMany(plan, 2, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
WBCPU_CALL
cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz, cufftType type, size_t *bytes)
{
    int n[3] = {nx, ny, nz};
    return cufftMakePlanMany(plan, 3, n, nullptr, 1, 0, nullptr, 1, 0, type, 1, bytes);
}
WBCPU_CALL cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch)
{
    cufftCreate(plan);
    return cufftMakePlan1d(*plan, nx, type, batch, nullptr);
}
WBCPU_CALL cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type)
{
    cufftCreate(plan);
    return cufftMakePlan2d(*plan, nx, ny, type, nullptr);
}
WBCPU_CALL cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz, cufftType type)
{
    cufftCreate(plan);
    return cufftMakePlan3d(*plan, nx, ny, nz, type, nullptr);
}
WBCPU_CALL cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    wbcpu::fft_plans()[plan].stream = stream;
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftGetVersion(int *version)
{
    *version = 12000;
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftGetSize(cufftHandle, size_t *bytes)
{
    *bytes = 0;
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftSetAutoAllocation(cufftHandle, int)
{
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftSetWorkArea(cufftHandle, void *)
{
    return CUFFT_SUCCESS;
}
#define WBCPU_EXECUTE(name, T, In, Out, real_in, real_out, SIGN, PARAMETER)              \
    WBCPU_CALL cufftExec##name(cufftHandle plan, In *in, Out *out PARAMETER)             \
    {                                                                                    \
        auto found = wbcpu::fft_plans().find(plan);                                      \
        if (found == wbcpu::fft_plans().end()) return CUFFT_INVALID_PLAN;                \
        wbcpu::fft_plan p = found->second;                                               \
        if (p.type != CUFFT_##name) return CUFFT_INVALID_TYPE;                           \
        if ((void *)in == (void *)out) p.pad_real(real_in, real_out);                    \
        wbcpu_run_library(                                                               \
            p.stream, [=] { p.run<T>(in, out, real_in, real_out, SIGN); });              \
        return CUFFT_SUCCESS;                                                            \
    }
#define WBCPU_DIRECTION , int direction
WBCPU_EXECUTE(C2C, float, cufftComplex, cufftComplex, false, false, direction, WBCPU_DIRECTION)
WBCPU_EXECUTE(R2C, float, cufftReal, cufftComplex, true, false, -1, )
WBCPU_EXECUTE(C2R, float, cufftComplex, cufftReal, false, true, 1, )
WBCPU_EXECUTE(Z2Z, double, cufftDoubleComplex, cufftDoubleComplex, false, false, direction, WBCPU_DIRECTION)
WBCPU_EXECUTE(D2Z, double, cufftDoubleReal, cufftDoubleComplex, true, false, -1, )
WBCPU_EXECUTE(Z2D, double, cufftDoubleComplex, cufftDoubleReal, false, true, 1, )
#undef WBCPU_EXECUTE
#undef WBCPU_DIRECTION
#undef WBCPU_CALL

#endif
