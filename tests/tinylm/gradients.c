/* gradients.c - one training step's loss and gradients, with all inputs, to a file:
 * tests/tinylm/gradients.py computes them again in float64.
 *
 *     gradients OUT.safetensors VOCAB [options of `tinylm train` that make a model]
 */
#include "../../tinylm/config_json.h"
#include "../../tinylm/tensors.h"
#include "safetensors.h"
#include "small.h"

enum { SEED = 77 };

// Weights far from their initial values, so that no gradient is small by accident: attention is
// sharp, norms and biases matter, some channels of the recurrence have a long memory.
static float *make_weights(model *m, const model_tensor *all, int count)
{
    float *w = calloc(m->parameters, sizeof *w);
    if (!w) fail("no memory");
    for (int i = 0; i < count; i++) {
        const model_tensor *t = &all[i];
        float middle = t->start == START_ONES ? 1 : t->start == START_RING ? -2 : 0;
        for (size_t k = 0; k < t->count; k++) {
            uint32_t r[4];
            wb_random(r, SEED, (uint32_t)k, (uint32_t)i, 0, 0);
            float u = (float)r[0] * 0x1p-31f - 1;  // -1 .. 1
            w[t->offset + k] = middle + (t->ndim > 1 ? 0.35f : 0.3f) * u;
        }
    }
    model_set_weights(m, w);
    return w;
}

int main(int argc, char **argv)
{
    if (argc < 3) fail("see the top of gradients.c");
    model_recipe recipe;
    model m;
    wb_error err;
    small_model(&m, &recipe, atoi(argv[2]), argc - 3, argv + 3);
    const model_config c = m.config;
    int B = m.batch, accum = recipe.accum, count;
    model_tensor *all = model_tensors(&c, &count, NULL, NULL);
    float *w = make_weights(&m, all, count);

    size_t tokens = (size_t)accum * m.rows;
    int *data = malloc(2 * tokens * sizeof *data);
    for (size_t i = 0; i < 2 * tokens; i++) {
        uint32_t r[4];
        wb_random(r, SEED, (uint32_t)i, 0, 1, 0);
        data[i] = (int)(r[0] % (uint32_t)c.shape.vocab);
    }
    model_upload(&m, m.token, data, tokens * sizeof *data);
    model_upload(&m, m.target, data + tokens, tokens * sizeof *data);
    wb_train start = {.seed = SEED, .loss_scale = recipe.loss_scale};
    model_upload(&m, m.train, &start, sizeof start);
    for (int i = 0; i < accum; i++)
        m.calls->micro(&m, &recipe, i, true);
    float *g = malloc(m.parameters * sizeof *g);
    wb_train end;
    model_download(&m, g, m.grad, m.parameters * sizeof *g);
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
    size_t rows = (size_t)accum * B, T = (size_t)c.shape.context;
    out[2 * count] = (st_tensor){
        .name = "tokens", .dtype = ST_I32, .ndim = 2, .shape = {rows, T}, .data = data};
    out[2 * count + 1] = (st_tensor){
        .name = "targets",
        .dtype = ST_I32,
        .ndim = 2,
        .shape = {rows, T},
        .data = data + tokens};
    out[2 * count + 2] = (st_tensor){.name = "loss", .dtype = ST_F32, .data = &loss};
    // Everything between the tensors (alignment, padded rows of the table) must stay 0.
    for (int i = 0; i < count; i++)
        memset(g + all[i].offset, 0, all[i].count * sizeof *g);
    for (size_t i = 0; i < m.parameters; i++)
        if (g[i] != 0) fail("a gradient outside of the weights");
    model_download(&m, g, m.grad, m.parameters * sizeof *g);
    char scale[32];
    snprintf(scale, sizeof scale, "%g", (double)start.loss_scale);
    json_t *config = config_to_json(&c);
    char *text = json_dumps(config, JSON_COMPACT);
    const st_pair meta[] = {
        {"dtype", wb_dtype_name(c.dtype)}, {"config", text}, {"loss_scale", scale}};
    if (st_write(argv[1], out, 2 * (size_t)count + 3, meta, 3, &err)) fail(err.text);
    model_destroy(&m);
    return 0;
}
