/* weights.c - what the loader made of a model folder, as a file for loading.py to check.
 *   weights FOLDER auto|f32|bf16|f16 OUT.safetensors
 * OUT has every matrix as it is on the device, under the name of its slot. */
#include "../../recurrentgemma/engine/weights.h"
#include "safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct dump {
    st_tensor *tensor;
    size_t count;
    st_dtype dtype;
    cudaStream_t stream;
} dump;

static void add(dump *d, int layer, const char *name, const void *p, size_t r, size_t c)
{
    if (!p) return;
    char *full = malloc(64);
    size_t bytes = r * c * st_dtype_size(d->dtype);
    void *host = malloc(bytes);
    snprintf(full, 64, layer < 0 ? "%.0d%s" : "%d.%s", layer < 0 ? 0 : layer, name);
    CUDA_CHECK(cudaMemcpy(host, p, bytes, cudaMemcpyDeviceToHost));
    if ((uintptr_t)p % 256) printf("%s is not aligned\n", full), exit(1);
    d->tensor[d->count++] = (st_tensor){
        .name = full, .dtype = d->dtype, .ndim = 2, .shape = {r, c}, .data = host};
}

static void add_layer(dump *d, const model_shape *s, int i, const layer_weights *w)
{
    size_t C = (size_t)s->channels, F = (size_t)s->hidden, Cr = (size_t)s->recurrent;
    size_t H = (size_t)s->heads, K = (size_t)s->kv_heads, D = (size_t)s->head_dim;
    size_t M = Cr / H, branch = shape_is_recurrent(s, i) ? Cr : H * D;
    add(d, i, "norm1", w->norm1, 1, C), add(d, i, "norm2", w->norm2, 1, C);
    add(d, i, "gate_up", w->gate_up, 2 * F, C);
    add(d, i, "gate_up_bias", w->gate_up_bias, 1, 2 * F);
    add(d, i, "down", w->down, C, F), add(d, i, "down_bias", w->down_bias, 1, C);
    add(d, i, "out", w->out, C, branch), add(d, i, "out_bias", w->out_bias, 1, C);
    add(d, i, "qkv", w->qkv, (H + 2 * K) * D, C);
    add(d, i, "xy", w->xy, 2 * Cr, C), add(d, i, "xy_bias", w->xy_bias, 1, 2 * Cr);
    add(d, i, "conv", w->conv, Cr, (size_t)s->conv_width);
    add(d, i, "conv_bias", w->conv_bias, 1, Cr);
    add(d, i, "gate_x", w->gate_x, H * M, M);
    add(d, i, "gate_x_bias", w->gate_x_bias, 1, Cr);
    add(d, i, "gate_a", w->gate_a, H * M, M);
    add(d, i, "gate_a_bias", w->gate_a_bias, 1, Cr);
    add(d, i, "a_param", w->a_param, 1, Cr);
}

static int write_all(const rg_weights *w, const char *path, wb_error *err)
{
    static const st_dtype as[WB_DTYPES] = {ST_F32, ST_BF16, ST_F16};
    const decoder_config *c = &w->config;
    size_t table = (size_t)c->padded_vocab, C = (size_t)c->shape.channels;
    dump d = {.dtype = as[c->dtype]};
    d.tensor = calloc((size_t)c->shape.layers * 20 + 3, sizeof *d.tensor);
    add(&d, -1, "embedding", w->at.embedding, table, C);
    if (w->at.head != w->at.embedding) add(&d, -1, "head", w->at.head, table, C);
    add(&d, -1, "final_norm", w->at.final_norm, 1, C);
    for (int i = 0; i < c->shape.layers; i++)
        add_layer(&d, &c->shape, i, &w->at.layer[i]);
    int rc = st_write(path, d.tensor, d.count, NULL, 0, err);
    for (size_t i = 0; i < d.count; i++)
        free((void *)d.tensor[i].name), free((void *)d.tensor[i].data);
    free(d.tensor);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const names[WB_DTYPES] = {"f32", "bf16", "f16"};
    griffin_config c;
    rg_weights w;
    wb_error err;
    wb_dtype dtype = WB_F32;
    if (argc != 4) return 2;
    for (int i = 0; i < WB_DTYPES; i++)
        if (strcmp(argv[2], names[i]) == 0) dtype = (wb_dtype)i;
    int rc = griffin_config_read(&c, argv[1], &err);
    if (!rc)
        rc = rg_weights_load(
            &w, &c, argv[1], strcmp(argv[2], "auto") == 0, dtype, NULL, &err);
    if (!rc) {
        const decoder_config *d = &w.config;
        printf(
            "%s V %d table %d D %d N %d window %d scale %.7g emb_scale %g softcap %g "
            "parameters %zu %s\n",
            names[d->dtype], d->shape.vocab, d->padded_vocab, d->shape.head_dim,
            d->shape.rotated, d->window, (double)d->score_scale,
            (double)d->embedding_scale, (double)d->shape.softcap, w.parameters,
            w.at.head == w.at.embedding ? "tied" : "untied");
        rc = write_all(&w, argv[3], &err);
        rg_weights_free(&w);
    }
    if (rc) fprintf(stderr, "%s\n", err.text);
    return rc ? 1 : 0;
}
