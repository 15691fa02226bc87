/* writes.c - did a call change memory that it must not change?
 *
 * Each buffer lies between two red zones of a known pattern. A changed byte there is a
 * write out of bounds. Inputs, and gaps between the rows of outputs, must keep their
 * bytes.
 */
#include "writes.h"

#include "compare.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first argument that views this buffer and is (or is not) an output. */
static const struct view *view_of(const struct case_data *d, int buffer, bool output)
{
    for (int i = 0; i < d->views; i++)
        if (d->view[i].buffer == buffer && (d->view[i].role != ROLE_IN) == output)
            return &d->view[i];
    return NULL;
}

/* Bytes of an element of the buffer, to report distances in elements. */
static size_t buffer_element(const struct case_data *d, int b)
{
    const struct view *v = view_of(d, b, true);
    if (!v) v = view_of(d, b, false);
    return v ? element_bytes(v->element) : 1;
}

/* Is a whole zone as it was? Its pattern has two bytes. */
static bool zone_kept(const unsigned char *zone)
{
    return filled_with(zone, 0, FILL_RED_ZONE) && filled_with(zone, 1, FILL_RED_ZONE) &&
           !memcmp(zone, zone + 2, RED_ZONE - 2);
}

/* Reports how far a write went into each of the two red zones of a buffer. why: a write
 * past the end */
static void check_red_zones(
    struct findings *f, const char *name, const unsigned char *before,
    const unsigned char *after, size_t element, const char *why)
{
    size_t low = 0, high = 0; /* bytes */
    if (zone_kept(before) && zone_kept(after)) return;
    for (size_t i = 0; i < RED_ZONE; i++) {
        if (!low && !filled_with(before, i, FILL_RED_ZONE)) low = RED_ZONE - i;
        if (!filled_with(after, i, FILL_RED_ZONE)) high = i + 1;
    }
    low = (low + element - 1) / element;
    high = (high + element - 1) / element;
    if (low == 1)
        say(f, "writes before the start of %s, by 1 element: a negative index?", name);
    else if (low)
        say(f, "writes before the start of %s, by up to %zu elements: a negative index?",
            name, low);
    if (high == 1)
        say(f, "writes past the end of %s, by 1 element: %s?", name, why);
    else if (high)
        say(f, "writes past the end of %s, by up to %zu elements: %s?", name, high, why);
}

/* One flag per byte of a buffer: does it belong to an output? */
static unsigned char *output_bytes(const struct case_data *d, int b)
{
    unsigned char *flags = xalloc(d->buffer[b].bytes);
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        size_t e = element_bytes(v->element);
        if (v->buffer != b || v->role == ROLE_IN || !v->elements) continue;
        for (size_t row = 0; row < v->rows; row++)
            memset(flags + (v->offset + row * v->stride) * e, 1, v->cols * e);
    }
    return flags;
}

static void say_changed(struct findings *f, const struct case_data *d, int b, size_t byte)
{
    const struct view *out = view_of(d, b, true), *in = view_of(d, b, false);
    size_t element = byte / buffer_element(d, b);
    char where[128];
    if (!out && in && element >= in->offset && in->stride) {
        size_t at = element - in->offset;
        snprintf(
            where, sizeof where, "row %zu, col %zu", at / in->stride, at % in->stride);
        if (in->rows == 1) snprintf(where, sizeof where, "%zu", at);
        say(f, "changes its input %s, first at [%s]: inputs are read-only", in->name,
            where);
    } else if (out && element >= out->offset && out->stride > out->cols) {
        size_t at = element - out->offset;
        say(f,
            "writes between the rows of %s, at row %zu, col %zu: a row has %zu columns, "
            "and the next one starts %zu elements later (ld)",
            out->name, at / out->stride, at % out->stride, out->cols, out->stride);
    } else {
        say(f, "writes to buffer %s outside its outputs, first at element %zu",
            d->buffer[b].name, element);
    }
}

/* Is it right by what most buffers are: one output and nothing else, or inputs only? */
static bool plainly_kept(
    const struct case_data *d, const struct data_set *set, const unsigned char *bytes,
    int b, bool must_fail)
{
    const struct view *out = view_of(d, b, true);
    size_t size = d->buffer[b].bytes;
    if (!out) return set->bytes[b] && !memcmp(bytes, set->bytes[b], size);
    return !must_fail && !out->offset && out->stride == out->cols &&
           out->rows * out->cols * element_bytes(out->element) == size;
}

static void check_buffer(
    struct findings *f, const struct case_data *d, const struct data_set *set,
    const unsigned char *bytes, int b, bool must_fail)
{
    size_t i = 0, size = d->buffer[b].bytes;
    const unsigned char *initial = set->bytes[b];
    if (plainly_kept(d, set, bytes, b, must_fail)) return;
    unsigned char *output = output_bytes(d, b);
    for (; i < size; i++) {
        if (output[i] && !must_fail) continue;
        if (initial ? bytes[i] != initial[i] : bytes[i] != (FILL_POISON & 0xFF)) break;
    }
    if (i < size && output[i])
        say(f, "writes to %s before it returns the error: check the arguments first",
            d->buffer[b].name);
    else if (i < size)
        say_changed(f, d, b, i);
    free(output);
}

bool memory_kept(
    struct findings *f, const struct case_data *d, const struct data_set *set,
    const unsigned char *result, bool must_fail)
{
    int before = f->count;
    for (int b = 0; b < d->buffers; b++) {
        const unsigned char *p = buffer_bytes(d, result, b);
        check_red_zones(
            f, d->buffer[b].name, p - RED_ZONE, p + d->buffer[b].bytes,
            buffer_element(d, b), "a missing bounds check");
        check_buffer(f, d, set, p, b, must_fail);
    }
    /* of the workspace only the red zones come back, one after the other */
    const unsigned char *work = buffer_bytes(d, result, d->buffers) - RED_ZONE;
    check_red_zones(
        f, "the workspace", work, work + RED_ZONE, sizeof(float),
        "does its _workspace function return too few bytes (elements in place of bytes?), "
        "or is a bounds check missing");
    return f->count == before;
}
