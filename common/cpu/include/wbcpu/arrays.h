/* arrays.h - CUDA arrays, pitched memory of three dimensions, copies between them. An array
 * is device memory by rows; its texels lie one after another. */
#ifndef WBCPU_ARRAYS_H
#define WBCPU_ARRAYS_H

#include "api.h"

enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc {
    int x, y, z, w; /* bits of each channel */
    cudaChannelFormatKind f;
};
struct cudaExtent {
    size_t width, height, depth; /* of memory: bytes, rows, slices; of an array: texels */
};
struct cudaPos {
    size_t x, y, z;
};
struct cudaPitchedPtr {
    void *ptr;
    size_t pitch, xsize, ysize;
};
struct cudaArray {
    char *data;
    size_t texel, pitch; /* bytes */
    cudaExtent extent;   /* height and depth at least 1 */
    cudaChannelFormatDesc format;
    unsigned flags;
};
typedef cudaArray *cudaArray_t;
typedef const cudaArray *cudaArray_const_t;
enum {
    cudaArrayDefault = 0,
    cudaArrayLayered = 1,
    cudaArraySurfaceLoadStore = 2,
    cudaArrayCubemap = 4,
    cudaArrayTextureGather = 8
};

#define WBCPU_CALL static inline cudaError_t
static inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth)
{
    return {width, height, depth};
}
static inline cudaPos make_cudaPos(size_t x, size_t y, size_t z)
{
    return {x, y, z};
}
static inline cudaPitchedPtr
make_cudaPitchedPtr(void *p, size_t pitch, size_t width, size_t height)
{
    return {p, pitch, width, height};
}
static inline cudaChannelFormatDesc
cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f)
{
    return {x, y, z, w, f};
}

namespace wbcpu
{
/* The type and number of the elements of a vector type. */
template <class T, class = void> struct texel_of {
    typedef T element;
};
template <class T> struct texel_of<T, std::void_t<decltype(std::declval<T &>().x)>> {
    typedef std::remove_reference_t<decltype(std::declval<T &>().x)> element;
};
}  // namespace wbcpu
template <class T> static inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
    typedef typename wbcpu::texel_of<T>::element E;
    int bits = 8 * sizeof(E), n = sizeof(T) / sizeof(E);
    return {
        bits, n > 1 ? bits : 0, n > 2 ? bits : 0, n > 3 ? bits : 0,
        std::is_integral_v<E> ? std::is_signed_v<E> ? cudaChannelFormatKindSigned
                                                    : cudaChannelFormatKindUnsigned
                              : cudaChannelFormatKindFloat};
}

/* --- allocation --------------------------------------------------------------------- */

WBCPU_CALL cudaMalloc3DArray(
    cudaArray_t *array, const cudaChannelFormatDesc *format, cudaExtent extent,
    unsigned flags = 0)
{
    cudaArray *a = new cudaArray();
    a->format = *format;
    a->texel = (size_t)(format->x + format->y + format->z + format->w) / 8;
    a->extent = {extent.width, extent.height ? extent.height : 1, extent.depth ? extent.depth : 1};
    a->pitch = a->texel * extent.width;
    a->flags = flags;
    *array = a;
    return cudaMalloc(&a->data, a->pitch * a->extent.height * a->extent.depth);
}
WBCPU_CALL cudaMallocArray(
    cudaArray_t *array, const cudaChannelFormatDesc *format, size_t width,
    size_t height = 0, unsigned flags = 0)
{
    return cudaMalloc3DArray(array, format, {width, height, 0}, flags);
}
WBCPU_CALL cudaFreeArray(cudaArray_t array)
{
    if (!array) return cudaSuccess;
    cudaError_t e = cudaFree(array->data);
    delete array;
    return e;
}
WBCPU_CALL cudaArrayGetInfo(
    cudaChannelFormatDesc *format, cudaExtent *extent, unsigned *flags, cudaArray_t a)
{
    if (format) *format = a->format;
    if (extent) *extent = a->extent;
    if (flags) *flags = a->flags;
    return cudaSuccess;
}
WBCPU_CALL cudaGetChannelDesc(cudaChannelFormatDesc *format, cudaArray_const_t a)
{
    *format = a->format;
    return cudaSuccess;
}
WBCPU_CALL cudaMalloc3D(cudaPitchedPtr *p, cudaExtent extent)
{
    p->xsize = extent.width;
    p->ysize = extent.height;
    return cudaMallocPitch(&p->ptr, &p->pitch, extent.width, extent.height * extent.depth);
}
WBCPU_CALL cudaMemset3DAsync(
    cudaPitchedPtr p, int value, cudaExtent extent, cudaStream_t stream = 0)
{
    for (size_t z = 0; z < extent.depth; z++)
        if (cudaError_t e = cudaMemset2DAsync(
                (char *)p.ptr + z * p.pitch * p.ysize, p.pitch, value, extent.width,
                extent.height, stream))
            return e;
    return cudaSuccess;
}
WBCPU_CALL cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent extent)
{
    return cudaMemset3DAsync(p, value, extent);
}

/* --- copies ------------------------------------------------------------------------- */

struct cudaMemcpy3DParms {
    cudaArray_t srcArray;
    cudaPos srcPos;
    cudaPitchedPtr srcPtr;
    cudaArray_t dstArray;
    cudaPos dstPos;
    cudaPitchedPtr dstPtr;
    cudaExtent extent; /* texels if there is an array, otherwise bytes */
    cudaMemcpyKind kind;
};
WBCPU_CALL cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t stream = 0)
{
    struct side {
        char *start;
        size_t pitch, slice;
    };
    auto side_of = [](cudaArray_t a, cudaPitchedPtr m, cudaPos at) -> side {
        if (!a)
            return {
                (char *)m.ptr + at.x + at.y * m.pitch + at.z * m.pitch * m.ysize, m.pitch,
                m.pitch * m.ysize};
        size_t slice = a->pitch * a->extent.height;
        return {a->data + at.x * a->texel + at.y * a->pitch + at.z * slice, a->pitch, slice};
    };
    side to = side_of(p->dstArray, p->dstPtr, p->dstPos);
    side from = side_of(p->srcArray, p->srcPtr, p->srcPos);
    cudaArray_t any = p->dstArray ? p->dstArray : p->srcArray;
    for (size_t z = 0; z < p->extent.depth; z++)
        if (cudaError_t e = cudaMemcpy2DAsync(
                to.start + z * to.slice, to.pitch, from.start + z * from.slice, from.pitch,
                p->extent.width * (any ? any->texel : 1), p->extent.height, p->kind, stream))
            return e;
    return cudaSuccess;
}
WBCPU_CALL cudaMemcpy3D(const cudaMemcpy3DParms *p)
{
    cudaError_t e = cudaMemcpy3DAsync(p);
    return e ? e : cudaStreamSynchronize(0);
}
WBCPU_CALL cudaMemcpy2DToArray(
    cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
    size_t height, cudaMemcpyKind kind)
{
    return cudaMemcpy2D(
        to->data + y * to->pitch + x, to->pitch, from, pitch, width, height, kind);
}
WBCPU_CALL cudaMemcpy2DToArrayAsync(
    cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
    size_t height, cudaMemcpyKind kind, cudaStream_t stream = 0)
{
    return cudaMemcpy2DAsync(
        to->data + y * to->pitch + x, to->pitch, from, pitch, width, height, kind, stream);
}
WBCPU_CALL cudaMemcpy2DFromArray(
    void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
    size_t height, cudaMemcpyKind kind)
{
    return cudaMemcpy2D(
        to, pitch, from->data + y * from->pitch + x, from->pitch, width, height, kind);
}
/* Rows of an array follow one another. */
WBCPU_CALL cudaMemcpyToArray(
    cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes, cudaMemcpyKind kind)
{
    return cudaMemcpy(to->data + y * to->pitch + x, from, bytes, kind);
}
WBCPU_CALL cudaMemcpyFromArray(
    void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes, cudaMemcpyKind kind)
{
    return cudaMemcpy(to, from->data + y * from->pitch + x, bytes, kind);
}
#undef WBCPU_CALL

#endif
