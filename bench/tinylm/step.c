/* step.c - training steps on request, for bench/peers_tinylm.py.
 *
 *     build/<backend>/bench/tinylm/step [options of train]
 *
 * Prints a line of JSON that describes the model and its training. Then it answers every
 * line "N" on stdin with N steps: a line of JSON with the wall-clock time of each and the
 * CPU time of all, over all threads.
 */
#include "../../tinylm/tensors.h"
#include "tools.h"

#include <stdlib.h>
#include <time.h>

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void describe(const bench_args *a, const model *m, const model_recipe *r)
{
    const model_shape *s = &m->config.shape;
    printf(
        "{\"machine\": \"%s\", \"preset\": \"%s\", \"arch\": \"%s\", \"dtype\": \"%s\", "
        "\"layers\": %d, \"channels\": %d, \"heads\": %d, \"kv_heads\": %d, "
        "\"hidden\": %d, \"vocab\": %d, \"context\": %d, \"batch\": %d, \"tied\": %s, "
        "\"eps\": %g, \"rope_base\": %g, \"parameters\": %zu, ",
        machine_name(), a->o.preset, model_arch_name(m->config.arch),
        wb_dtype_name(m->config.dtype), s->layers, s->channels, s->heads, s->kv_heads,
        s->hidden, s->vocab, s->context, m->batch, s->tied ? "true" : "false",
        (double)s->eps, (double)s->rope_base, model_elements(&m->config));
    printf(
        "\"accum\": %d, \"dropout\": %g, \"beta1\": %g, \"beta2\": %g, \"adam_eps\": %g, "
        "\"decay\": %g, \"clip\": %g, \"lr\": %g, \"warmup\": %d}\n",
        r->accum, (double)r->dropout, (double)r->beta1, (double)r->beta2,
        (double)r->adam_eps, (double)r->decay, (double)r->clip,
        (double)r->schedule.max_lr, r->schedule.warmup);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static bench_args a;
    static trainer t;
    static model m;
    int steps;
    bench_read_args(&a, argc, argv);
    bench_trainer(&t, &m, &a, &one_rank);
    describe(&a, &m, &t.recipe);
    while (scanf("%d", &steps) == 1) {
        double before = cpu_ms();
        printf("{\"wall_ms\": [");
        for (int i = 0; i < steps; i++)
            printf("%s%.4f", i ? ", " : "", bench_step_ms(&t));
        double cpu = cpu_ms() - before;
        const wb_train *state = trainer_read(&t);
        printf(
            "], \"cpu_ms\": %.4f, \"loss\": %.5f}\n", cpu,
            (double)state->loss / (t.recipe.accum * m.rows));
        fflush(stdout);
    }
    trainer_close(&t);
    model_destroy(&m);
    return 0;
}
