/* OpenGL: kernels change a buffer and textures. */
#include <cuda_gl_interop.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "expect.h"

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t error = call;                                                  \
        if (error) {                                                                     \
            printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error));        \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

enum {
    ARRAY_BUFFER = 0x8892,
    ARRAY_BUFFER_BINDING = 0x8894,
    STATIC_DRAW = 0x88E4,
    TEXTURE_2D = 0x0DE1,
    TEXTURE_3D = 0x806F,
    RGBA = 0x1908,
    RGBA8 = 0x8058,
    RED = 0x1903,
    R32F = 0x822E,
    UNSIGNED_BYTE = 0x1401,
    FLOAT = 0x1406,
    W = 5,  // of the textures: rows are not multiples of four bytes
    H = 3,
    D = 2
};

static void *egl, *gl;
template <class F> static F *function(void *library, const char *name)
{
    void *address = dlsym(library, name);
    EXPECT(address);
    return reinterpret_cast<F *>(address);
}
#define EGL(type, name) function<type>(egl, #name)
#define GL(type, name) function<type>(gl, #name)

// A context without a window, drawn by the CPU
static bool make_context()
{
    setenv("LIBGL_ALWAYS_SOFTWARE", "1", 0);
    egl = dlopen("libEGL.so.1", RTLD_LAZY);
    gl = dlopen("libGL.so.1", RTLD_LAZY);
    if (!gl) gl = dlopen("libOpenGL.so.0", RTLD_LAZY);
    if (!egl || !gl) return false;
    const unsigned surfaceless = 0x31DD, opengl = 0x30A2;
    void *display =
        EGL(void *(unsigned, void *, const intptr_t *),
            eglGetPlatformDisplay)(surfaceless, nullptr, nullptr);
    if (!display || !EGL(unsigned(void *, int *, int *), eglInitialize)(display, 0, 0) ||
        !EGL(unsigned(unsigned), eglBindAPI)(opengl))
        return false;
    void *context = EGL(void *(void *, void *, void *, const int *), eglCreateContext)(
        display, nullptr, nullptr, nullptr);
    return context && EGL(unsigned(void *, void *, void *, void *),
                          eglMakeCurrent)(display, nullptr, nullptr, context);
}

__global__ void add_index(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += i;
}
__global__ void invert(cudaSurfaceObject_t image)
{
    uchar4 c;
    surf2Dread(&c, image, threadIdx.x * sizeof c, threadIdx.y);
    c = make_uchar4(255 - c.x, 255 - c.y, 255 - c.z, c.w);
    surf2Dwrite(c, image, threadIdx.x * sizeof c, threadIdx.y);
}
__global__ void fill(cudaSurfaceObject_t volume)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    surf3Dwrite(float(x + 10 * y + 100 * z), volume, x * sizeof(float), y, z);
}

static void test_buffer()
{
    const int n = 1000, bytes = n * sizeof(float);
    float *h = new float[n], *x;
    unsigned buffer, other;
    int bound = 0;
    size_t mapped_bytes;
    cudaGraphicsResource_t resource;
    auto bind = GL(void(unsigned, unsigned), glBindBuffer);
    auto make = GL(void(int, unsigned *), glGenBuffers);
    auto read = GL(void(unsigned, intptr_t, intptr_t, void *), glGetBufferSubData);
    for (int i = 0; i < n; i++)
        h[i] = 0.5f;
    make(1, &buffer), make(1, &other);
    EXPECT(cudaGraphicsGLRegisterBuffer(&resource, 12345, 0) == cudaErrorInvalidValue);
    bind(ARRAY_BUFFER, buffer);
    GL(void(unsigned, intptr_t, const void *, unsigned), glBufferData)
    (ARRAY_BUFFER, bytes, h, STATIC_DRAW);
    bind(ARRAY_BUFFER, other);
    CHECK(cudaGraphicsGLRegisterBuffer(&resource, buffer, cudaGraphicsRegisterFlagsNone));
    EXPECT(
        cudaGraphicsResourceGetMappedPointer((void **)&x, &mapped_bytes, resource) ==
        cudaErrorUnknown);
    CHECK(cudaGraphicsMapResources(1, &resource));
    CHECK(cudaGraphicsResourceGetMappedPointer((void **)&x, &mapped_bytes, resource));
    EXPECT(mapped_bytes == bytes);
    add_index<<<4, 256>>>(x, n);
    CHECK(cudaGraphicsUnmapResources(1, &resource));
    GL(void(unsigned, int *), glGetIntegerv)(ARRAY_BUFFER_BINDING, &bound);
    EXPECT(bound == (int)other);
    bind(ARRAY_BUFFER, buffer);
    read(ARRAY_BUFFER, 0, bytes, h);
    for (int i = 0; i < n; i++)
        EXPECT(h[i] == 0.5f + i);

    CHECK(cudaGraphicsResourceSetMapFlags(resource, cudaGraphicsMapFlagsReadOnly));
    CHECK(cudaGraphicsMapResources(1, &resource));
    CHECK(cudaGraphicsResourceGetMappedPointer((void **)&x, &mapped_bytes, resource));
    CHECK(cudaMemset(x, 0, bytes));
    CHECK(cudaGraphicsUnmapResources(1, &resource));
    CHECK(cudaGraphicsUnregisterResource(resource));
    read(ARRAY_BUFFER, 0, sizeof *h, h);
    EXPECT(*h == 0.5f);

    CHECK(cudaGLRegisterBufferObject(buffer));
    CHECK(cudaGLMapBufferObject((void **)&x, buffer));
    add_index<<<4, 256>>>(x, n);
    CHECK(cudaGLUnmapBufferObject(buffer));
    CHECK(cudaGLUnregisterBufferObject(buffer));
    read(ARRAY_BUFFER, 0, bytes, h);
    EXPECT(h[n - 1] == 0.5f + 2 * (n - 1));
    delete[] h;
}

// Runs the kernel on the texture that is bound
template <class Kernel>
static void
run_on(unsigned texture, unsigned target, unsigned flags, Kernel kernel, dim3 size)
{
    cudaGraphicsResource_t resource;
    cudaResourceDesc about = {};
    cudaSurfaceObject_t surface;
    CHECK(cudaGraphicsGLRegisterImage(&resource, texture, target, flags));
    CHECK(cudaGraphicsMapResources(1, &resource));
    about.resType = cudaResourceTypeArray;
    CHECK(cudaGraphicsSubResourceGetMappedArray(&about.res.array.array, resource, 0, 0));
    CHECK(cudaCreateSurfaceObject(&surface, &about));
    kernel<<<1, size>>>(surface);
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaGraphicsUnmapResources(1, &resource));
    CHECK(cudaGraphicsUnregisterResource(resource));
}

static void test_textures()
{
    unsigned char pixels[H * W * 4];
    float volume[D][H][W];
    unsigned texture[2];
    auto bind = GL(void(unsigned, unsigned), glBindTexture);
    auto read = GL(void(unsigned, int, unsigned, unsigned, void *), glGetTexImage);
    for (int i = 0; i < H * W * 4; i++)
        pixels[i] = (unsigned char)(3 * i);
    GL(void(int, unsigned *), glGenTextures)(2, texture);
    bind(TEXTURE_2D, texture[0]);
    GL(void(unsigned, int, int, int, int, int, unsigned, unsigned, const void *),
       glTexImage2D)
    (TEXTURE_2D, 0, RGBA8, W, H, 0, RGBA, UNSIGNED_BYTE, pixels);
    run_on(
        texture[0], TEXTURE_2D, cudaGraphicsRegisterFlagsSurfaceLoadStore, invert,
        dim3(W, H));
    memset(pixels, 0, sizeof pixels);
    read(TEXTURE_2D, 0, RGBA, UNSIGNED_BYTE, pixels);
    for (int i = 0; i < H * W * 4; i++)
        EXPECT(pixels[i] == (unsigned char)(i % 4 == 3 ? 3 * i : 255 - 3 * i));

    bind(TEXTURE_3D, texture[1]);
    GL(void(unsigned, int, int, int, int, int, int, unsigned, unsigned, const void *),
       glTexImage3D)
    (TEXTURE_3D, 0, R32F, W, H, D, 0, RED, FLOAT, nullptr);
    run_on(
        texture[1], TEXTURE_3D,
        cudaGraphicsRegisterFlagsSurfaceLoadStore | cudaGraphicsRegisterFlagsWriteDiscard,
        fill, dim3(W, H, D));
    read(TEXTURE_3D, 0, RED, FLOAT, volume);
    for (int z = 0; z < D; z++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                EXPECT(volume[z][y][x] == x + 10 * y + 100 * z);
}

int main()
{
    if (!make_context()) {
        puts("no OpenGL: apt-get install libegl1 libgl1 libgl1-mesa-dri");
        return 1;
    }
    test_buffer();
    test_textures();
    return 0;
}
