/* weights.c - what the loader made of a model folder, as a file for weights.py to look at.
 *   weights FOLDER auto|f32|bf16|f16 OUT.safetensors
 * OUT holds every matrix as it lies on the device, under the name of its place. */
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

static void add_layer(dump *d, const decoder_config *c, int i, const decoder_layer *y)
{
    size_t C = (size_t)c->C, F = (size_t)c->F, HD = (size_t)c->H * (size_t)c->D;
    size_t Cr = (size_t)c->Cr, H = (size_t)c->H, M = Cr / H;
    add(d, i, "n1", y->n1, 1, C), add(d, i, "n2", y->n2, 1, C);
    add(d, i, "wgu", y->wgu, 2 * F, C), add(d, i, "bgu", y->bgu, 1, 2 * F);
    add(d, i, "wd", y->wd, C, F), add(d, i, "bd", y->bd, 1, C);
    add(d, i, "wo", y->wo, C, y->recurrent ? Cr : HD), add(d, i, "bo", y->bo, 1, C);
    add(d, i, "wqkv", y->wqkv, (size_t)(c->H + 2 * c->K) * (size_t)c->D, C);
    add(d, i, "wxy", y->wxy, 2 * Cr, C), add(d, i, "bxy", y->bxy, 1, 2 * Cr);
    add(d, i, "cw", y->cw, Cr, (size_t)c->taps), add(d, i, "cb", y->cb, 1, Cr);
    add(d, i, "wx", y->wx, H * M, M), add(d, i, "bx", y->bx, 1, Cr);
    add(d, i, "wa", y->wa, H * M, M), add(d, i, "ba", y->ba, 1, Cr);
    add(d, i, "ap", y->ap, 1, Cr);
}

static int write_all(const rg_weights *w, const char *path, wb_error *err)
{
    static const st_dtype as[WB_DTYPES] = {ST_F32, ST_BF16, ST_F16};
    const decoder_config *c = &w->shape;
    dump d = {.dtype = as[c->dtype]};
    d.tensor = calloc((size_t)c->layers * 20 + 3, sizeof *d.tensor);
    add(&d, -1, "emb", w->emb, (size_t)c->table, (size_t)c->C);
    if (w->head != w->emb) add(&d, -1, "head", w->head, (size_t)c->table, (size_t)c->C);
    add(&d, -1, "nf", w->nf, 1, (size_t)c->C);
    for (int i = 0; i < c->layers; i++)
        add_layer(&d, c, i, &w->layer[i]);
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
        printf(
            "%s V %d table %d D %d N %d window %d scale %.7g emb_scale %g softcap %g "
            "parameters %zu %s\n",
            names[w.shape.dtype], w.shape.V, w.shape.table, w.shape.D, w.shape.N,
            w.shape.window, (double)w.shape.scale, (double)w.shape.emb_scale,
            (double)w.shape.softcap, w.parameters, w.head == w.emb ? "tied" : "untied");
        rc = write_all(&w, argv[3], &err);
        rg_weights_free(&w);
    }
    if (rc) fprintf(stderr, "%s\n", err.text);
    return rc ? 1 : 0;
}
