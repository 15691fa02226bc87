/* draw.h - random initial weights. The counter of wb_random is the index of the number
 * and its tensor, so any part of any tensor can be drawn at any time by any thread, and
 * no tensor's numbers depend on another's. */
#ifndef DRAW_H
#define DRAW_H
#include <stddef.h>
#include <stdint.h>

/* Numbers [begin, begin + n) of tensor `id`, normal with mean 0 and standard deviation
 * `deviation`; begin is a multiple of 4. */
void draw_normal(
    float *out, size_t begin, size_t n, float deviation, uint64_t seed, uint32_t id);
/* The RG-LRU's a_param, such that a = r at a recurrence gate of 1/8 with r^2 uniform: r
 * is the radius of a point drawn uniformly from the ring 0.9 <= |z| <= 0.999 in the
 * complex plane. The model is real and keeps only the radius. */
void draw_ring(float *out, size_t begin, size_t n, uint64_t seed, uint32_t id);

#endif
