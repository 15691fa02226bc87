/* arena.h - many buffers from one allocation, in two passes over the same calls: the
 * first adds up the sizes (base is NULL), the second returns the pointers. */
#ifndef ARENA_H
#define ARENA_H
#include <stddef.h>

typedef struct arena {
    char *base;
    size_t used;    /* bytes */
    size_t element; /* bytes of one element of the model's dtype */
} arena;

/* 256-byte aligned if base is. NULL in the first pass. */
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
