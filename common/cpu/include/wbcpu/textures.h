/* textures.h - fetches from textures.
 *
 * Coordinates, address modes and filtering follow the CUDA programming guide: weights of a
 * linear filter are rounded to 1/256. No mipmaps, no texture references. */
#ifndef WBCPU_TEXTURES_H
#define WBCPU_TEXTURES_H

#include "float16.h"
#include "texture_objects.h"

namespace wbcpu
{
/* The index of a texel; -1: the border. */
inline int texel_index(float x, int n, cudaTextureAddressMode mode, bool normalized)
{
    if (normalized && (mode == cudaAddressModeWrap || mode == cudaAddressModeMirror)) {
        int i = (int)floorf(x), turn = i >= 0 ? i / n : -((-i + n - 1) / n);
        int in = i - turn * n;
        return mode == cudaAddressModeMirror && turn % 2 ? n - 1 - in : in;
    }
    if (!(x >= 0)) return mode == cudaAddressModeBorder ? -1 : 0;
    if (x >= (float)n) return mode == cudaAddressModeBorder ? -1 : n - 1;
    return (int)x;
}
/* Channel `channel` as a float, normalized if the texture asks for it. */
inline float channel_of(const wbcpu_texture *t, const char *p, int channel)
{
    const cudaChannelFormatDesc &f = t->a.format;
    int bits = f.x;
    p += channel * bits / 8;
    bool normalize = t->how.readMode == cudaReadModeNormalizedFloat;
    if (f.f == cudaChannelFormatKindFloat)
        return bits == 16 ? half_to_float_soft(*(const uint16_t *)p) : *(const float *)p;
    bool is_signed = f.f == cudaChannelFormatKindSigned;
    float value = bits == 8    ? is_signed ? *(const signed char *)p
                                           : *(const unsigned char *)p
                  : bits == 16 ? is_signed ? *(const short *)p
                                           : *(const unsigned short *)p
                  : is_signed  ? (float)*(const int *)p
                               : (float)*(const unsigned *)p;
    if (!normalize || bits > 16) return value;
    float most = (float)((1 << (is_signed ? bits - 1 : bits)) - 1);
    return is_signed && value < -most ? -1 : value / most;
}
template <class T> T from_channels(const float value[4])
{
    typedef typename texel_of<T>::element E;
    E parts[sizeof(T) / sizeof(E)];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i] = (E)value[i];
    T result;
    __builtin_memcpy(&result, parts, sizeof result);
    return result;
}
struct place {
    int x, y, z;
};
inline const char *address(const wbcpu_texture *t, place p)
{
    const cudaArray &a = t->a;
    if (p.x < 0 || p.y < 0 || p.z < 0) return nullptr;
    return a.data + (size_t)p.x * a.texel +
           ((size_t)p.y + (size_t)p.z * a.extent.height) * a.pitch;
}
template <class T> T read_texel(const wbcpu_texture *t, place p)
{
    const char *at = address(t, p);
    typedef typename texel_of<T>::element E;
    if (at && sizeof(T) <= t->a.texel && sizeof(E) * 8 == (size_t)t->a.format.x &&
        t->how.readMode == cudaReadModeElementType) {
        T result; /* as it is stored */
        __builtin_memcpy(&result, at, sizeof result);
        return result;
    }
    float value[4] = {0, 0, 0, 0};
    int channels = t->a.format.x ? (int)(t->a.texel * 8) / t->a.format.x : 0;
    for (int c = 0; c < 4; c++)
        value[c] = !at ? t->how.borderColor[c] : c < channels ? channel_of(t, at, c) : 0;
    return from_channels<T>(value);
}
/* One coordinate: the two texels next to it and the weight of the second one; of a texture
 * without a filter only one texel, unless `both` is set. */
struct axis {
    int first, second;
    float weight;
};
inline axis
axis_of(const wbcpu_texture *t, float x, size_t size, int which, bool both = false)
{
    int n = (int)size;
    bool normalized = t->how.normalizedCoords;
    cudaTextureAddressMode mode = t->how.addressMode[which];
    if (normalized) x *= (float)n;
    if (t->how.filterMode == cudaFilterModePoint && !both)
        return {texel_index(floorf(x), n, mode, normalized), 0, 0};
    float base = floorf(x - 0.5f), weight = rintf((x - 0.5f - base) * 256) / 256;
    return {
        texel_index(base, n, mode, normalized), texel_index(base + 1, n, mode, normalized),
        weight};
}
/* What a linear filter adds up. Floats are read directly. */
template <bool floats>
inline void filter(
    const wbcpu_texture *t, int dims, axis x, axis y, axis z, int wanted, float sum[4])
{
    const int channels = t->a.format.x ? (int)(t->a.texel * 8) / t->a.format.x : 0;
    for (int corner = 0; corner < 1 << dims; corner++) {
        bool i = corner & 1, j = corner & 2, k = corner & 4;
        float weight = (i ? x.weight : 1 - x.weight) *
                       (dims < 2 ? 1 : j ? y.weight : 1 - y.weight) *
                       (dims < 3 ? 1 : k ? z.weight : 1 - z.weight);
        if (weight == 0) continue;
        const char *at = address(
            t, {i ? x.second : x.first, j ? y.second : y.first, k ? z.second : z.first});
        for (int c = 0; c < wanted; c++)
            sum[c] += weight * (!at             ? t->how.borderColor[c]
                                : c >= channels ? 0
                                : floats        ? ((const float *)(const void *)at)[c]
                                                : channel_of(t, at, c));
    }
}
/* dims: 1 to 3; other axes: fixed layers */
template <class T> T sample(cudaTextureObject_t object, int dims, axis x, axis y, axis z)
{
    const wbcpu_texture *t = (const wbcpu_texture *)(uintptr_t)object;
    if (t->how.filterMode == cudaFilterModePoint)
        return read_texel<T>(t, {x.first, y.first, z.first});
    float sum[4] = {0, 0, 0, 0};
    const int wanted = (int)(sizeof(T) / sizeof(typename texel_of<T>::element));
    if (t->a.format.f == cudaChannelFormatKindFloat && t->a.format.x == 32)
        filter<true>(t, dims, x, y, z, wanted, sum);
    else
        filter<false>(t, dims, x, y, z, wanted, sum);
    return from_channels<T>(sum);
}
inline axis x_axis(cudaTextureObject_t t, float x)
{
    return axis_of(texture(t), x, texture(t)->a.extent.width, 0);
}
inline axis y_axis(cudaTextureObject_t t, float y)
{
    return axis_of(texture(t), y, texture(t)->a.extent.height, 1);
}
inline axis layer(cudaTextureObject_t t, int i)
{
    int n = (int)texture(t)->a.extent.depth;
    return {i < 0 ? 0 : i >= n ? n - 1 : i, 0, 0};
}
constexpr axis none = {0, 0, 0};
}  // namespace wbcpu

#define WBCPU_TEXTURE template <class T> inline T
WBCPU_TEXTURE tex1Dfetch(cudaTextureObject_t t, int i)
{
    const wbcpu_texture *w = wbcpu::texture(t);
    if ((size_t)i >= w->a.extent.width) return T();
    return wbcpu::read_texel<T>(w, {i, 0, 0});
}
WBCPU_TEXTURE tex1D(cudaTextureObject_t t, float x)
{
    return wbcpu::sample<T>(t, 1, wbcpu::x_axis(t, x), wbcpu::none, wbcpu::none);
}
WBCPU_TEXTURE tex2D(cudaTextureObject_t t, float x, float y)
{
    return wbcpu::sample<T>(t, 2, wbcpu::x_axis(t, x), wbcpu::y_axis(t, y), wbcpu::none);
}
/* One channel of the four texels around (x, y), counterclockwise from the lower left */
WBCPU_TEXTURE tex2Dgather(cudaTextureObject_t t, float x, float y, int channel = 0)
{
    const wbcpu_texture *w = wbcpu::texture(t);
    wbcpu::axis column = wbcpu::axis_of(w, x, w->a.extent.width, 0, true);
    wbcpu::axis row = wbcpu::axis_of(w, y, w->a.extent.height, 1, true);
    const wbcpu::place places[] = {
        {column.first, row.second, 0},
        {column.second, row.second, 0},
        {column.second, row.first, 0},
        {column.first, row.first, 0}};
    float value[4];
    for (int i = 0; i < 4; i++) {
        const char *at = wbcpu::address(w, places[i]);
        value[i] = at ? wbcpu::channel_of(w, at, channel) : w->how.borderColor[channel];
    }
    return wbcpu::from_channels<T>(value);
}
WBCPU_TEXTURE tex2DLod(cudaTextureObject_t t, float x, float y, float)
{
    return tex2D<T>(t, x, y);
}
WBCPU_TEXTURE tex3D(cudaTextureObject_t t, float x, float y, float z)
{
    return wbcpu::sample<T>(
        t, 3, wbcpu::x_axis(t, x), wbcpu::y_axis(t, y),
        wbcpu::axis_of(wbcpu::texture(t), z, wbcpu::texture(t)->a.extent.depth, 2));
}
WBCPU_TEXTURE tex1DLayered(cudaTextureObject_t t, float x, int i)
{
    return wbcpu::sample<T>(
        t, 1, wbcpu::x_axis(t, x), wbcpu::none, wbcpu::layer(t, i));
}
WBCPU_TEXTURE tex2DLayered(cudaTextureObject_t t, float x, float y, int i)
{
    return wbcpu::sample<T>(
        t, 2, wbcpu::x_axis(t, x), wbcpu::y_axis(t, y), wbcpu::layer(t, i));
}
/* Faces: +x -x +y -y +z -z, each [-1,1] x [-1,1] */
WBCPU_TEXTURE texCubemap(cudaTextureObject_t t, float x, float y, float z)
{
    float ax = fabsf(x), ay = fabsf(y), az = fabsf(z), m, s, r;
    int face;
    if (ax >= ay && ax >= az)
        face = x < 0, m = ax, s = x < 0 ? z : -z, r = -y;
    else if (ay >= az)
        face = 2 + (y < 0), m = ay, s = x, r = y < 0 ? -z : z;
    else
        face = 4 + (z < 0), m = az, s = z < 0 ? -x : x, r = -y;
    const cudaArray &a = wbcpu::texture(t)->a;
    bool normalized = wbcpu::texture(t)->how.normalizedCoords;
    float u = (s / m + 1) / 2, v = (r / m + 1) / 2;
    return tex2DLayered<T>(
        t, normalized ? u : u * (float)a.extent.width,
        normalized ? v : v * (float)a.extent.height, face);
}

#undef WBCPU_TEXTURE

#endif
