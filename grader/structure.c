/* structure.c - compares what check mode counted with the bound of a case. */
#include "structure.h"

#include <math.h>
#include <string.h>

static double number_at(json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static json_t *at(json_t *object, const char *outer, const char *inner)
{
    return json_object_get(json_object_get(object, outer), inner);
}

/* --- sums over the kernels of a call ------------------------------------------------ */

static double sum_of(json_t *kernels, const char *key)
{
    size_t i;
    json_t *kernel;
    double sum = 0;
    json_array_foreach(kernels, i, kernel)
        sum += number_at(kernel, key);
    return sum;
}

struct traffic {
    double bytes, distinct; /* distinct: of the launch with the most */
};
/* What all kernels together read from a buffer, or write to it. */
static struct traffic traffic_of(json_t *kernels, const char *buffer, bool reads)
{
    size_t i, k;
    json_t *kernel, *b;
    struct traffic t = {0};
    json_array_foreach(kernels, i, kernel) {
        json_array_foreach(json_object_get(kernel, "buffers"), k, b) {
            const char *name = json_string_value(json_object_get(b, "name"));
            if (!name || strcmp(name, buffer)) continue;
            t.bytes += number_at(b, reads ? "read_bytes" : "written_bytes");
            t.distinct = fmax(
                t.distinct,
                fmin(
                    number_at(b, reads ? "read_distinct" : "written_distinct"),
                    number_at(b, "bytes")));
        }
    }
    return t;
}

/* How often the bytes of a buffer are read (or written). */
static double passes(json_t *kernels, const char *buffer, bool reads)
{
    struct traffic t = traffic_of(kernels, buffer, reads);
    return t.distinct > 0 ? t.bytes / t.distinct : 0;
}

/* A kernel may store what it has computed from x and read that again in place of x. */
struct copy {
    const char *name;
    double passes;
};
/* Returns the written buffer that is read most, in passes over x. Only a buffer of half
 * to four times the size of x can be a copy of it, perhaps in another type. */
static struct copy copy_of(json_t *kernels, const char *buffer)
{
    size_t i, k;
    json_t *kernel, *b;
    struct copy most = {0};
    double distinct = traffic_of(kernels, buffer, true).distinct;
    json_array_foreach(kernels, i, kernel) {
        json_array_foreach(json_object_get(kernel, "buffers"), k, b) {
            const char *name = json_string_value(json_object_get(b, "name"));
            if (!name || !strcmp(name, buffer)) continue;
            double size = traffic_of(kernels, name, false).distinct / distinct;
            double read = traffic_of(kernels, name, true).bytes / distinct;
            if (!(size >= 0.5 && size <= 4 && read > most.passes)) continue;
            most = (struct copy){name, read};
        }
    }
    return most;
}

/* --- per line ----------------------------------------------------------------------- */

struct worst {
    const char *file;
    int line;
    double ratio, excess;
};

/* Accesses as the report names them. Global: all; without atomics; those that are
 * instructions of warps, which copies by TMA are not */
static const char *const accesses[] = {"read",     "write",     "async", "atomic",
                                       "tma_load", "tma_store", NULL};
static const char *const not_atomic[] = {"read",     "write",     "async",
                                         "tma_load", "tma_store", NULL};
static const char *const of_warps[] = {"read", "write", "async", NULL};

/* Sums `key` and its ideal over all accesses of a line, and keeps the line with the most
 * above the ideal. */
static void look_at(json_t *line, const char *space, const char *key, struct worst *w)
{
    double count = 0, ideal = 0;
    for (size_t i = 0; accesses[i]; i++) {
        json_t *access = at(line, space, accesses[i]);
        count += number_at(access, key);
        ideal += number_at(access, "ideal");
    }
    if (count - ideal <= w->excess) return;
    w->excess = count - ideal;
    w->ratio = ideal > 0 ? count / ideal : count;
    w->file = json_string_value(json_object_get(line, "file"));
    w->line = (int)number_at(line, "line");
}

static struct worst worst_line(json_t *kernels, const char *space, const char *key)
{
    size_t i, k;
    json_t *kernel, *line;
    struct worst w = {0};
    json_array_foreach(kernels, i, kernel) {
        json_array_foreach(json_object_get(kernel, "lines"), k, line)
            look_at(line, space, key, &w);
    }
    return w;
}

/* `key` of these kinds of accesses in this space */
static double sum_of_kinds(
    json_t *kernels, const char *space, const char *const *kinds, const char *key)
{
    size_t i;
    json_t *kernel;
    double sum = 0;
    json_array_foreach(kernels, i, kernel) {
        for (size_t k = 0; kinds[k]; k++)
            sum += number_at(at(kernel, space, kinds[k]), key);
    }
    return sum;
}

static double global_sum(json_t *kernels, const char *key)
{
    return sum_of_kinds(kernels, "global", not_atomic, key);
}

/* Of all buffers, each once */
static double bytes_of_buffers(json_t *kernels)
{
    size_t i, k;
    json_t *kernel, *b, *bytes, *each = json_object();
    const char *name;
    double sum = 0;
    json_array_foreach(kernels, i, kernel) {
        json_array_foreach(json_object_get(kernel, "buffers"), k, b) {
            name = json_string_value(json_object_get(b, "name"));
            if (name) json_object_set(each, name, json_object_get(b, "bytes"));
        }
    }
    json_object_foreach(each, name, bytes)
        sum += json_number_value(bytes);
    json_decref(each);
    return sum;
}

/* How many times the fewest. Many good accesses to the same bytes must not outweigh the
 * bad ones: the bytes of a buffer count REPEATS times at most, `unit` of them together. */
static double times_fewest(json_t *kernels, double count, double fewest, double unit)
{
    enum { REPEATS = 8 };
    double most = REPEATS * bytes_of_buffers(kernels) / unit;
    double base = most > 0 ? fmin(fewest, most) : fewest;
    return base > 0 ? 1 + (count - fewest) / base : 0;
}

/* Sectors over the fewest that could hold the bytes. */
static double coalescing(json_t *kernels)
{
    return times_fewest(
        kernels, global_sum(kernels, "sectors"), global_sum(kernels, "ideal"), 32);
}

/* Instructions of warps over the fewest, if each of the 32 threads moves 16 bytes. */
static double instructions(json_t *kernels)
{
    double count = sum_of_kinds(kernels, "global", of_warps, "requests");
    double bytes = sum_of_kinds(kernels, "global", of_warps, "bytes");
    return times_fewest(kernels, count, bytes / (32 * 16), 32 * 16);
}

/* Wavefronts over the fewest. The sum over all lines: what conflicts cost, wherever the
 * source has them. */
static double conflicts(json_t *kernels)
{
    double fewest = sum_of_kinds(kernels, "shared", accesses, "ideal");
    double count = sum_of_kinds(kernels, "shared", accesses, "wavefronts");
    return fewest > 0 ? count / fewest : 0;
}

/* Per block, of the kernel with the most */
static double most_barriers(json_t *kernels)
{
    size_t i;
    json_t *kernel;
    double most = 0;
    json_array_foreach(kernels, i, kernel)
        most = fmax(most, number_at(kernel, "barriers") / number_at(kernel, "blocks"));
    return most;
}

/* Loads and stores of a warp on average, of the kernel with the most */
static double most_per_warp(json_t *kernels)
{
    size_t i;
    json_t *kernel;
    double most = 0;
    json_array_foreach(kernels, i, kernel)
    {
        double count = 0;
        for (size_t k = 0; of_warps[k]; k++)
            count += number_at(at(kernel, "global", of_warps[k]), "requests");
        most = fmax(most, count / number_at(kernel, "warps"));
    }
    return most;
}

/* --- the bound ---------------------------------------------------------------------- */

static double counted(const struct bound *b, json_t *kernels, struct worst *w)
{
    switch (b->what) {
    case READS:
        return passes(kernels, b->buffer, true) + copy_of(kernels, b->buffer).passes;
    case WRITES:
        return passes(kernels, b->buffer, false);
    case SECTORS:
        *w = worst_line(kernels, "global", "sectors");
        return coalescing(kernels);
    case REQUESTS:
        return instructions(kernels);
    case CONFLICTS:
        *w = worst_line(kernels, "shared", "wavefronts");
        return conflicts(kernels);
    case LAUNCHES:
        return sum_of(kernels, "launches");
    case FLOAT_ATOMICS:
        return sum_of(kernels, "float_atomics");
    case BARRIERS:
        return most_barriers(kernels);
    case PER_WARP:
        return most_per_warp(kernels);
    case TENSOR:
        return sum_of(kernels, "tensor");
    case NO_BOUND:
        break;
    }
    return 0;
}

/* The values are right, so a kernel has read and written what the bound is about. A copy
 * that no kernel makes is not counted, and is no way to a better structure. */
static bool seen(const struct bound *b, json_t *kernels)
{
    switch (b->what) {
    case READS:
    case WRITES:
        return b->limit < 1 || passes(kernels, b->buffer, b->what == READS) > 0;
    case SECTORS:
    case REQUESTS:
    case PER_WARP:
        return global_sum(kernels, "bytes") > 0;
    default:
        return true;
    }
}

static void
explain_reads(const struct bound *b, double value, json_t *kernels, struct findings *f)
{
    struct copy copy = copy_of(kernels, b->buffer);
    if (copy.name)
        say(f,
            "structure: %s is read %.3g times; reads of %s, which a kernel has written, "
            "are worth another %.3g passes over %s; this case allows %.3g in total",
            b->buffer, value - copy.passes, copy.name, copy.passes, b->buffer, b->limit);
    else
        say(f, "structure: %s is read %.3g times; this case allows at most %.3g",
            b->buffer, value, b->limit);
}

static void
explain(const struct bound *b, double value, json_t *kernels, struct findings *f)
{
    switch (b->what) {
    case READS:
        explain_reads(b, value, kernels, f);
        break;
    case WRITES:
        say(f, "structure: %s is written %.3g times; this case allows at most %.3g",
            b->buffer, value, b->limit);
        break;
    case SECTORS:
        say(f,
            "structure: the accesses to device memory move %.3g times as many sectors of "
            "32 bytes as their data fills; this case allows at most %.3g times",
            value, b->limit);
        break;
    case REQUESTS:
        say(f,
            "structure: the kernels execute %.3g times as many loads and stores as they "
            "would with 16 bytes per thread; this case allows at most %.3g times",
            value, b->limit);
        break;
    case CONFLICTS:
        say(f,
            "structure: bank conflicts multiply the passes of shared memory by %.3g; this "
            "case allows at most %.3g",
            value, b->limit);
        break;
    case LAUNCHES:
        say(f, "structure: %.0f kernel%s; this case allows at most %.0f", value,
            value == 1 ? " is launched" : "s are launched", b->limit);
        break;
    case FLOAT_ATOMICS:
        say(f,
            "structure: %.0f atomic operation%s on floating-point numbers, whose order "
            "changes the sum; this case allows at most %.0f",
            value, value == 1 ? "" : "s", b->limit);
        break;
    case BARRIERS:
        say(f, "structure: a block waits at %.3g barriers; this case allows at most %.0f",
            value, b->limit);
        break;
    case PER_WARP:
        say(f,
            "structure: a warp executes %.0f loads and stores one after the other; this "
            "case allows at most %.0f",
            value, b->limit);
        break;
    case TENSOR:
        say(f,
            "structure: tensor cores execute %.0f multiply-adds; this case asks for at "
            "least %.0f",
            value, b->limit);
        break;
    case NO_BOUND:
        break;
    }
}

static bool holds(const struct bound *b, json_t *kernels, struct findings *f)
{
    struct worst w = {0};
    if (!seen(b, kernels)) {
        say(f, "structure: check mode saw no kernel that %s %s",
            b->what == WRITES ? "writes" : "reads",
            *b->buffer ? b->buffer : "device memory");
        return false;
    }
    double value = counted(b, kernels, &w);
    if (b->what == TENSOR ? value >= b->limit : value <= b->limit) return true;
    explain(b, value, kernels, f);
    if (w.file)
        say(f, "           most of it at %s:%d (%.3g times)", w.file, w.line, w.ratio);
    return false;
}

bool structure_holds(const struct graded_case *g, json_t *report, struct findings *f)
{
    bool all = true;
    for (const struct bound *b = g->bounds; b->what; b++)
        all = holds(b, json_object_get(report, "kernels"), f) && all;
    if (!all) say(f, "           %s", g->catches);
    return all;
}
