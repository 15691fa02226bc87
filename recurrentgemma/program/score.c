/* score.c - --logits-out: the logits (B,T,V) of every prompt token. Each row of V goes to
 * the file as it is computed, so memory stays bounded however long the prompts are. */
#include "progress.h"
#include "prompts.h"
#include "safetensors.h"
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct sheet {
    atomic_file file;
    size_t begin, T, row_bytes; /* row_bytes: V floats */
    wb_error *err;
} sheet;

static int write_logits(sheet *s, int sequence, size_t at, const float *logits)
{
    size_t offset = s->begin + ((size_t)sequence * s->T + at) * s->row_bytes;
    return atomic_write_at(&s->file, offset, logits, s->row_bytes, s->err);
}

static int keep(void *user, int sequence, int at, const float *logits, int vocab)
{
    (void)vocab;
    return write_logits(user, sequence, (size_t)at, logits);
}

// After the ends of shorter sequences.
static int write_padding(sheet *s, const prompt_batch *p, int vocab, wb_error *err)
{
    float *nan_row = malloc(s->row_bytes);
    if (!nan_row) return error_set(err, "no memory for %d logits", vocab);
    for (int i = 0; i < vocab; i++)
        nan_row[i] = NAN;
    int rc = 0;
    for (int b = 0; b < p->batch; b++)
        for (size_t t = (size_t)p->count[b]; t < s->T && !rc; t++)
            rc = write_logits(s, b, t, nan_row);
    free(nan_row);
    return rc;
}

static int begin(sheet *h, const session *s, const prompt_batch *p, wb_error *err)
{
    const rg_info *i = s->info;
    char window[24];
    snprintf(window, sizeof window, "%d", i->shape.window);
    const st_pair pairs[] = {
        {"model", s->o->gen.model},
        {"dtype", i->dtype == RG_BF16 ? "bf16" : "f32"},
        {"window", window},
        {"keys", i->shape.hf_window ? "window" : "window + 1"},
    };
    const st_tensor logits = {
        .name = "logits",
        .dtype = ST_F32,
        .ndim = 3,
        .shape = {(size_t)p->batch, (size_t)p->longest, (size_t)i->shape.vocab},
    };
    h->T = (size_t)p->longest;
    h->row_bytes = (size_t)i->shape.vocab * sizeof(float);
    return st_begin(
        &h->file, &h->begin, s->o->logits_out, &logits, 1, pairs,
        sizeof pairs / sizeof *pairs, err);
}

int score(session *s, const struct prompt_batch *p, wb_error *err)
{
    sheet h = {.err = err};
    double began = seconds_now();
    int rc = begin(&h, s, p, err);
    if (!rc) rc = rg_score(s->e, (const int *const *)p->ids, p->count, keep, &h, err);
    if (rc >= 0) rc = write_padding(&h, p, s->info->shape.vocab, err);
    if (!rc) rc = atomic_commit(&h.file, err);
    if (rc) atomic_abort(&h.file);
    if (rc) return -1;
    size_t tokens = 0;
    for (int b = 0; b < p->batch; b++)
        tokens += (size_t)p->count[b];
    if (!s->o->gen.quiet)
        fprintf(
            stderr, "logits %s: (%d,%d,%d) f32 of %zu tokens in %.3f s\n",
            s->o->logits_out, p->batch, p->longest, s->info->shape.vocab, tokens,
            seconds_now() - began);
    return 0;
}
