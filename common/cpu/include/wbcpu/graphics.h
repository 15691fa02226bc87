/* graphics.h - buffers and textures of a graphics API as resources that kernels use while
 * they are mapped. cuda_gl_interop.h registers those of OpenGL. */
#ifndef WBCPU_GRAPHICS_H
#define WBCPU_GRAPHICS_H

#include "arrays.h"

struct cudaGraphicsResource;
typedef struct cudaGraphicsResource *cudaGraphicsResource_t;
enum cudaGraphicsRegisterFlags {
    cudaGraphicsRegisterFlagsNone = 0,
    cudaGraphicsRegisterFlagsReadOnly = 1,
    cudaGraphicsRegisterFlagsWriteDiscard = 2,
    cudaGraphicsRegisterFlagsSurfaceLoadStore = 4,
    cudaGraphicsRegisterFlagsTextureGather = 8
};
enum cudaGraphicsMapFlags {
    cudaGraphicsMapFlagsNone = 0,
    cudaGraphicsMapFlagsReadOnly = 1,
    cudaGraphicsMapFlagsWriteDiscard = 2
};

extern "C" {
cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t resource);
cudaError_t
cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t resource, unsigned flags);

/* Mapping copies the contents to device memory, unless they will be discarded. Unmapping
 * copies them back after the stream's work, unless they are read-only. */
cudaError_t cudaGraphicsMapResources(
    int count, cudaGraphicsResource_t *resources, cudaStream_t stream = 0);
cudaError_t cudaGraphicsUnmapResources(
    int count, cudaGraphicsResource_t *resources, cudaStream_t stream = 0);

/* cudaErrorUnknown: the resource is not mapped. Textures have one array: no mipmaps, no
 * layers. */
cudaError_t cudaGraphicsResourceGetMappedPointer(
    void **pointer, size_t *bytes, cudaGraphicsResource_t resource);
cudaError_t cudaGraphicsSubResourceGetMappedArray(
    cudaArray_t *array, cudaGraphicsResource_t resource, unsigned layer, unsigned level);
}

#endif
