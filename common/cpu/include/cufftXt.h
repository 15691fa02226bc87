/* cufftXt.h - cuFFT plans by cudaDataType, and its calls for several GPUs; here
 * there is one. Callbacks get no shared memory. */
#ifndef WBCPU_CUFFTXT_H
#define WBCPU_CUFFTXT_H

#include "cufft.h"
#include "library_types.h"

typedef enum cufftXtSubFormat_t {
    CUFFT_XT_FORMAT_INPUT = 0,
    CUFFT_XT_FORMAT_OUTPUT = 1,
    CUFFT_XT_FORMAT_INPLACE = 2,
    CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3,
    CUFFT_XT_FORMAT_1D_INPUT_SHUFFLED = 4
} cufftXtSubFormat;
typedef enum cufftXtCopyType_t {
    CUFFT_COPY_HOST_TO_DEVICE = 0,
    CUFFT_COPY_DEVICE_TO_HOST = 1,
    CUFFT_COPY_DEVICE_TO_DEVICE = 2
} cufftXtCopyType;
typedef struct cudaXtDesc_t {
    int version, nGPUs;
    int GPUs[64];
    void *data[64]; /* of each GPU */
    size_t size[64];
    void *cudaXtState;
} cudaXtDesc;
typedef struct cudaLibXtDesc_t {
    int version;
    cudaXtDesc *descriptor;
    int library, subFormat;
    void *libDescriptor;
} cudaLibXtDesc;

#define WBCPU_CALL static inline cufftResult
/* The types of the input and the output choose the transform; the last one is ignored. */
WBCPU_CALL cufftXtMakePlanMany(
    cufftHandle plan, int rank, long long *n, long long *inembed, long long istride,
    long long idist, cudaDataType input, long long *onembed, long long ostride,
    long long odist, cudaDataType output, long long batch, size_t *bytes, cudaDataType)
{
    int size[3], in[3], out[3];
    if (rank < 1 || rank > 3) return CUFFT_INVALID_VALUE;
    for (int i = 0; i < rank; i++) {
        size[i] = (int)n[i];
        in[i] = inembed ? (int)inembed[i] : 0;
        out[i] = onembed ? (int)onembed[i] : 0;
    }
    static const struct {
        cudaDataType input, output;
        cufftType type;
    } types[] = {{CUDA_C_32F, CUDA_C_32F, CUFFT_C2C}, {CUDA_R_32F, CUDA_C_32F, CUFFT_R2C},
                 {CUDA_C_32F, CUDA_R_32F, CUFFT_C2R}, {CUDA_C_64F, CUDA_C_64F, CUFFT_Z2Z},
                 {CUDA_R_64F, CUDA_C_64F, CUFFT_D2Z}, {CUDA_C_64F, CUDA_R_64F, CUFFT_Z2D}};
    for (const auto &t : types)
        if (t.input == input && t.output == output)
            return cufftMakePlanMany(
                plan, rank, size, inembed ? in : nullptr, (int)istride, (int)idist,
                onembed ? out : nullptr, (int)ostride, (int)odist, t.type, (int)batch, bytes);
    return CUFFT_INVALID_TYPE;
}
WBCPU_CALL cufftXtExec(cufftHandle plan, void *in, void *out, int direction)
{
    auto found = wbcpu::fft_plans().find(plan);
    if (found == wbcpu::fft_plans().end()) return CUFFT_INVALID_PLAN;
    switch (found->second.type) {
    case CUFFT_C2C: return cufftExecC2C(plan, (cufftComplex *)in, (cufftComplex *)out, direction);
    case CUFFT_R2C: return cufftExecR2C(plan, (cufftReal *)in, (cufftComplex *)out);
    case CUFFT_C2R: return cufftExecC2R(plan, (cufftComplex *)in, (cufftReal *)out);
    case CUFFT_Z2Z:
        return cufftExecZ2Z(plan, (cufftDoubleComplex *)in, (cufftDoubleComplex *)out, direction);
    case CUFFT_D2Z: return cufftExecD2Z(plan, (cufftDoubleReal *)in, (cufftDoubleComplex *)out);
    case CUFFT_Z2D: return cufftExecZ2D(plan, (cufftDoubleComplex *)in, (cufftDoubleReal *)out);
    }
    return CUFFT_INVALID_TYPE;
}

/* --- callbacks: functions that load the input and store the output --------------------- */
typedef cufftComplex (*cufftCallbackLoadC)(
    void *input, size_t offset, void *info, void *shared);
typedef cufftDoubleComplex (*cufftCallbackLoadZ)(
    void *input, size_t offset, void *info, void *shared);
typedef cufftReal (*cufftCallbackLoadR)(
    void *input, size_t offset, void *info, void *shared);
typedef cufftDoubleReal (*cufftCallbackLoadD)(
    void *input, size_t offset, void *info, void *shared);
typedef void (*cufftCallbackStoreC)(
    void *output, size_t offset, cufftComplex element, void *info, void *shared);
typedef void (*cufftCallbackStoreZ)(
    void *output, size_t offset, cufftDoubleComplex element, void *info, void *shared);
typedef void (*cufftCallbackStoreR)(
    void *output, size_t offset, cufftReal element, void *info, void *shared);
typedef void (*cufftCallbackStoreD)(
    void *output, size_t offset, cufftDoubleReal element, void *info, void *shared);
typedef enum cufftXtCallbackType_t {
    CUFFT_CB_LD_COMPLEX = 0,
    CUFFT_CB_LD_COMPLEX_DOUBLE = 1,
    CUFFT_CB_LD_REAL = 2,
    CUFFT_CB_LD_REAL_DOUBLE = 3,
    CUFFT_CB_ST_COMPLEX = 4,
    CUFFT_CB_ST_COMPLEX_DOUBLE = 5,
    CUFFT_CB_ST_REAL = 6,
    CUFFT_CB_ST_REAL_DOUBLE = 7,
    CUFFT_CB_UNDEFINED = 8
} cufftXtCallbackType;

/* functions, infos: one for each GPU */
WBCPU_CALL cufftXtSetCallback(
    cufftHandle plan, void **functions, cufftXtCallbackType type, void **infos)
{
    auto found = wbcpu::fft_plans().find(plan);
    if (found == wbcpu::fft_plans().end()) return CUFFT_INVALID_PLAN;
    wbcpu::fft_plan &p = found->second;
    bool wide = p.type == CUFFT_Z2Z || p.type == CUFFT_D2Z || p.type == CUFFT_Z2D;
    bool loads = type < CUFFT_CB_ST_COMPLEX;
    bool real = loads ? p.type == CUFFT_R2C || p.type == CUFFT_D2Z
                      : p.type == CUFFT_C2R || p.type == CUFFT_Z2D;
    if (type != (loads ? 0 : 4) + 2 * real + wide) return CUFFT_INVALID_TYPE;
    (loads ? p.load : p.store) = {
        functions ? *functions : nullptr, infos ? *infos : nullptr};
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftXtClearCallback(cufftHandle plan, cufftXtCallbackType type)
{
    return cufftXtSetCallback(plan, nullptr, type, nullptr);
}

/* --- several GPUs: these calls need at least two; here is one ------------------------- */

WBCPU_CALL cufftXtSetGPUs(cufftHandle, int count, int *)
{
    return count < 2 || count > 16 ? CUFFT_INVALID_VALUE : CUFFT_INVALID_DEVICE;
}
/* Room for the input and for the output of all transforms */
WBCPU_CALL cufftXtMalloc(cufftHandle plan, cudaLibXtDesc **memory, cufftXtSubFormat format)
{
    auto found = wbcpu::fft_plans().find(plan);
    if (found == wbcpu::fft_plans().end()) return CUFFT_INVALID_PLAN;
    const wbcpu::fft_plan &p = found->second;
    long longest = p.in.distance > p.out.distance ? p.in.distance : p.out.distance;
    bool wide = p.type == CUFFT_Z2Z || p.type == CUFFT_D2Z || p.type == CUFFT_Z2D;
    cudaXtDesc *d = new cudaXtDesc();
    d->nGPUs = 1;
    d->size[0] = (size_t)longest * (size_t)p.batch * (wide ? 16 : 8);
    *memory = new cudaLibXtDesc{0, d, 0, format, nullptr};
    return cudaMalloc(&d->data[0], d->size[0]) ? CUFFT_ALLOC_FAILED : CUFFT_SUCCESS;
}
WBCPU_CALL cufftXtFree(cudaLibXtDesc *memory)
{
    cudaFree(memory->descriptor->data[0]);
    delete memory->descriptor;
    delete memory;
    return CUFFT_SUCCESS;
}
WBCPU_CALL cufftXtMemcpy(cufftHandle, void *to, void *from, cufftXtCopyType type)
{
    const cudaXtDesc *a = ((cudaLibXtDesc *)to)->descriptor;
    const cudaXtDesc *b = ((cudaLibXtDesc *)from)->descriptor;
    cudaError_t e =
        type == CUFFT_COPY_HOST_TO_DEVICE
            ? cudaMemcpy(a->data[0], from, a->size[0], cudaMemcpyHostToDevice)
        : type == CUFFT_COPY_DEVICE_TO_HOST
            ? cudaMemcpy(to, b->data[0], b->size[0], cudaMemcpyDeviceToHost)
            : cudaMemcpy(a->data[0], b->data[0], b->size[0], cudaMemcpyDeviceToDevice);
    return e ? CUFFT_INTERNAL_ERROR : CUFFT_SUCCESS;
}
#define WBCPU_DESCRIPTOR(name, ...)                                                      \
    WBCPU_CALL cufftXtExecDescriptor##name(                                              \
        cufftHandle, cudaLibXtDesc *, cudaLibXtDesc *__VA_ARGS__)                        \
    {                                                                                    \
        return CUFFT_EXEC_FAILED;                                                        \
    }
WBCPU_DESCRIPTOR(, , int)
WBCPU_DESCRIPTOR(C2C, , int)
WBCPU_DESCRIPTOR(Z2Z, , int)
WBCPU_DESCRIPTOR(R2C)
WBCPU_DESCRIPTOR(C2R)
WBCPU_DESCRIPTOR(D2Z)
WBCPU_DESCRIPTOR(Z2D)
#undef WBCPU_DESCRIPTOR
#undef WBCPU_CALL
#endif
