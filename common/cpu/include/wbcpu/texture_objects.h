/* texture_objects.h - texture and surface objects over arrays, linear and pitched memory. */
#ifndef WBCPU_TEXTURE_OBJECTS_H
#define WBCPU_TEXTURE_OBJECTS_H

#include "arrays.h"
#include "checked.h"

enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeMipmappedArray = 1,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            cudaArray_t array;
        } array;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t sizeInBytes;
        } linear;
        struct {
            void *devPtr;
            cudaChannelFormatDesc desc;
            size_t width, height, pitchInBytes;
        } pitch2D;
    } res;
};
enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
struct cudaResourceViewDesc;
enum cudaSurfaceBoundaryMode {
    cudaBoundaryModeZero = 0,
    cudaBoundaryModeClamp = 1,
    cudaBoundaryModeTrap = 2
};

typedef unsigned long long cudaTextureObject_t, cudaSurfaceObject_t;

struct wbcpu_texture {
    cudaArray a;
    cudaTextureDesc how;
    cudaResourceDesc resource;
};
namespace wbcpu
{
inline const wbcpu_texture *texture(cudaTextureObject_t t)
{
    return (const wbcpu_texture *)(uintptr_t)t;
}
}  // namespace wbcpu

static inline cudaError_t cudaCreateTextureObject(
    cudaTextureObject_t *object, const cudaResourceDesc *r, const cudaTextureDesc *how,
    const cudaResourceViewDesc * = nullptr)
{
    wbcpu_texture *t = new wbcpu_texture();
    wbcpu_checked_table(t, sizeof *t);
    auto describe = [&](void *data, cudaChannelFormatDesc f, size_t width, size_t height,
                        size_t pitch) {
        size_t texel = (size_t)(f.x + f.y + f.z + f.w) / 8;
        t->a = {(char *)data, texel, pitch, {width ? width : pitch / texel, height, 1}, f, 0};
    };
    if (r->resType == cudaResourceTypeArray)
        t->a = *r->res.array.array;
    else if (r->resType == cudaResourceTypeLinear)
        describe(r->res.linear.devPtr, r->res.linear.desc, 0, 1, r->res.linear.sizeInBytes);
    else if (r->resType == cudaResourceTypePitch2D)
        describe(
            r->res.pitch2D.devPtr, r->res.pitch2D.desc, r->res.pitch2D.width,
            r->res.pitch2D.height, r->res.pitch2D.pitchInBytes);
    else {
        delete t;
        return cudaErrorNotSupported;
    }
    if (how) t->how = *how;
    t->resource = *r;
    *object = (cudaTextureObject_t)(uintptr_t)t;
    return cudaSuccess;
}
static inline cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object)
{
#ifdef WBCPU_CHECKED
    (void)object; /* a kernel that waits in a stream's queue may still use it */
#else
    delete (wbcpu_texture *)(uintptr_t)object;
#endif
    return cudaSuccess;
}
static inline cudaError_t
cudaGetTextureObjectResourceDesc(cudaResourceDesc *r, cudaTextureObject_t object)
{
    *r = ((wbcpu_texture *)(uintptr_t)object)->resource;
    return cudaSuccess;
}
static inline cudaError_t
cudaCreateSurfaceObject(cudaSurfaceObject_t *object, const cudaResourceDesc *r)
{
    return cudaCreateTextureObject(object, r, nullptr);
}
static inline cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object)
{
    return cudaDestroyTextureObject(object);
}

#endif
