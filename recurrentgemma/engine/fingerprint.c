/* fingerprint.c - rg_fingerprint: which model an engine has. */
#include "engine.h"
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>

// Everything that changes a result besides the weights.
static uint64_t hash_config(const rg_engine *e)
{
    char text[512];
    const model_shape *s = &e->info.shape;
    int n = snprintf(
        text, sizeof text, "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %s %a %a %a",
        (int)e->info.dtype, s->layers, s->channels, s->heads, s->kv_heads, s->head_dim,
        s->rotated, s->hidden, s->vocab, s->recurrent, s->conv_width, s->window,
        s->hf_window, s->scaled, s->blocks, (double)s->eps, (double)s->rope_base,
        (double)s->softcap);
    return hash_words(HASH_START, text, (size_t)n);
}

uint64_t rg_fingerprint(rg_engine *e)
{
    enum { PIECE = 4 << 20 };
    if (e->fingerprint) return e->fingerprint;
    uint64_t h = hash_config(e);
    const rg_weights *w = &e->weights;
    char *piece = malloc(PIECE);
    if (!piece) return 0;
    for (size_t at = 0; at < w->bytes; at += PIECE) {
        size_t n = w->bytes - at < PIECE ? w->bytes - at : PIECE;
        CUDA_CHECK(cudaMemcpy(piece, (char *)w->arena + at, n, cudaMemcpyDeviceToHost));
        h = hash_words(h, piece, n);
    }
    free(piece);
    return e->fingerprint = h ? h : 1;
}
