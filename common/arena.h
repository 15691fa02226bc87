/* arena.h - pieces of one allocation: the first pass over what is needed counts (base
 * NULL), the second hands out. */
#ifndef ARENA_H
#define ARENA_H
#include <stddef.h>

typedef struct arena {
    char *base;
    size_t used, element; /* element: bytes of the model's dtype */
} arena;

static inline void *take(arena *a, size_t bytes)
{
    void *p = a->base ? a->base + a->used : NULL;
    a->used += (bytes + 255) / 256 * 256;
    return p;
}

static inline void *take_elements(arena *a, size_t n)
{
    return take(a, n * a->element);
}

static inline float *take_floats(arena *a, size_t n)
{
    return take(a, n * sizeof(float));
}

static inline int *take_ints(arena *a, size_t n)
{
    return take(a, n * sizeof(int));
}

#endif
