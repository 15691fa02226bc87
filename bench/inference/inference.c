/* inference.c - one sequence, timed on request, for bench/peers_cpu.py:
 *
 *     inference FOLDER f32|bf16 PROMPT STEPS
 *
 * A RecurrentGemma folder runs in the engine, any other one in TinyLM, which takes the
 * folder's own dtype. Token i of the prompt is 7919 i + 13 modulo V. Each line on stdin
 * asks for one run: prefill PROMPT tokens, sample greedily, and take STEPS more steps. The
 * answer is a line of JSON: wall-clock and CPU time of both parts in ms, and the tokens. */
#include "../../tinylm/checkpoint.h"
#include "../../tinylm/generator.h"
#include "griffin/config.h"
#include "progress.h"
#include "recurrentgemma.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct bench {
    int prompt, steps, vocab;
    int *ids;      // (prompt)
    rg_engine *e;  // NULL: TinyLM
    model m;
    generator g;
} bench;

typedef struct moment {
    double wall, cpu;
} moment;

static moment now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (moment){seconds_now(), (double)t.tv_sec + 1e-9 * (double)t.tv_nsec};
}

static void fail(const char *what)
{
    fprintf(stderr, "inference: %s\n", what);
    exit(1);
}

static void make_prompt(bench *b)
{
    b->ids = malloc((size_t)b->prompt * sizeof *b->ids);
    if (!b->ids) fail("no memory");
    for (int i = 0; i < b->prompt; i++)
        b->ids[i] = (int)((7919 * (long)i + 13) % b->vocab);
}

static void open_engine(bench *b, const char *folder, rg_dtype dtype)
{
    wb_error err;
    rg_settings set = rg_defaults();
    set.dtype = dtype;
    set.context = b->prompt + b->steps + 1;
    set.chunk = b->prompt;
    set.max_new_tokens = b->steps + 1;
    set.stop_count = 0;
    b->e = rg_open(folder, &set, &err);
    if (!b->e) fail(err.text);
    b->vocab = rg_describe(b->e)->shape.vocab;
}

static void open_tinylm(bench *b, const char *folder)
{
    wb_error err;
    model_config c;
    const generator_settings set = {
        .batch = 1,
        .max_new_tokens = b->steps + 1,
        .longest_prompt = b->prompt,
        .cache = true,
        .graph = true,
        .top_p = 1,
        .repetition_penalty = 1};
    if (checkpoint_config(&c, folder, &err) ||
        model_create(&b->m, &c, 1, 1, 1, MODEL_EVALUATE, &err) ||
        checkpoint_load(&b->m, folder, &err) ||
        generator_create(&b->g, &b->m, &set, &err))
        fail(err.text);
    b->vocab = c.shape.vocab;
}

static int prefill(bench *b, wb_error *err)
{
    const int *const ids[1] = {b->ids};
    const uint64_t seed = 1;
    if (!b->e) return generator_start(&b->g, ids, &b->prompt, &seed, err);
    rg_reset(b->e, 0, seed);
    return rg_prefill(b->e, ids, &b->prompt, err);
}

static void decode(bench *b)
{
    wb_error err;
    if (!b->e)
        generator_decode(&b->g, b->steps);
    else if (b->steps && rg_step(b->e, b->steps, &err) < 0)
        fail(err.text);
}

static void run_once(bench *b)
{
    wb_error err;
    moment start = now();
    if (prefill(b, &err) < 0) fail(err.text);
    moment middle = now();
    decode(b);
    moment end = now();
    printf(
        "{\"prefill_wall\":%.4f,\"prefill_cpu\":%.4f,\"steps_wall\":%.4f,"
        "\"steps_cpu\":%.4f,\"tokens\":[",
        1e3 * (middle.wall - start.wall), 1e3 * (middle.cpu - start.cpu),
        1e3 * (end.wall - middle.wall), 1e3 * (end.cpu - middle.cpu));
    const int *tokens = b->e ? rg_tokens(b->e, 0) : b->g.tokens[0] + b->prompt;
    for (int i = 0; i <= b->steps; i++)
        printf("%s%d", i ? "," : "", tokens[i]);
    printf("]}\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench b = {0};
    griffin_config c;
    wb_error err;
    char line[64];
    if (argc != 5) fail("usage: inference FOLDER f32|bf16 PROMPT STEPS");
    b.prompt = atoi(argv[3]), b.steps = atoi(argv[4]);
    if (b.prompt < 1 || b.steps < 0) fail("PROMPT is at least 1, STEPS at least 0");
    if (griffin_config_read(&c, argv[1], &err) == 0)
        open_engine(&b, argv[1], strcmp(argv[2], "f32") == 0 ? RG_F32 : RG_BF16);
    else
        open_tinylm(&b, argv[1]);
    make_prompt(&b);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin))
        run_once(&b);
    return 0;
}
