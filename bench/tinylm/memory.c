/* memory.c - device memory over the length of a sequence: the caches as allocated, and by
 * the sum of their shapes.
 *
 *     build/<backend>/bench/tinylm/memory --csv FILE [--longest N] [model]
 *
 * cache_bytes is counted by the allocator of decoder.h, formula_bytes is
 * decoder_cache_formula; all_bytes are the caches and the buffers of a step as allocated
 * on the device, and whole_bytes those of generating the same sequence without a cache.
 */
#include "../../tinylm/generator.h"
#include "tools.h"

typedef struct room {
    size_t cache, formula, all;
    int slots;
} room;

static room measure(model *m, int length, bool cache)
{
    generator g;
    wb_error err;
    generator_settings set = {
        .batch = 1,
        .max_new_tokens = length - 1,
        .longest_prompt = 1,
        .cache = cache,
        .top_p = 1,
        .repetition_penalty = 1};
    if (generator_create(&g, m, &set, &err)) bench_stop(err.text);
    const decoder *d = &g.d;
    room r = {
        d->cache_bytes, decoder_cache_formula(&d->config, d->batch, d->slots),
        d->arena_bytes + d->grown_bytes, d->slots};
    generator_destroy(&g);
    return r;
}

int main(int argc, char **argv)
{
    bench_args a;
    model_config c;
    model m;
    wb_error err;
    bench_read_args(&a, argc, argv);
    bench_config(&a, &c);
    c.shape.context = a.longest;
    if (model_create(&m, &c, 1, 1, 1, MODEL_EVALUATE, &err)) bench_stop(err.text);
    FILE *csv = bench_csv(
        a.csv,
        "machine,model,arch,dtype,context,slots,cache_bytes,formula_bytes,all_bytes,"
        "whole_bytes,weight_bytes");
    printf("%s, %s, %s\n", machine_name(), a.o.preset, wb_dtype_name(c.dtype));
    for (int length = 32; length <= a.longest; length *= 2) {
        room with = measure(&m, length, true), without = measure(&m, length, false);
        fprintf(
            csv, "%s,%s,%s,%s,%d,%d,%zu,%zu,%zu,%zu,%zu\n", machine_name(), a.o.preset,
            model_arch_name(c.arch), wb_dtype_name(c.dtype), length, with.slots,
            with.cache, with.formula, with.all, without.all,
            m.parameters * wb_dtype_size(c.dtype));
        printf(
            "%5d tokens: caches %9zu bytes, by formula %9zu; in all %9zu, without a cache "
            "%9zu\n",
            length, with.cache, with.formula, with.all, without.all);
    }
    bench_close(csv, a.csv);
    model_destroy(&m);
    return 0;
}
