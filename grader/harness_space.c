/* harness_space.c - a program allocates the workspace once, for its largest sizes, so the
 * function must not return less for a larger size. A typical mistake: parts * size of a
 * part, with the number of parts rounded down. */
#include "harness_space.h"

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

/* 2^35 elements of 16 bits (64 GiB) fit on a large GPU, so a function must not count them
 * in an int. For larger sizes it may return anything. */
static int fits(const struct wire_case *wire)
{
    double product = 1;
    for (uint32_t i = 0; i < wire->scalars; i++) {
        const struct wire_scalar *s = &wire->scalar[i];
        if (!s->name[1] && s->value > 1) product *= s->value;
    }
    return product <= 0x1p35;
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

/* The size after `at`: small multiples of the first one, which need not be a power of two,
 * then all powers of two. A plan changes at some of them. */
static double next_size(double first, double at)
{
    static const double FACTORS[] = {2, 3, 5, 7};
    double power = 1;
    for (int i = 0; i < 4; i++)
        if (FACTORS[i] * first > at) return FACTORS[i] * first;
    while (power <= at)
        power *= 2;
    return power;
}

static void grow(
    char *words, size_t room, const struct call *c, const struct adapter *a,
    struct wire_case *wire, char name)
{
    static const double LARGEST = 1 << 20;
    double first = find(wire, name)->value, before = first;
    size_t most = 0;
    if (first < 1) return;
    for (double at = first; at <= fmax(LARGEST, 7 * first); at = next_size(first, at)) {
        multiply(wire, name, at / before);
        if (!fits(wire)) return;
        size_t bytes = a->workspace(c);
        if (bytes < most) {
            describe(words, room, wire, most, bytes, name, before, at);
            return;
        }
        most = bytes, before = at;
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
