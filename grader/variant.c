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

/* The lowest bit of each hexadecimal digit that is 0 */
static uint64_t zero_digits(uint64_t x)
{
    return ~(x | x >> 1 | x >> 2 | x >> 3) & 0x1111111111111111u;
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
        size_t size = element_bytes(e), n = is_float ? buffer->bytes / size : 0;
        for (size_t i = 0; i < n; i += 16) { /* 4 random bits for each element */
            uint64_t zeros = zero_digits(next_random(&state));
            for (; zeros; zeros &= zeros - 1) {
                size_t at = i + (size_t)__builtin_ctzll(zeros) / 4;
                if (at < n) flip(to + at * size, e);
            }
        }
        to += buffer->bytes;
    }
}
