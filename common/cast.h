/* cast.h - float to and from the 16-bit floats, on the host. Rounds to nearest, ties to
 * even. 16-bit floats are passed as bits (uint16_t), as files store them. */
#ifndef CAST_H
#define CAST_H
#include "dtype.h"

#include <stdint.h>
#include <string.h>

static inline uint32_t wb_float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float wb_bits_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float wb_from_bf16(uint16_t h)
{
    return wb_bits_float((uint32_t)h << 16);
}

static inline uint16_t wb_to_bf16(float x)
{
    uint32_t bits = wb_float_bits(x);
    uint32_t nan = (bits >> 16) | 0x40; /* still a NaN without the low bits */
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* Read with a float's exponent bias, the bits give a value 2^-112 times too small; the
 * multiplication corrects it, for subnormal halves too. inf and NaN have all exponent
 * bits set and keep them. */
static inline float wb_from_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    uint32_t finite = wb_float_bits(wb_bits_float(rest) * 0x1p112f);
    return wb_bits_float(sign | (rest >= 0x0f800000 ? rest | 0x7f800000 : finite));
}

/* Adds half an ulp less one, and one more where the kept part is odd. A subnormal half
 * (below 2^-14) has a spacing of 2^-24, the spacing of floats in [0.5, 1): adding 0.5
 * rounds it. */
static inline uint16_t wb_to_f16(float x)
{
    uint32_t bits = wb_float_bits(x);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00);
    if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and above */
    if (rest < 0x38800000) {
        uint32_t subnormal = wb_float_bits(wb_bits_float(rest) + 0.5f) - 0x3f000000;
        return (uint16_t)(sign | subnormal);
    }
    rest += 0xfff + (rest >> 13 & 1);
    return (uint16_t)(sign | ((rest - 0x38000000) >> 13));
}

/* out (n) float: the n elements of `numbers`, `stride` elements apart, aligned or not. */
static inline void
wb_to_floats(float *out, const void *numbers, wb_dtype dtype, size_t n, size_t stride)
{
    const char *in = numbers;
    uint16_t h;
    for (size_t i = 0; i < n && dtype == WB_F32; i++)
        memcpy(&out[i], in + i * stride * sizeof *out, sizeof *out);
    for (size_t i = 0; i < n && dtype == WB_BF16; i++) {
        memcpy(&h, in + i * stride * sizeof h, sizeof h);
        out[i] = wb_from_bf16(h);
    }
    for (size_t i = 0; i < n && dtype == WB_F16; i++) {
        memcpy(&h, in + i * stride * sizeof h, sizeof h);
        out[i] = wb_from_f16(h);
    }
}

/* out (n) of dtype, from in (n) float. */
static inline void wb_from_floats(void *out, const float *in, wb_dtype dtype, size_t n)
{
    uint16_t *half = out;
    if (dtype == WB_F32) memcpy(out, in, n * sizeof *in);
    for (size_t i = 0; i < n && dtype == WB_BF16; i++)
        half[i] = wb_to_bf16(in[i]);
    for (size_t i = 0; i < n && dtype == WB_F16; i++)
        half[i] = wb_to_f16(in[i]);
}

#endif
