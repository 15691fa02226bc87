/* opengl.h - the part of OpenGL that graphics.cpp calls. The program may not use OpenGL, and
 * the machine may not have it, so the library is loaded by the first call. */
#ifndef WBCPU_OPENGL_H
#define WBCPU_OPENGL_H

#include "include/cuda_gl_interop.h"
#include "scheduler.h"

#include <dlfcn.h>

enum {
    WBCPU_GL_ARRAY_BUFFER = 0x8892,
    WBCPU_GL_ARRAY_BUFFER_BINDING = 0x8894,
    WBCPU_GL_BUFFER_SIZE = 0x8764,
    WBCPU_GL_PIXEL_PACK_BUFFER = 0x88EB,
    WBCPU_GL_PIXEL_PACK_BUFFER_BINDING = 0x88ED,
    WBCPU_GL_PIXEL_UNPACK_BUFFER = 0x88EC,
    WBCPU_GL_PIXEL_UNPACK_BUFFER_BINDING = 0x88EF,
    WBCPU_GL_PACK_ALIGNMENT = 0x0D05,
    WBCPU_GL_UNPACK_ALIGNMENT = 0x0CF5,
    WBCPU_GL_TEXTURE_WIDTH = 0x1000,
    WBCPU_GL_TEXTURE_HEIGHT = 0x1001,
    WBCPU_GL_TEXTURE_DEPTH = 0x8071,
    WBCPU_GL_TEXTURE_INTERNAL_FORMAT = 0x1003,
    WBCPU_GL_TEXTURE_2D = 0x0DE1,
    WBCPU_GL_TEXTURE_BINDING_2D = 0x8069,
    WBCPU_GL_TEXTURE_3D = 0x806F,
    WBCPU_GL_TEXTURE_BINDING_3D = 0x806A,
    WBCPU_GL_TEXTURE_RECTANGLE = 0x84F5,
    WBCPU_GL_TEXTURE_BINDING_RECTANGLE = 0x84F6
};

namespace wbcpu
{
static struct {
    void (*GetIntegerv)(GLenum, int *);
    unsigned char (*IsBuffer)(GLuint);
    void (*BindBuffer)(GLenum, GLuint);
    void (*GetBufferParameteriv)(GLenum, GLenum, int *);
    void (*GetBufferSubData)(GLenum, ptrdiff_t, ptrdiff_t, void *);
    void (*BufferSubData)(GLenum, ptrdiff_t, ptrdiff_t, const void *);
    unsigned char (*IsTexture)(GLuint);
    void (*BindTexture)(GLenum, GLuint);
    void (*GetTexLevelParameteriv)(GLenum, int, GLenum, int *);
    void (*GetTexImage)(GLenum, int, GLenum, GLenum, void *);
    void (*TexSubImage2D)(GLenum, int, int, int, int, int, GLenum, GLenum, const void *);
    void (*TexSubImage3D)(
        GLenum, int, int, int, int, int, int, int, GLenum, GLenum, const void *);
    void (*PixelStorei)(GLenum, int);
} gl;

static bool load_opengl()
{
    void *library = nullptr;
    for (const char *name : {"libGL.so.1", "libOpenGL.so.0"})
        if (!library) library = dlopen(name, RTLD_LAZY);
    bool all = library;
    auto find = [&](auto &function, const char *name) {
        void *address = all ? dlsym(library, name) : nullptr;
        all = address;
        __builtin_memcpy(&function, &address, sizeof address);
    };
#define FIND(name) find(gl.name, "gl" #name)
    FIND(GetIntegerv), FIND(PixelStorei);
    FIND(IsBuffer), FIND(BindBuffer), FIND(GetBufferParameteriv);
    FIND(GetBufferSubData), FIND(BufferSubData);
    FIND(IsTexture), FIND(BindTexture), FIND(GetTexLevelParameteriv), FIND(GetTexImage);
    FIND(TexSubImage2D), FIND(TexSubImage3D);
#undef FIND
    if (!all) note("cudaGraphicsGLRegister*: no OpenGL library (libGL.so.1)");
    return all;
}
static bool has_opengl()
{
    static const bool loaded = load_opengl();
    return loaded;
}

/* --- an object that is bound as long as this exists ----------------------------------- */
struct bound {
    void (*bind)(GLenum, GLuint);
    GLenum target;
    int before = 0;
    bound(void (*b)(GLenum, GLuint), GLenum t, GLenum binding, GLuint name)
        : bind(b), target(t)
    {
        gl.GetIntegerv(binding, &before);
        bind(target, name);
    }
    bound(const bound &) = delete;
    ~bound()
    {
        bind(target, (GLuint)before);
    }
};
/* A buffer or a texture */
static bound bind_object(GLenum target, GLuint name)
{
    switch (target) {
    case WBCPU_GL_TEXTURE_2D:
        return {gl.BindTexture, target, WBCPU_GL_TEXTURE_BINDING_2D, name};
    case WBCPU_GL_TEXTURE_3D:
        return {gl.BindTexture, target, WBCPU_GL_TEXTURE_BINDING_3D, name};
    case WBCPU_GL_TEXTURE_RECTANGLE:
        return {gl.BindTexture, target, WBCPU_GL_TEXTURE_BINDING_RECTANGLE, name};
    default:
        return {
            gl.BindBuffer, WBCPU_GL_ARRAY_BUFFER, WBCPU_GL_ARRAY_BUFFER_BINDING, name};
    }
}
/* Texels lie in memory one after another, not in a buffer of the program. */
struct plain_pixels {
    bound pack{
        gl.BindBuffer, WBCPU_GL_PIXEL_PACK_BUFFER, WBCPU_GL_PIXEL_PACK_BUFFER_BINDING, 0};
    bound unpack{
        gl.BindBuffer, WBCPU_GL_PIXEL_UNPACK_BUFFER, WBCPU_GL_PIXEL_UNPACK_BUFFER_BINDING,
        0};
    int pack_alignment, unpack_alignment;
    plain_pixels()
    {
        gl.GetIntegerv(WBCPU_GL_PACK_ALIGNMENT, &pack_alignment);
        gl.GetIntegerv(WBCPU_GL_UNPACK_ALIGNMENT, &unpack_alignment);
        gl.PixelStorei(WBCPU_GL_PACK_ALIGNMENT, 1);
        gl.PixelStorei(WBCPU_GL_UNPACK_ALIGNMENT, 1);
    }
    ~plain_pixels()
    {
        gl.PixelStorei(WBCPU_GL_PACK_ALIGNMENT, pack_alignment);
        gl.PixelStorei(WBCPU_GL_UNPACK_ALIGNMENT, unpack_alignment);
    }
};
}  // namespace wbcpu

#endif
