/* scaling.c - training steps of several ranks, for bench/scaling.py.
 *
 *     mpirun -np N build/<backend>/bench/tinylm/scaling [options of train] [--runs S]
 *
 * Rank 0 prints a line of JSON: the median time of a step over rounds of S steps (10),
 * which are enqueued without waiting for each, and the memory of a rank.
 */
#include "../../common/progress.h"
#include "../../tinylm/tensors.h"
#include "tools.h"

#include <stdlib.h>

enum { WARM = 8, ROUNDS = 7 };  // steps that allocate, record the graph, and tune

// All ranks start together and wait for the last.
static double round_ms(trainer *t, const ranks *k, int steps)
{
    ranks_largest(k, 0);
    double start = seconds_now();
    for (int i = 0; i < steps; i++)
        trainer_step(t);
    CUDA_CHECK(cudaStreamSynchronize(t->m->stream));
    ranks_largest(k, 0);
    return 1e3 * (seconds_now() - start) / steps;
}

static void
describe(const bench_args *a, const ranks *k, const model *m, double ms, double loss)
{
    const model_shape *s = &m->config.shape;
    double tokens = (double)a->o.batch * s->context * a->o.accum;
    printf(
        "{\"machine\": \"%s\", \"side\": \"ours\", \"engine\": \"%s\", \"preset\": \"%s\", "
        "\"ranks\": %d, \"batch\": %ld, \"context\": %d, \"layers\": %d, \"channels\": %d, "
        "\"heads\": %d, \"kv_heads\": %d, \"hidden\": %d, \"vocab\": %d, \"tied\": true, "
        "\"eps\": %g, \"rope_base\": %g, \"parameters\": %zu, \"dtype\": \"%s\", "
        "\"dropout\": %g, ",
        machine_name(), k->size > 1 ? ranks_engines(k) : "", a->o.preset, k->size,
        a->o.batch, s->context, s->layers, s->channels, s->heads, s->kv_heads, s->hidden,
        s->vocab, (double)s->eps, (double)s->rope_base, model_elements(&m->config),
        wb_dtype_name(m->config.dtype), a->o.dropout);
    printf(
        "\"reduce\": \"%s\", \"bucket\": %g, \"shard\": %d, \"arena_mb\": %.1f, "
        "\"ms\": %.4f, \"tokens_per_s\": %.0f, \"loss\": %.5f}\n",
        a->o.reduce, a->o.bucket, m->sharded, (double)m->arena_bytes / 1e6, ms,
        1e3 * tokens / ms, loss / tokens);
}

int main(int argc, char **argv)
{
    static bench_args a;
    static trainer t;
    static model m;
    ranks k;
    wb_error err;
    double ms[ROUNDS];
    if (ranks_open(&k, &err)) bench_stop(err.text);
    bench_read_args(&a, argc, argv);
    if (a.o.batch % k.size) bench_stop("--batch: give a multiple of the ranks");
    bench_trainer(&t, &m, &a, &k);
    round_ms(&t, &k, WARM);
    for (int i = 0; i < ROUNDS; i++)
        ms[i] = round_ms(&t, &k, a.runs);
    double loss = ranks_sum(&k, (double)trainer_read(&t)->loss);
    if (!k.rank) describe(&a, &k, &m, bench_median(ms, ROUNDS), loss);
    trainer_close(&t);
    model_destroy(&m);
    ranks_close(&k);
    return 0;
}
