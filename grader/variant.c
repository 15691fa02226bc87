/* variant.c - data A with changes so small that it stays valid input. Integers stay as
 * they are, because they may be sizes, positions or tokens. */
#include "variant.h"

#include <stdbool.h>
#include <string.h>

uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t x = *state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* Flips the lowest mantissa bit. Zero, infinity and NaN stay. So do powers of two: a
 * value may have a bound, such as 1, and bounds are powers of two. */
static void flip(unsigned char *p, enum element e)
{
    uint32_t bits = 0;
    uint32_t mantissa = e == ELEMENT_F32 ? 0x7FFFFF : e == ELEMENT_F16 ? 0x3FF : 0x7F;
    uint32_t exponent = (e == ELEMENT_F32 ? 0x7FFFFFFF : 0x7FFF) & ~mantissa;
    memcpy(&bits, p, element_bytes(e));
    if ((bits & exponent) == exponent || !(bits & mantissa)) return;
    bits ^= 1;
    if (!(bits & (mantissa | exponent))) return; /* the smallest number would be 0 */
    memcpy(p, &bits, element_bytes(e));
}

void make_variant(unsigned char *to, const struct case_data *d, uint32_t number)
{
    uint64_t state = d->seed + ((uint64_t)number << 32);
    for (int b = 0; b < d->buffers; b++) {
        const struct buffer *buffer = &d->buffer[b];
        enum element e = buffer->element;
        if (!buffer->filled) continue;
        memcpy(to, d->set[0].bytes[b], buffer->bytes);
        bool is_float = e == ELEMENT_F32 || e == ELEMENT_F16 || e == ELEMENT_BF16;
        uint64_t bits = 0;
        for (size_t i = 0; is_float && i < buffer->bytes / element_bytes(e); i++) {
            bits = i % 16 ? bits >> 4 : next_random(&state); /* 4 bits per element */
            if (!(bits & 15)) flip(to + i * element_bytes(e), e);
        }
        to += buffer->bytes;
    }
}
