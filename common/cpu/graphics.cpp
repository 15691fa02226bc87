/* graphics.cpp - kernels use OpenGL's buffers and textures (cuda_gl_interop.h). OpenGL may
 * keep them on a GPU, so a mapped resource is a copy in device memory. */
#include "opengl.h"

#include <mutex>
#include <unordered_map>
#include <vector>

struct cudaGraphicsResource {
    GLuint name;
    GLenum target; /* GL_ARRAY_BUFFER or that of the texture */
    unsigned flags;
    bool mapped;
    void *memory;
    size_t bytes;
    cudaArray array;        /* of a texture */
    GLenum pixels, channel; /* format and type of its texels in memory */
};

namespace wbcpu
{
/* --- texels --------------------------------------------------------------------------- */
static bool set_format(cudaGraphicsResource *r, unsigned internal)
{
    constexpr cudaChannelFormatKind U = cudaChannelFormatKindUnsigned,
                                    I = cudaChannelFormatKindSigned,
                                    F = cudaChannelFormatKindFloat;
    /* The sized formats of one, two and four channels of each type: RGBA8, RGBA16, RGBA16F,
     * RGBA32F, then those of integers: unsigned and signed ones of 8, 16 and 32 bits */
    static const struct {
        unsigned internal[3];
        int bits;
        cudaChannelFormatKind kind;
        bool integer; /* not normalized */
        GLenum channel;
    } texels[] = {
        {{0x8229, 0x822B, 0x8058}, 8, U, false, 0x1401},
        {{0x822A, 0x822C, 0x805B}, 16, U, false, 0x1403},
        {{0x822D, 0x822F, 0x881A}, 16, F, false, 0x140B},
        {{0x822E, 0x8230, 0x8814}, 32, F, false, 0x1406},
        {{0x8232, 0x8238, 0x8D7C}, 8, U, true, 0x1401},
        {{0x8234, 0x823A, 0x8D76}, 16, U, true, 0x1403},
        {{0x8236, 0x823C, 0x8D70}, 32, U, true, 0x1405},
        {{0x8231, 0x8237, 0x8D8E}, 8, I, true, 0x1400},
        {{0x8233, 0x8239, 0x8D88}, 16, I, true, 0x1402},
        {{0x8235, 0x823B, 0x8D82}, 32, I, true, 0x1404},
    };
    constexpr GLenum normalized[] = {0x1903, 0x8227, 0x1908};  // GL_RED, GL_RG, GL_RGBA
    constexpr GLenum integers[] = {0x8D94, 0x8228, 0x8D99};    // GL_RED_INTEGER, ...
    for (const auto &t : texels)
        for (int i = 0; i < 3; i++) {
            if (t.internal[i] != internal) continue;
            int b = t.bits, two = i > 0 ? b : 0, four = i > 1 ? b : 0;
            r->array.format = {b, two, four, four, t.kind};
            r->array.texel = (size_t)(b + two + 2 * four) / 8;
            r->pixels = (t.integer ? integers : normalized)[i];
            r->channel = t.channel;
            return true;
        }
    return false;
}

/* --- mapping ------------------------------------------------------------------------ */
static cudaError_t give_memory(cudaGraphicsResource *r, size_t bytes)
{
    if (r->memory && r->bytes == bytes) return cudaSuccess;
    cudaFree(r->memory);
    r->memory = nullptr;
    r->bytes = bytes;
    cudaError_t error = cudaMalloc(&r->memory, bytes);
    r->array.data = (char *)r->memory;
    return error;
}
static cudaError_t download(cudaGraphicsResource *r)
{
    std::vector<char> contents(r->bytes);
    if (r->target == WBCPU_GL_ARRAY_BUFFER) {
        gl.GetBufferSubData(r->target, 0, (ptrdiff_t)r->bytes, contents.data());
    } else {
        plain_pixels plain;
        gl.GetTexImage(r->target, 0, r->pixels, r->channel, contents.data());
    }
    return cudaMemcpy(r->memory, contents.data(), r->bytes, cudaMemcpyHostToDevice);
}
static cudaError_t map_resource(cudaGraphicsResource *r)
{
    if (!r || r->mapped) return r ? cudaErrorUnknown : cudaErrorInvalidResourceHandle;
    bool is_buffer = r->target == WBCPU_GL_ARRAY_BUFFER;
    bound object = bind_object(r->target, r->name);
    cudaError_t error;
    if (is_buffer) {
        int bytes = 0;
        gl.GetBufferParameteriv(r->target, WBCPU_GL_BUFFER_SIZE, &bytes);
        error = give_memory(r, (size_t)bytes);
    } else {
        int width = 0, height = 0, depth = 1, internal = 0;
        gl.GetTexLevelParameteriv(r->target, 0, WBCPU_GL_TEXTURE_WIDTH, &width);
        gl.GetTexLevelParameteriv(r->target, 0, WBCPU_GL_TEXTURE_HEIGHT, &height);
        if (r->target == WBCPU_GL_TEXTURE_3D)
            gl.GetTexLevelParameteriv(r->target, 0, WBCPU_GL_TEXTURE_DEPTH, &depth);
        gl.GetTexLevelParameteriv(
            r->target, 0, WBCPU_GL_TEXTURE_INTERNAL_FORMAT, &internal);
        if (!set_format(r, (unsigned)internal)) return cudaErrorInvalidValue;
        r->array.extent = {(size_t)width, (size_t)height, (size_t)depth};
        r->array.pitch = r->array.texel * (size_t)width;
        error = give_memory(r, r->array.pitch * (size_t)height * (size_t)depth);
    }
    if (!error && !(r->flags & cudaGraphicsMapFlagsWriteDiscard)) error = download(r);
    r->mapped = !error;
    return error;
}
static cudaError_t unmap_resource(cudaGraphicsResource *r)
{
    if (!r || !r->mapped) return r ? cudaErrorUnknown : cudaErrorInvalidResourceHandle;
    r->mapped = false;
    if (r->flags & cudaGraphicsMapFlagsReadOnly) return cudaSuccess;
    std::vector<char> contents(r->bytes);
    cudaError_t error =
        cudaMemcpy(contents.data(), r->memory, r->bytes, cudaMemcpyDeviceToHost);
    if (error) return error;
    const cudaExtent &e = r->array.extent;
    bool is_buffer = r->target == WBCPU_GL_ARRAY_BUFFER;
    bound object = bind_object(r->target, r->name);
    if (is_buffer) {
        gl.BufferSubData(r->target, 0, (ptrdiff_t)r->bytes, contents.data());
        return cudaSuccess;
    }
    plain_pixels plain;
    if (r->target == WBCPU_GL_TEXTURE_3D)
        gl.TexSubImage3D(
            r->target, 0, 0, 0, 0, (int)e.width, (int)e.height, (int)e.depth, r->pixels,
            r->channel, contents.data());
    else
        gl.TexSubImage2D(
            r->target, 0, 0, 0, (int)e.width, (int)e.height, r->pixels, r->channel,
            contents.data());
    return cudaSuccess;
}
static cudaError_t register_object(
    cudaGraphicsResource_t *resource, GLuint name, GLenum target, unsigned flags)
{
    if (!has_opengl()) return fail(cudaErrorUnknown);
    bool is_buffer = target == WBCPU_GL_ARRAY_BUFFER;
    bool known = is_buffer || target == WBCPU_GL_TEXTURE_2D ||
                 target == WBCPU_GL_TEXTURE_3D || target == WBCPU_GL_TEXTURE_RECTANGLE;
    if (!known || !(is_buffer ? gl.IsBuffer : gl.IsTexture)(name))
        return fail(cudaErrorInvalidValue);
    *resource =
        new cudaGraphicsResource{name, target, flags, false, nullptr, 0, {}, 0, 0};
    (*resource)->array.flags = flags & cudaGraphicsRegisterFlagsSurfaceLoadStore
                                   ? cudaArraySurfaceLoadStore
                                   : cudaArrayDefault;
    return cudaSuccess;
}

extern "C" cudaError_t cudaGraphicsGLRegisterBuffer(
    cudaGraphicsResource_t *resource, GLuint buffer, unsigned flags)
{
    return register_object(resource, buffer, WBCPU_GL_ARRAY_BUFFER, flags);
}
extern "C" cudaError_t cudaGraphicsGLRegisterImage(
    cudaGraphicsResource_t *resource, GLuint image, GLenum target, unsigned flags)
{
    if (target == WBCPU_GL_ARRAY_BUFFER) return fail(cudaErrorInvalidValue);
    return register_object(resource, image, target, flags);
}
extern "C" cudaError_t cudaGraphicsUnregisterResource(cudaGraphicsResource_t r)
{
    if (!r) return fail(cudaErrorInvalidResourceHandle);
    cudaError_t error = cudaFree(r->memory);
    delete r;
    return error;
}
extern "C" cudaError_t
cudaGraphicsResourceSetMapFlags(cudaGraphicsResource_t r, unsigned flags)
{
    if (!r) return fail(cudaErrorInvalidResourceHandle);
    if (r->mapped) return fail(cudaErrorUnknown);
    r->flags = flags;
    return cudaSuccess;
}
extern "C" cudaError_t
cudaGraphicsMapResources(int count, cudaGraphicsResource_t *resources, cudaStream_t)
{
    for (int i = 0; i < count; i++)
        if (cudaError_t error = map_resource(resources[i])) return fail(error);
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphicsUnmapResources(
    int count, cudaGraphicsResource_t *resources, cudaStream_t stream)
{
    if (cudaError_t error = cudaStreamSynchronize(stream)) return error;
    for (int i = 0; i < count; i++)
        if (cudaError_t error = unmap_resource(resources[i])) return fail(error);
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphicsResourceGetMappedPointer(
    void **pointer, size_t *bytes, cudaGraphicsResource_t r)
{
    if (!r || !r->mapped || r->target != WBCPU_GL_ARRAY_BUFFER)
        return fail(r ? cudaErrorUnknown : cudaErrorInvalidResourceHandle);
    *pointer = r->memory;
    if (bytes) *bytes = r->bytes;
    return cudaSuccess;
}
extern "C" cudaError_t cudaGraphicsSubResourceGetMappedArray(
    cudaArray_t *array, cudaGraphicsResource_t r, unsigned layer, unsigned level)
{
    if (!r || !r->mapped || r->target == WBCPU_GL_ARRAY_BUFFER)
        return fail(r ? cudaErrorUnknown : cudaErrorInvalidResourceHandle);
    if (layer || level) return fail(cudaErrorInvalidValue);
    *array = &r->array;
    return cudaSuccess;
}

/* --- the older calls ------------------------------------------------------------------ */
static std::mutex buffers_lock;
static std::unordered_map<GLuint, cudaGraphicsResource_t> buffers;

/* NULL if the buffer is not registered */
static cudaGraphicsResource_t resource_of(GLuint buffer)
{
    std::lock_guard<std::mutex> hold(buffers_lock);
    auto found = buffers.find(buffer);
    return found == buffers.end() ? nullptr : found->second;
}
extern "C" cudaError_t cudaGLSetGLDevice(int device)
{
    return cudaSetDevice(device);
}
extern "C" cudaError_t
cudaGLGetDevices(unsigned *count, int *devices, unsigned most, enum cudaGLDeviceList)
{
    *count = 1;
    if (most) *devices = 0;
    return cudaSuccess;
}
extern "C" cudaError_t cudaGLRegisterBufferObject(GLuint buffer)
{
    cudaGraphicsResource_t resource;
    cudaError_t error = cudaGraphicsGLRegisterBuffer(&resource, buffer, 0);
    if (error) return error;
    std::lock_guard<std::mutex> hold(buffers_lock);
    buffers[buffer] = resource;
    return cudaSuccess;
}
extern "C" cudaError_t cudaGLMapBufferObject(void **pointer, GLuint buffer)
{
    cudaGraphicsResource_t resource = resource_of(buffer);
    cudaError_t error = cudaGraphicsMapResources(1, &resource, nullptr);
    return error ? error
                 : cudaGraphicsResourceGetMappedPointer(pointer, nullptr, resource);
}
extern "C" cudaError_t cudaGLUnmapBufferObject(GLuint buffer)
{
    cudaGraphicsResource_t resource = resource_of(buffer);
    return cudaGraphicsUnmapResources(1, &resource, nullptr);
}
extern "C" cudaError_t cudaGLUnregisterBufferObject(GLuint buffer)
{
    cudaGraphicsResource_t resource = resource_of(buffer);
    std::lock_guard<std::mutex> hold(buffers_lock);
    buffers.erase(buffer);
    return cudaGraphicsUnregisterResource(resource);
}
}  // namespace wbcpu
