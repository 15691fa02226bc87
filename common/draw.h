/* draw.h - the random numbers that weights start from. The counter of wb_random says which
 * number of which tensor: any piece of any tensor can be drawn at any time, by any thread,
 * and a tensor's numbers do not depend on the others'. */
#ifndef DRAW_H
#define DRAW_H
#include <stddef.h>
#include <stdint.h>

/* Numbers begin .. begin+n of tensor `id`; begin is a multiple of 4. */
void draw_normal(
    float *out, size_t begin, size_t n, float deviation, uint64_t seed, uint32_t id);
/* a_param such that a = r at a recurrence gate of 1/8, r^2 uniform: points of a ring in
 * the complex plane between the radii 0.9 and 0.999, of which the real model keeps r. */
void draw_ring(float *out, size_t begin, size_t n, uint64_t seed, uint32_t id);

#endif
