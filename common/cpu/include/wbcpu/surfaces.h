/* surfaces.h - reads and writes of surfaces; x counts bytes. */
#ifndef WBCPU_SURFACES_H
#define WBCPU_SURFACES_H

#include "texture_objects.h"

namespace wbcpu
{
/* NULL: out of range */
inline char *surface_at(
    cudaSurfaceObject_t s, int x, int y, int z, size_t bytes, cudaSurfaceBoundaryMode mode)
{
    const cudaArray &a = texture(s)->a;
    size_t row = a.extent.width * a.texel;
    bool inside = x >= 0 && (size_t)x + bytes <= row && y >= 0 &&
                  (size_t)y < a.extent.height && z >= 0 && (size_t)z < a.extent.depth;
    if (!inside && mode == cudaBoundaryModeTrap) wbcpu_trap();
    if (!inside && mode == cudaBoundaryModeZero) return nullptr;
    auto clamp = [](int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; };
    if (!inside) {
        x = clamp(x, (int)(row - bytes + 1));
        y = clamp(y, (int)a.extent.height);
        z = clamp(z, (int)a.extent.depth);
    }
    return a.data + x + ((size_t)y + (size_t)z * a.extent.height) * a.pitch;
}
}  // namespace wbcpu
#define WBCPU_SURFACE(name, at, ...)                                                     \
    template <class T> inline T name##read(                                                            \
        cudaSurfaceObject_t s, __VA_ARGS__,                                              \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                             \
    {                                                                                    \
        const char *p = wbcpu::surface_at(s, WBCPU_AT at, sizeof(T), mode);              \
        T value = T();                                                                   \
        if (p) __builtin_memcpy(&value, p, sizeof value);                                \
        return value;                                                                    \
    }                                                                                    \
    template <class T>                                                                   \
    inline void name##read(                                                              \
        T *value, cudaSurfaceObject_t s, __VA_ARGS__,                                    \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                             \
    {                                                                                    \
        const char *p = wbcpu::surface_at(s, WBCPU_AT at, sizeof(T), mode);              \
        *value = T();                                                                    \
        if (p) __builtin_memcpy(value, p, sizeof *value);                                \
    }                                                                                    \
    template <class T>                                                                   \
    inline void name##write(                                                             \
        T value, cudaSurfaceObject_t s, __VA_ARGS__,                                     \
        cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap)                             \
    {                                                                                    \
        char *p = wbcpu::surface_at(s, WBCPU_AT at, sizeof(T), mode);                    \
        if (p) __builtin_memcpy(p, &value, sizeof value);                                \
    }
#define WBCPU_AT(x, y, z) x, y, z
WBCPU_SURFACE(surf1D, (x, 0, 0), int x)
WBCPU_SURFACE(surf2D, (x, y, 0), int x, int y)
WBCPU_SURFACE(surf3D, (x, y, z), int x, int y, int z)
WBCPU_SURFACE(surf1DLayered, (x, 0, z), int x, int z)
WBCPU_SURFACE(surf2DLayered, (x, y, z), int x, int y, int z)
WBCPU_SURFACE(surfCubemap, (x, y, z), int x, int y, int z)
#undef WBCPU_SURFACE
#undef WBCPU_AT

#endif
