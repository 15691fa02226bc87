/* gradients.c - one training step's loss and gradients, with all that they came from, to a
 * file: tests/tinylm/gradients.py works them out again in float64.
 *
 *     gradients OUT.safetensors DTYPE LAYERS CHANNELS HEADS KV_HEADS HIDDEN VOCAB CONTEXT
 *               TIED BATCH ACCUM
 */
#include "../../tinylm/model.h"
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 77 };

static void fail(const char *what)
{
    fprintf(stderr, "gradients: %s\n", what);
    exit(1);
}

// Weights far from their start, so that no gradient is small by accident: attention is
// sharp, norms differ from 1.
static float *make_weights(model *m, const model_tensor *all, int count)
{
    float *w = calloc(m->N, sizeof *w);
    if (!w) fail("no memory");
    for (int i = 0; i < count; i++) {
        size_t n = all[i].count;
        for (size_t k = 0; k < n; k++) {
            uint32_t r[4];
            wb_random(r, SEED, (uint32_t)k, (uint32_t)i, 0, 0);
            float u = (float)r[0] * 0x1p-31f - 1;  // -1 .. 1
            w[all[i].offset + k] = all[i].ndim > 1 ? 0.35f * u : 1 + 0.3f * u;
        }
    }
    model_set_weights(m, w);
    return w;
}

int main(int argc, char **argv)
{
    if (argc != 13) fail("12 arguments, see the top of gradients.c");
    int n[13];
    for (int i = 3; i < 13; i++)
        n[i] = atoi(argv[i]);
    model_config c = {
        .layers = n[3],
        .channels = n[4],
        .heads = n[5],
        .kv_heads = n[6],
        .head_dim = n[4] / n[5],
        .hidden = n[7],
        .vocab = n[8],
        .context = n[9],
        .tied = n[10],
        .eps = 1e-5f,
        .gemm_attention = true,
        .rope_base = 10000};
    model m;
    wb_error err;
    int B = n[11], accum = n[12], count;
    if (!model_dtype_parse(argv[2], &c.dtype)) fail("dtype is f32, bf16 or f16");
    if (model_create(&m, &c, B, c.context, accum, MODEL_TRAIN, &err)) fail(err.text);
    model_tensor *all = model_tensors(&c, &count, NULL, NULL);
    float *w = make_weights(&m, all, count);

    size_t tokens = (size_t)accum * m.R;
    int *data = malloc(2 * tokens * sizeof *data);
    for (size_t i = 0; i < 2 * tokens; i++) {
        uint32_t r[4];
        wb_random(r, SEED, (uint32_t)i, 0, 1, 0);
        data[i] = (int)(r[0] % (uint32_t)c.vocab);
    }
    model_upload(&m, m.token, data, tokens * sizeof *data);
    model_upload(&m, m.target, data + tokens, tokens * sizeof *data);
    wb_train start = {.seed = SEED, .loss_scale = c.dtype == MODEL_F16 ? 1024 : 1};
    model_upload(&m, m.train, &start, sizeof start);
    model_recipe recipe = {.accum = accum};
    for (int i = 0; i < accum; i++)
        m.calls->micro(&m, &recipe, i, true);
    float *g = malloc(m.N * sizeof *g);
    wb_train end;
    model_download(&m, g, m.grad, m.N * sizeof *g);
    model_download(&m, &end, m.train, sizeof end);
    float loss = end.loss / (float)tokens;

    st_tensor *out = calloc(2 * (size_t)count + 3, sizeof *out);
    char(*names)[128] = calloc((size_t)count, sizeof *names);
    for (int i = 0; i < count; i++) {
        out[i] = (st_tensor){
            .name = all[i].name,
            .dtype = ST_F32,
            .ndim = all[i].ndim,
            .shape = {all[i].shape[0], all[i].shape[1], all[i].shape[2]},
            .data = w + all[i].offset};
        out[count + i] = out[i];
        snprintf(names[i], sizeof names[i], "grad.%s", all[i].name);
        out[count + i].name = names[i];
        out[count + i].data = g + all[i].offset;
    }
    size_t rows = (size_t)accum * B, T = (size_t)c.context;
    out[2 * count] = (st_tensor){
        .name = "tokens", .dtype = ST_I32, .ndim = 2, .shape = {rows, T}, .data = data};
    out[2 * count + 1] = (st_tensor){
        .name = "targets",
        .dtype = ST_I32,
        .ndim = 2,
        .shape = {rows, T},
        .data = data + tokens};
    out[2 * count + 2] = (st_tensor){.name = "loss", .dtype = ST_F32, .data = &loss};
    // What lies between the tensors (alignment, padded rows of the table) must stay 0.
    for (int i = 0; i < count; i++)
        memset(
            g + all[i].offset, 0,
            all[i].count * sizeof *g);
    for (size_t i = 0; i < m.N; i++)
        if (g[i] != 0) fail("a gradient outside of the weights");
    model_download(&m, g, m.grad, m.N * sizeof *g);
    char scale[32];
    snprintf(scale, sizeof scale, "%g", (double)start.loss_scale);
    const st_pair meta[] = {
        {"dtype", argv[2]},
        {"kv_heads", argv[6]},
        {"heads", argv[5]},
        {"loss_scale", scale}};
    if (st_write(argv[1], out, 2 * (size_t)count + 3, meta, 4, &err)) fail(err.text);
    model_destroy(&m);
    return 0;
}
