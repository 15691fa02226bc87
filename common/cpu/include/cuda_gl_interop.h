/* cuda_gl_interop.h - registers buffers and textures of OpenGL for kernels. The thread that
 * maps a resource must have an OpenGL context, as with a GPU. */
#ifndef CUDA_GL_INTEROP_H
#define CUDA_GL_INTEROP_H
#define __CUDA_GL_INTEROP_H__

#include "cuda_runtime.h"

#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#else /* a program that includes this header, but does not use it */
typedef unsigned GLenum, GLuint;
#endif

enum cudaGLDeviceList {
    cudaGLDeviceListAll = 1,
    cudaGLDeviceListCurrentFrame = 2,
    cudaGLDeviceListNextFrame = 3
};

extern "C" {
/* cudaErrorInvalidValue: there is no such buffer or texture. Textures are two- or
 * three-dimensional or rectangles; their format must state its size, like GL_RGBA8. */
cudaError_t cudaGraphicsGLRegisterBuffer(
    cudaGraphicsResource_t *resource, GLuint buffer, unsigned flags);
cudaError_t cudaGraphicsGLRegisterImage(
    cudaGraphicsResource_t *resource, GLuint image, GLenum target, unsigned flags);

cudaError_t cudaGLGetDevices(
    unsigned *count, int *devices, unsigned most, enum cudaGLDeviceList list);

/* The older calls, which name a resource by its buffer */
cudaError_t cudaGLSetGLDevice(int device);
cudaError_t cudaGLRegisterBufferObject(GLuint buffer);
cudaError_t cudaGLMapBufferObject(void **pointer, GLuint buffer);
cudaError_t cudaGLUnmapBufferObject(GLuint buffer);
cudaError_t cudaGLUnregisterBufferObject(GLuint buffer);
}

#endif
