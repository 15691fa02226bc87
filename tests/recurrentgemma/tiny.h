/* tiny.h - for tests: the model of tests/recurrentgemma/tiny and its expected values.
 *
 *     tiny_open();                              // .init of a suite
 *     float *x = fixture("tap.0.norm");         // device copies, freed by tiny_close
 *     float *w = weight(0, "linear_x.weight");  // of layer 0's temporal block
 *     const float *want = expected("tap.0.linear_x");  // on the host
 *     tiny_close();                             // .fini
 */
#ifndef TINY_H
#define TINY_H
#include "../device.h"
#include "../farthest.h"
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>

#define TINY "tests/recurrentgemma/tiny"
enum { /* its sizes */
       LAYERS = 5,
       CHANNELS = 64,
       HEADS = 4,
       HEAD = 16,
       ROTATED = 8,
       HIDDEN = 192,
       VOCAB = 256,
       WINDOW = 16,
       CONV_WIDTH = 4,
       BLOCK = 16,
       LONG = 45,
       SHORT = 5,
       GREEDY = 40,
};

static st_file *tiny_model, *tiny_fixture;
static void *tiny_memory[256];
static int tiny_count;

WB_INLINE void tiny_open(void)
{
    wb_error err = {""};
    tiny_model = st_open(TINY "/model.safetensors", &err);
    tiny_fixture = tiny_model ? st_open(TINY "/fixture.safetensors", &err) : NULL;
    cr_assert_not_null(tiny_fixture, "%s", err.text);
}

WB_INLINE void tiny_close(void)
{
    while (tiny_count > 0)
        cudaFree(tiny_memory[--tiny_count]);
    st_close(tiny_model), st_close(tiny_fixture);
    cr_expect(cudaDeviceSynchronize() == cudaSuccess);
}

WB_INLINE const st_tensor *tiny_find(const st_file *f, const char *name)
{
    const st_tensor *t = st_find(f, name);
    cr_assert_not_null(t, "%s: no tensor %s", st_path(f), name);
    return t;
}

/* n floats of device memory: a copy of `host`, or NaN */
WB_INLINE float *tiny_device(const void *host, size_t n)
{
    cr_assert(tiny_count < 256);
    return tiny_memory[tiny_count++] = device(host, n * sizeof(float), 0);
}

WB_INLINE const void *expected(const char *name)
{
    return tiny_find(tiny_fixture, name)->data;
}

WB_INLINE float *fixture(const char *name)
{
    const st_tensor *t = tiny_find(tiny_fixture, name);
    return tiny_device(t->data, t->elements);
}

/* of a layer's temporal block; layer -1: the whole name */
WB_INLINE float *weight(int layer, const char *part)
{
    char name[128];
    snprintf(name, sizeof name, "model.layers.%d.%s", layer, part);
    const st_tensor *t = tiny_find(tiny_model, layer < 0 ? part : name);
    return tiny_device(t->data, t->elements);
}

/* n numbers on the device against n on the host */
WB_INLINE void
near(const float *got, const float *want, size_t n, double tolerance, const char *what)
{
    float *here = malloc(n * sizeof *here);
    back(here, got, n * sizeof *here);
    double d = farthest(here, want, n);
    cr_expect(d <= tolerance, "%s: off by %g, more than %g", what, d, tolerance);
    free(here);
}

#endif
