/* harness_space.c - a program allocates the workspace once, for its largest sizes, so the
 * function must not return less for a larger size. A typical mistake: parts * size of a
 * part, with the number of parts rounded down. */
#include "harness_space.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Sizes that may grow alone: sequences, tokens, rows, keys, columns, channels, classes,
 * heads. S grows with T, because it is never smaller. */
static const char SIZES[] = "BTRSNCVH";

static struct wire_scalar *find(struct wire_case *wire, char name)
{
    for (uint32_t i = 0; i < wire->scalars; i++)
        if (wire->scalar[i].name[0] == name && !wire->scalar[i].name[1])
            return &wire->scalar[i];
    return NULL;
}

/* Up to this product of the sizes, a function may count elements in int. */
static int is_small(const struct wire_case *wire)
{
    double product = 1;
    for (uint32_t i = 0; i < wire->scalars; i++) {
        const struct wire_scalar *s = &wire->scalar[i];
        if (!s->name[1] && s->value > 1) product *= s->value;
    }
    return product <= INT_MAX;
}

static void multiply(struct wire_case *wire, char name, double factor)
{
    struct wire_scalar *size = find(wire, name), *keys = find(wire, 'S');
    size->value = round(size->value * factor);
    if (name == 'T' && keys) keys->value = round(keys->value * factor);
}

/* n bytes, but m < n if `name` is `to` in place of `from` */
static void describe(
    char *words, size_t room, struct wire_case *wire, size_t n, size_t m, char name,
    double from, double to)
{
    const char *mark = " (";
    int at = snprintf(
        words, room, "%zu bytes for %c=%.0f, but only %zu for %c=%.0f", n, name, from, m,
        name, to);
    for (const char *s = SIZES; *s && (size_t)at < room; s++) {
        const struct wire_scalar *size = find(wire, *s);
        if (!size || *s == name) continue;
        at += snprintf(words + at, room - at, "%s%c=%.0f", mark, *s, size->value);
        mark = ", ";
    }
    if (*mark == ',' && (size_t)at < room) snprintf(words + at, room - at, ")");
}

static void grow(
    char *words, size_t room, const struct call *c, const struct adapter *a,
    struct wire_case *wire, char name)
{
    /* odd factors: sizes that are not powers of two */
    static const int FACTORS[] = {1, 2, 3, 5, 7};
    double one = find(wire, name)->value;
    size_t before = 0, bytes;
    for (int i = 0; i < 5; i++, before = bytes) {
        if (i) multiply(wire, name, (double)FACTORS[i] / FACTORS[i - 1]);
        if (!is_small(wire)) return;
        bytes = a->workspace(c);
        if (bytes >= before) continue;
        describe(
            words, room, wire, before, bytes, name, FACTORS[i - 1] * one,
            FACTORS[i] * one);
        return;
    }
}

/* Every size grows alone, and again with one of the sizes multiplied by 16, 256 and 4096:
 * with few rows or tokens, many plans do not depend on the sizes. */
void space_falls(
    char *words, size_t room, const struct call *c, const struct adapter *a,
    struct wire_case *wire)
{
    struct wire_scalar as_it_is[MAX_SCALARS];
    memcpy(as_it_is, wire->scalar, sizeof as_it_is);
    *words = 0;
    for (int factor = 1; factor <= 4096; factor *= 16)
        for (const char *many = SIZES; *many; many++)
            for (const char *s = SIZES; *s && !*words; s++) {
                if (!find(wire, *many) || !find(wire, *s)) continue;
                multiply(wire, *many, factor);
                grow(words, room, c, a, wire, *s);
                memcpy(wire->scalar, as_it_is, sizeof as_it_is);
            }
}
