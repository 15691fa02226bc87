/* logits.c - the logits of a checkpoint at every position of a text, to a file:
 *
 *     logits CHECKPOINT TEXT OUT.safetensors [hf-window]
 *
 *     tokens (T)      the text, at most the model's context of it
 *     logits (T,V)    of one pass over all of it, after the soft cap
 *     cached (T,V)    of T passes over one token each, with keys and values kept
 */
#include "../../tinylm/checkpoint.h"
#include "../../tinylm/generator.h"
#include "safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what)
{
    fprintf(stderr, "logits: %s\n", what);
    exit(1);
}

static float to_float(const void *p, size_t i, wb_dtype dtype)
{
    if (dtype == WB_F32) return ((const float *)p)[i];
    if (dtype != WB_BF16) fail("f16 is not supported");
    uint32_t bits = (uint32_t)((const uint16_t *)p)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float capped(float z, float cap)
{
    return cap > 0 ? cap * tanhf(z / cap) : z;
}

static float *all_at_once(model_config *c, const char *folder, const int *ids, int T)
{
    model m;
    wb_error err;
    if (model_create(&m, c, 1, T, 1, MODEL_EVALUATE, &err)) fail(err.text);
    if (checkpoint_load(&m, folder, &err)) fail(err.text);
    model_upload(&m, m.token, ids, (size_t)T * sizeof *ids);
    model_upload(&m, m.target, ids, (size_t)T * sizeof *ids);
    m.calls->evaluate(&m);
    size_t n = (size_t)T * m.padded_vocab;
    void *raw = malloc(n * 4);
    float *out = malloc(n * sizeof *out);
    model_download(&m, raw, m.logits, n * wb_dtype_size(c->dtype));
    for (int t = 0; t < T; t++)
        for (int v = 0; v < c->shape.vocab; v++)
            out[(size_t)t * c->shape.vocab + v] = capped(
                to_float(raw, (size_t)t * m.padded_vocab + v, c->dtype),
                c->shape.softcap);
    model_destroy(&m);
    free(raw);
    return out;
}

static float *one_by_one(model_config *c, const char *folder, const int *ids, int T)
{
    model m;
    generator g;
    wb_error err;
    const generator_settings set = {
        .batch = 1,
        .max_new_tokens = T,
        .longest_prompt = 1,
        .cache = true,
        .top_p = 1,
        .repetition_penalty = 1};
    const int length = 1;
    const uint64_t seed = 1;
    if (model_create(&m, c, 1, 1, 1, MODEL_EVALUATE, &err)) fail(err.text);
    if (checkpoint_load(&m, folder, &err)) fail(err.text);
    if (generator_create(&g, &m, &set, &err)) fail(err.text);
    size_t row = (size_t)c->shape.vocab * sizeof(float);
    float *out = malloc((size_t)T * row);
    for (int t = 0; t < T; t++) {
        if (t == 0) {
            if (generator_start(&g, &ids, &length, &seed, &err)) fail(err.text);
        } else {  // not the token that it sampled
            decoder_set_tokens(&g.d, &ids[t]);
            decoder_steps(&g.d, 1);
        }
        model_download(&m, out + (size_t)t * c->shape.vocab, g.d.logits, row);
    }
    for (size_t i = 0; i < (size_t)T * c->shape.vocab; i++)
        out[i] = capped(out[i], c->shape.softcap);
    generator_destroy(&g);
    model_destroy(&m);
    return out;
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 5)
        fail("usage: logits CHECKPOINT TEXT OUT.safetensors [hf-window]");
    model_config c;
    tokenizer t;
    wb_error err;
    size_t n;
    if (checkpoint_config(&c, argv[1], &err) || tokenizer_load(&t, argv[1], &err))
        fail(err.text);
    if (argc == 5) c.shape.hf_window = true;
    int *ids = tokenizer_encode(&t, argv[2], strlen(argv[2]), "TEXT", &n, &err);
    if (!ids) fail(err.text);
    int T = n < (size_t)c.shape.context ? (int)n : c.shape.context;
    float *once = all_at_once(&c, argv[1], ids, T),
          *cached = one_by_one(&c, argv[1], ids, T);
    size_t V = (size_t)c.shape.vocab;
    const st_tensor out[] = {
        {.name = "tokens", .dtype = ST_I32, .ndim = 1, .shape = {(size_t)T}, .data = ids},
        {.name = "logits",
         .dtype = ST_F32,
         .ndim = 2,
         .shape = {(size_t)T, V},
         .data = once},
        {.name = "cached",
         .dtype = ST_F32,
         .ndim = 2,
         .shape = {(size_t)T, V},
         .data = cached},
    };
    const st_pair meta[] = {{"text", argv[2]}, {"dtype", wb_dtype_name(c.dtype)}};
    if (st_write(argv[3], out, 3, meta, 2, &err)) fail(err.text);
    tokenizer_free(&t);
    free(ids), free(once), free(cached);
    return 0;
}
