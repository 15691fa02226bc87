/* kv.c - the effect of the KV cache: tokens per second over the length of the sequence,
 * with it and without it.
 *
 *     build/<backend>/bench/tinylm/kv --csv FILE [--runs N] [--longest N] [model]
 *
 * A run with the cache times some steps of one graph near that length; a run without it
 * processes the whole sequence for one token. Weights are random: they do not affect the
 * time.
 */
#include "../../common/progress.h"
#include "../../tinylm/generator.h"
#include "tools.h"

#include <math.h>
#include <stdlib.h>

static model m;
static FILE *csv;
static const bench_args *args;

// Each run generates `tokens`; after all runs the sequence has `length`.
static void curve(bool cache, int length, int tokens)
{
    // until the graphs are recorded
    int warm = tokens < STEPS_PER_GRAPH ? 3 : 2 * STEPS_PER_GRAPH + 1;
    int runs = args->runs, prompt = length - warm - runs * tokens;
    if (prompt < 1) prompt += warm - 3, warm = 3;  // the first run records them then
    generator g;
    wb_error err;
    generator_settings set = {
        .batch = 1,
        .max_new_tokens = length - prompt,
        .longest_prompt = prompt,
        .cache = cache,
        .graph = !args->o.gen.no_graph,
        .top_p = 1,
        .repetition_penalty = 1};
    int *text = calloc((size_t)length, sizeof *text);
    if (!text) bench_stop("no memory");
    for (int i = 0; i < prompt; i++)
        text[i] = i * 7 % BENCH_VOCAB;
    if (generator_create(&g, &m, &set, &err)) bench_stop(err.text);
    const int *const prompts[1] = {text};
    if (generator_start(&g, prompts, &prompt, &args->o.gen.seed, &err))
        bench_stop(err.text);
    generator_decode(&g, warm - 1);  // generator_start samples the first
    double sum = 0, squares = 0;
    for (int run = 0; run < runs; run++) {
        double t = seconds_now();
        generator_decode(&g, tokens);
        t = seconds_now() - t;
        double speed = tokens / t;
        sum += speed, squares += speed * speed;
        fprintf(
            csv, "%s,%s,%s,%s,%d,%d,%d,%.9f,%.3f\n", machine_name(), args->o.preset,
            wb_dtype_name(m.config.dtype), cache ? "cached" : "whole", length, run,
            tokens, t, speed);
    }
    double mean = sum / runs, deviation = sqrt(fmax(0, squares / runs - mean * mean));
    printf(
        "%-8s %5d tokens: %10.1f tokens/s, deviation %.1f\n", cache ? "cached" : "whole",
        length, mean, deviation);
    fflush(stdout);
    generator_destroy(&g);
    free(text);
}

int main(int argc, char **argv)
{
    bench_args a;
    model_config c;
    wb_error err;
    bench_read_args(&a, argc, argv);
    bench_config(&a, &c);
    c.shape.context = a.longest;
    args = &a;
    csv = bench_csv(
        a.csv, "machine,model,dtype,mode,context,run,tokens,seconds,tokens_per_s");
    // for training: only then are there float weights to initialise
    if (model_create(&m, &c, 1, 1, 1, MODEL_TRAIN, &err)) bench_stop(err.text);
    model_initialise(&m, a.o.gen.seed);
    printf("%s, %s, %s\n", machine_name(), a.o.preset, wb_dtype_name(c.dtype));
    for (int length = 32; length <= a.longest; length *= 2) {
        int most = (length - 4) / a.runs;  // tokens of a run
        if (most < 1) continue;            // too many runs for this length
        int tokens = length / 16 < 16 ? length / 16 : 16;
        curve(true, length, tokens < most ? tokens : most);
        curve(false, length, 1);
    }
    bench_close(csv, a.csv);
    model_destroy(&m);
    return 0;
}
