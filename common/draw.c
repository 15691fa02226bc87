/* draw.c - see draw.h. */
#include "draw.h"
#include "wb.h"

#include <math.h>

enum { STREAM = 0x1217 };  // a counter of wb_random that no other code uses

// Box-Muller: two uniform numbers give two normal ones.
void draw_normal(
    float *out, size_t begin, size_t n, float deviation, uint64_t seed, uint32_t id)
{
    for (size_t i = 0; i < n; i += 4) {
        uint32_t r[4];
        size_t at = begin + i;
        wb_random(r, seed, (uint32_t)(at / 4), (uint32_t)(at >> 34), id, STREAM);
        for (size_t k = 0; k < 4 && i + k < n; k += 2) {
            double u = (r[k] + 0.5) * 0x1p-32, angle = 2 * M_PI * r[k + 1] * 0x1p-32;
            double radius = sqrt(-2 * log(u));
            out[i + k] = (float)(deviation * radius * cos(angle));
            if (i + k + 1 < n) out[i + k + 1] = (float)(deviation * radius * sin(angle));
        }
    }
}

void draw_ring(float *out, size_t begin, size_t n, uint64_t seed, uint32_t id)
{
    const double inner = 0.9 * 0.9 + 1e-8, outer = 0.999 * 0.999 + 1e-8;
    for (size_t i = 0; i < n; i++) {
        uint32_t r[4];
        wb_random(r, seed, (uint32_t)(begin + i), 0, id, STREAM);
        double u = (r[0] + 0.5) * 0x1p-32;
        out[i] = (float)log(1 / sqrt(inner + (outer - inner) * u) - 1);
    }
}
