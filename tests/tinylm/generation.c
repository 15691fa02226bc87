/* generation.c - sequences token by token, against the same sequences in one pass. TAP on
 * stdout.
 *
 * Both architectures in every type, from random weights large enough that earlier tokens change
 * the logits: no trained model is needed. Logits are compared along a given sequence, greedy
 * sequences to their ends; in 16 bits until two tokens tie.
 */
#include "../../tinylm/generator.h"
#include "../../tinylm/tensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCAB = 50, CONTEXT = 24, LONG = 61, SEED = 4711 };

static int text[LONG], failed;
static const char *who; /* architecture and type, for the lines */

static void report(bool ok, const char *what)
{
    printf("%s - %s: %s\n", ok ? "ok" : "not ok", who, what);
    if (!ok) failed = 1;
}

static void stop(const wb_error *err)
{
    fprintf(stderr, "generation: %s\n", err->text);
    exit(1);
}

static const model_config llama = {
    .arch = MODEL_LLAMA,
    .shape = {
        .layers = 2,
        .channels = 32,
        .heads = 2,
        .kv_heads = 1,
        .head_dim = 16,
        .rotated = 16,
        .hidden = 40,
        .vocab = VOCAB,
        .context = CONTEXT,
        .eps = 1e-5f,
        .rope_base = 10000,
        .tied = true,
    }};
static const model_config griffin = {
    .arch = MODEL_GRIFFIN,
    .shape = {
        .layers = 4,
        .channels = 48,
        .heads = 3,
        .kv_heads = 1,
        .head_dim = 16,
        .rotated = 8,
        .hidden = 40,
        .vocab = VOCAB,
        .context = CONTEXT,
        .eps = 1e-6f,
        .rope_base = 10000,
        .tied = true,
        .blocks = "rra",
        .recurrent = 48,
        .conv_width = 4,
        .window = 7,
        .scaled = true,
        .softcap = 30,
    }};

static void open_model(model *m, const model_config *c)
{
    wb_error err;
    int count;
    if (model_create(m, c, 1, 1, 1, MODEL_TRAIN, &err)) stop(&err);
    model_initialise(m, SEED);
    float *w = malloc(m->parameters * sizeof *w);
    model_tensor *all = model_tensors(c, &count, NULL, NULL);
    if (!w) exit(1);
    model_download(m, w, m->master ? m->master : m->param, m->parameters * sizeof *w);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < all[i].count && all[i].ndim > 1; k++) {
            uint32_t r[4];
            wb_random(r, SEED, (uint32_t)k, (uint32_t)i, 0, 0);
            w[all[i].offset + k] = 0.35f * ((float)r[0] * 0x1p-31f - 1);
        }
    model_set_weights(m, w);
    free(w);
    free(all);
}

static generator_settings greedy(int longest, int tokens)
{
    return (generator_settings){
        .batch = 1,
        .max_new_tokens = tokens,
        .longest_prompt = longest,
        .cache = true,
        .graph = true,
        .top_p = 1,
        .repetition_penalty = 1};
}

static void open_generator(generator *g, model *m, generator_settings set)
{
    wb_error err;
    if (generator_create(g, m, &set, &err)) stop(&err);
}

static void start(generator *g, const int *from, int length, uint64_t seed)
{
    wb_error err;
    if (generator_start(g, &from, &length, &seed, &err)) stop(&err);
}

// A sequence from `text`'s first tokens, into out; also the last logits.
static void
write_text(model *m, generator_settings set, int prompt, int *out, float *logits)
{
    generator g;
    open_generator(&g, m, set);
    start(&g, text, prompt, SEED);
    generator_decode(&g, set.max_new_tokens / 2);  // in two parts
    generator_decode(&g, set.max_new_tokens);
    memcpy(out, g.tokens[0], (size_t)(prompt + set.max_new_tokens) * sizeof *out);
    if (logits) model_download(m, logits, g.d.logits, VOCAB * sizeof *logits);
    generator_destroy(&g);
}

/* --- the checks --------------------------------------------------------------------- */

// Along a given sequence: logits of single steps against those of one pass from the start.
static void along_a_text(model *m, int length, double tolerance)
{
    static float stepped[LONG][VOCAB], whole[LONG][VOCAB];
    generator g, again;
    open_generator(&g, m, greedy(1, length));
    open_generator(&again, m, greedy(length, 1));
    double worst = 0, largest = 0;
    int at = 0;
    for (int t = 0; t < length; t++) {
        if (t == 0) {
            start(&g, text, 1, SEED);
        } else {
            decoder_set_tokens(&g.d, &text[t]);
            decoder_steps(&g.d, 1);
        }
        model_download(m, stepped[t], g.d.logits, sizeof *stepped);
        start(&again, text, t + 1, SEED);
        model_download(m, whole[t], again.d.logits, sizeof *whole);
        for (int v = 0; v < VOCAB; v++) {
            double off = fabs((double)stepped[t][v] - whole[t][v]);
            largest = fmax(largest, fabs((double)whole[t][v]));
            if (!(off <= worst)) worst = off, at = t;
        }
    }
    char what[200];
    snprintf(
        what, sizeof what,
        "logits of steps as of one pass, at %d positions: off by %.1e of the largest "
        "(token %d), tolerance %g",
        length, worst / largest, at, tolerance);
    report(worst <= tolerance * largest && largest > 1, what);
    generator_destroy(&g);
    generator_destroy(&again);
}

static void graph_as_calls(model *m)
{
    int a[LONG + 50], b[LONG + 50];
    float x[VOCAB], y[VOCAB];
    generator_settings set = greedy(5, 50);
    set.temperature = 1.3f, set.top_k = 20, set.top_p = 0.95f,
    set.repetition_penalty = 1.2f;
    write_text(m, set, 5, a, x);
    set.graph = false;
    write_text(m, set, 5, b, y);
    report(
        memcmp(a, b, 55 * sizeof *a) == 0 && memcmp(x, y, sizeof x) == 0,
        "50 sampled tokens: a graph gives the bits of single launches");
}

// With a learner's norm and activation, which are kernels of their own.
static void separate_as_fused(model *m, double tolerance)
{
    static float of[2][VOCAB];
    double off = 0, largest = 0;
    char what[200];
    for (int apart = 0; apart < 2; apart++) {
        generator g;
        open_generator(&g, m, greedy(CONTEXT, 2));
        g.d.fused = !apart;
        start(&g, text, m->config.shape.context - 1, SEED);
        decoder_set_tokens(&g.d, &text[40]);  // whatever was sampled
        decoder_steps(&g.d, 1);
        model_download(m, of[apart], g.d.logits, sizeof *of);
        generator_destroy(&g);
    }
    for (int v = 0; v < VOCAB; v++) {
        off = fmax(off, fabs((double)of[0][v] - of[1][v]));
        largest = fmax(largest, fabs((double)of[0][v]));
    }
    snprintf(
        what, sizeof what,
        "norm and activation as separate kernels: off by %.1e of the largest, tolerance "
        "%g",
        off / largest, tolerance);
    report(off <= tolerance * largest && largest > 1, what);
}

static void cached_as_whole(model *m)
{
    static int a[2 * LONG + 100], b[2 * LONG + 100];
    for (int prompt = 1; prompt <= LONG; prompt += prompt == 1 ? CONTEXT - 1 : 37) {
        char what[200];
        generator_settings set = greedy(prompt, 60);
        set.repetition_penalty =
            3;  // else a random model with a tied table repeats itself
        write_text(m, set, prompt, a, NULL);
        set.cache = false;
        write_text(m, set, prompt, b, NULL);
        int same = 0, seen[VOCAB] = {0}, kinds = 0;
        while (same < prompt + 60 && a[same] == b[same])
            same++;
        for (int i = prompt; i < prompt + 60; i++)
            kinds += !seen[a[i]]++;
        snprintf(
            what, sizeof what,
            "60 most likely tokens after %d, with caches as without: %d of them equal, %d "
            "different ones",
            prompt, same - prompt, kinds);
        report(same == prompt + 60 && kinds > 1, what);
    }
}

// In 16 bits the two most likely tokens may tie. Where the sequences differ, they must.
static void cached_as_whole_until_ties(model *m, int tokens, double tolerance)
{
    int a[LONG + 1], b[LONG + 1], same = 1;
    float z[VOCAB];
    double largest = 0, apart = 0;
    generator_settings set = greedy(1, tokens);
    set.repetition_penalty = 3;
    write_text(m, set, 1, a, NULL);
    set.cache = false;
    write_text(m, set, 1, b, NULL);
    while (same < tokens + 1 && a[same] == b[same])
        same++;
    if (same < tokens + 1) {
        generator g;
        open_generator(&g, m, greedy(same, 1));
        start(&g, a, same, SEED);
        model_download(m, z, g.d.logits, sizeof z);
        generator_destroy(&g);
        for (int v = 0; v < VOCAB; v++) {
            bool seen = false;
            largest = fmax(largest, fabs((double)z[v]));
            for (int i = 0; i < same; i++)
                seen |= a[i] == v;
            if (seen)
                z[v] = z[v] > 0 ? z[v] / set.repetition_penalty
                                : z[v] * set.repetition_penalty;
        }
        apart = fabs((double)z[a[same]] - z[b[same]]) / largest;
    }
    char what[200];
    snprintf(
        what, sizeof what,
        "the most likely tokens, with caches as without: %d of %d equal%s, %.1e apart",
        same - 1, tokens, same <= tokens ? ", then two that tie" : "", apart);
    report(apart <= tolerance && same > 3, what);
}

static void batch_as_alone(model *m)
{
    enum { B = 3, N = 40 };
    const int length[B] = {1, LONG, 9};
    const int *const prompt[B] = {text, text, text + 20};
    const uint64_t seed[B] = {5, 6, 7};
    generator_settings set = greedy(LONG, N);
    set.temperature = 1, set.repetition_penalty = 1.1f, set.batch = B;
    generator all, one;
    wb_error err;
    bool ok = true;
    open_generator(&all, m, set);
    if (generator_start(&all, prompt, length, seed, &err)) stop(&err);
    generator_decode(&all, N);
    set.batch = 1;
    open_generator(&one, m, set);
    for (int b = 0; b < B; b++) {  // the same generator again and again
        start(&one, prompt[b], length[b], seed[b]);
        generator_decode(&one, N);
        ok &=
            one.count[0] == length[b] + N && all.count[b] == one.count[0] &&
            !memcmp(one.tokens[0], all.tokens[b], (size_t)(length[b] + N) * sizeof(int));
    }
    report(ok, "a batch of three, prompts of 1, 61 and 9 tokens: each as alone");
    report(
        memcmp(all.tokens[0] + 1, all.tokens[2] + 9, N * sizeof(int)) != 0,
        "and not all the same");
    size_t formula = decoder_cache_formula(&one.d.config, 1, one.d.slots);
    report(
        one.d.cache_bytes >= formula &&
            one.d.cache_bytes < formula + 256 * 3 * (size_t)m->config.shape.layers,
        "the caches take what the formula says");
    generator_destroy(&all);
    generator_destroy(&one);
}

// Whether one of n tokens is this one.
static bool among(const int *tokens, int n, int token)
{
    for (int i = 0; i < n; i++)
        if (tokens[i] == token) return true;
    return false;
}

// The second sequence ends with a stop token; the first one continues as without it,
// beyond the context too, where it slides.
static void stops(model *m)
{
    enum { N = 60, END = 5 };
    const int length[] = {1, 12};
    const int *const prompt[] = {text, text + 20};
    const uint64_t seed[] = {5, 6};
    generator_settings set = greedy(12, N);
    set.temperature = 1, set.batch = 2;
    generator whole;
    wb_error err;
    open_generator(&whole, m, set);
    if (generator_start(&whole, prompt, length, seed, &err)) stop(&err);
    generator_decode(&whole, N);
    int *first = whole.tokens[0], *second = whole.tokens[1] + 12, end = END;
    while (end < N &&
           (among(first + 1, N, second[end]) || among(second, end, second[end])))
        end++;
    for (int cache = 1; cache >= 0 && end < N; cache--) {
        generator g;
        set.cache = cache, set.stop = &second[end], set.stop_count = 1;
        open_generator(&g, m, set);
        if (generator_start(&g, prompt, length, seed, &err)) stop(&err);
        generator_decode(&g, 7), generator_decode(&g, N);
        report(
            g.count[0] == 1 + N && g.count[1] == 12 + end + 1 && g.continuing == 1 &&
                !memcmp(g.tokens[0], first, (1 + N) * sizeof(int)) &&
                !memcmp(g.tokens[1] + 12, second, (size_t)(end + 1) * sizeof(int)),
            cache ? "a stop token ends its sequence, the other continues"
                  : "the same without a cache");
        generator_destroy(&g);
    }
    if (end == N) report(false, "no token is only in the second sequence");
    generator_destroy(&whole);
}

static void check(const model_config *as, wb_dtype dtype, const char *name)
{
    static const double tolerance[] = {
        [WB_F32] = 2e-5, [WB_BF16] = 0.06, [WB_F16] = 0.008};
    char line[60];
    model m;
    model_config c = *as;
    c.dtype = dtype;
    open_model(&m, &c);
    snprintf(line, sizeof line, "%s %s", name, wb_dtype_name(dtype));
    who = line;
    along_a_text(&m, c.arch == MODEL_LLAMA ? c.shape.context : LONG, tolerance[dtype]);
    if (c.shape.context > 1) separate_as_fused(&m, tolerance[dtype]);
    graph_as_calls(&m);
    if (dtype == WB_F32) {
        cached_as_whole(&m);
        batch_as_alone(&m);
        stops(&m);
    } else {
        int most = c.arch == MODEL_LLAMA ? c.shape.context : LONG;
        cached_as_whole_until_ties(&m, most - 1, tolerance[dtype]);
    }
    model_destroy(&m);
}

int main(void)
{
    for (int i = 0; i < LONG; i++) {
        uint32_t r[4];
        wb_random(r, SEED, (uint32_t)i, 0, 0, 1);
        text[i] = (int)(r[0] % VOCAB);
    }
    for (int dtype = 0; dtype < WB_DTYPES; dtype++) {
        check(&llama, (wb_dtype)dtype, "llama");
        check(&griffin, (wb_dtype)dtype, "griffin");
    }
    model_config narrow = llama;  // heads that labs 05 and 07 take only when padded
    narrow.shape.heads = 4, narrow.shape.kv_heads = 2, narrow.shape.head_dim = 6;
    narrow.shape.rotated = 6;
    narrow.gemm_attention = true;
    check(&narrow, WB_F32, "llama, heads of 6 channels,");
    model_config one = llama;
    one.shape.context = 1;
    check(&one, WB_F32, "llama, context of 1,");
    return failed;
}
