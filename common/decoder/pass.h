/* pass.h - reading prompts and writing tokens, for each element type: included by
 * pass_f32.c, pass_bf16.c and pass_f16.c, which say what E and OP are.
 *
 * Two ways through the same layers. Many rows: matrix products, and lab 05's attention or
 * lab 06's scan, which leave keys, values and states behind. One row a text: linear_step,
 * lab 07's attention_decode or lab 06's rglru_step, which go on from there.
 */
#include "attention.h"
#include "decoder.h"
#include "kvcache.h"
#include "rglru.h"
#include "rmsnorm.h"
#include "rope.h"
#include "swiglu.h"

#define CK WB_CHECK

static void at_least(size_t *bytes, size_t want)
{
    if (*bytes < want) *bytes = want;
}

// Channels that a layer's last product `wo` reads.
static int branch_width(const decoder_config *c, const decoder_layer *y)
{
    return y->recurrent ? c->Cr : c->H * c->D;
}

// Tokens before its own that attention sees: a ring has a slot even where that is none.
static int sees(const decoder *d)
{
    return d->config.window < d->S ? d->config.window : d->S;
}

static void activation(const decoder *d, const E *gu, int R)
{
    int F = d->config.F;
    if (d->config.act == WB_GEGLU)
        CK(OP(geglu_forward)(d->s, gu, gu + F, R, F, 2 * F, d->stream));
    else
        CK(OP(swiglu_forward)(d->s, gu, gu + F, R, F, 2 * F, d->stream));
}

static void norm(const decoder *d, const E *x, const E *w, int R)
{
    const decoder_config *c = &d->config;
    CK(OP(rmsnorm_forward)(d->u, NULL, x, w, R, c->C, c->eps, c->offset, d->stream));
}

/* --- reading ------------------------------------------------------------------------ */

/* What a branch gave, in u, joins the residual stream, and u becomes the norm of that: one
 * pass over memory. (A product that adds to the stream itself is slower: matrix units have
 * no kernel that does and rounds once.) */
static void add_and_norm(const decoder *d, const E *w, int R)
{
    const decoder_config *c = &d->config;
    CK(OP(rmsnorm_residual_forward)(
        d->u, d->x, NULL, d->u, d->x, w, R, c->C, c->eps, c->offset, d->stream));
}

static void read_attention(decoder *d, const decoder_layer *y, int T, bool fresh)
{
    const decoder_config *c = &d->config;
    int B = d->B, S = d->S, H = c->H, K = c->K, D = c->D, W = d->W;
    E *q = d->qkv, *key = q + H * D, *value = key + K * D;
    CK(OP(matmul_forward)(
        q, d->u, y->wqkv, NULL, NULL, B * T, c->C, W, d->blas, d->stream));
    CK(OP(rope_forward)(q, q, d->cis, d->pos, B, T, H + K, D, c->N, W, d->stream));
    if (fresh) {  // all keys are in this chunk: read where they are
        CK(OP(attention_forward)(
            d->att, NULL, q, key, value, d->pos, B, T, T, H, K, D, W, W, sees(d),
            c->scale, d->ws, d->ws_bytes, d->stream));
    } else {
        CK(OP(kv_unroll)(
            d->all_k, d->all_v, y->keys, y->values, key, value, d->pos, B, T, S, K, D, W,
            d->stream));
        CK(OP(attention_forward)(
            d->att, NULL, q, d->all_k, d->all_v, d->pos, B, T, S + T, H, K, D, W, K * D,
            sees(d), c->scale, d->ws, d->ws_bytes, d->stream));
    }
    CK(OP(kv_append)(
        y->keys, y->values, key, value, d->pos, d->len, B, T, S, K, D, W, d->stream));
}

static void read_recurrent(decoder *d, const decoder_layer *y, int T)
{
    const decoder_config *c = &d->config;
    int B = d->B, Cr = c->Cr, R = B * T;
    E *xy = d->xy;
    CK(OP(matmul_forward)(
        xy, d->u, y->wxy, y->bxy, NULL, R, c->C, 2 * Cr, d->blas, d->stream));
    CK(OP(conv1d_forward)(
        d->c, y->conv, xy, y->cw, y->cb, d->pos, d->len, B, T, Cr, c->taps, 2 * Cr,
        d->stream));
    CK(OP(block_linear_forward)(
        d->px, d->pa, d->c, y->wx, y->bx, y->wa, y->ba, R, c->H, Cr / c->H, d->stream));
    CK(OP(rglru_forward)(
        d->h, NULL, y->state, d->c, d->px, d->pa, xy + Cr, y->ap, d->pos, d->len, B, T,
        Cr, 2 * Cr, d->ws, d->ws_bytes, d->stream));
}

// From u to u.
static void read_mlp(decoder *d, const decoder_layer *y, int R)
{
    int C = d->config.C, F = d->config.F;
    CK(OP(matmul_forward)(
        d->gu, d->u, y->wgu, y->bgu, NULL, R, C, 2 * F, d->blas, d->stream));
    activation(d, d->gu, R);
    CK(OP(matmul_forward)(d->u, d->s, y->wd, y->bd, NULL, R, F, C, d->blas, d->stream));
}

static void seen_by_watch(decoder *d, int layer, const void *x, int T)
{
    if (d->watch) d->watch(d->watch_user, d, layer, x, T);
}

// What of a reading a text goes on from: of the last layer only the temporal block is
// needed of all rows, for its states; what follows only of each text's last token, in
// pass_finish.
static void keep_ends(decoder *d, const decoder_layer *y, const E *branch)
{
    const decoder_config *c = &d->config;
    CK(OP(gather_rows)(d->end, d->x, d->last, d->B, c->C, d->stream));
    if (branch)
        CK(OP(gather_rows)(
            d->end_branch, branch, d->last, d->B, branch_width(c, y), d->stream));
}

static void pass_read(decoder *d, int t0, int T, bool fresh, bool every_row)
{
    const decoder_config *c = &d->config;
    int R = d->B * T;
    CK(prompt_chunk(
        d->tok, d->pos, d->len, d->last, NULL, d->prompt, d->n, d->base, d->B, T, d->P,
        c->V, t0, d->stream));
    CK(OP(embedding_forward)(
        d->x, d->weights.emb, d->tok, R, c->C, c->table, c->emb_scale, d->stream));
    seen_by_watch(d, -1, d->x, T);
    norm(d, d->x, d->layer[0].n1, R);
    for (int l = 0; l < c->layers; l++) {
        const decoder_layer *y = &d->layer[l];
        if (y->recurrent)
            read_recurrent(d, y, T);
        else
            read_attention(d, y, T, fresh);
        const E *branch = y->recurrent ? d->h : d->att;
        if (l == c->layers - 1 && !every_row) {
            keep_ends(d, y, branch);
            return;
        }
        CK(OP(matmul_forward)(
            d->u, branch, y->wo, y->bo, NULL, R, branch_width(c, y), c->C, d->blas,
            d->stream));
        add_and_norm(d, y->n2, R);
        read_mlp(d, y, R);
        if (l + 1 < c->layers && !d->watch) {
            add_and_norm(d, d->layer[l + 1].n1, R);
            continue;
        }
        CK(OP(add_forward)(d->x, d->x, d->u, (size_t)R * c->C, d->stream));
        seen_by_watch(d, l, d->x, T);
        if (l + 1 < c->layers) norm(d, d->x, d->layer[l + 1].n1, R);
    }
    keep_ends(d, NULL, NULL);
}

static void pass_norm(decoder *d, int T)
{
    norm(d, d->x, d->weights.nf, d->B * T);
    seen_by_watch(d, d->config.layers, d->u, T);
}

static void pass_logits(decoder *d, int r0, int rows)
{
    const decoder_config *c = &d->config;
    const E *x = (const E *)d->u + (size_t)r0 * c->C;
    CK(OP(logits_step)(
        d->logits, x, d->weights.head, NULL, rows, c->C, c->V, c->eps, c->offset, d->blas,
        d->stream));
    if (c->softcap > 0)
        CK(softcap_f32(d->logits, d->logits, (size_t)rows * c->V, c->softcap, d->stream));
}

/* --- writing ------------------------------------------------------------------------ */

static void pass_choose(decoder *d)
{
    const decoder_config *c = &d->config;
    const decoder_settings *set = &d->set;
    const E *x = d->end, *nf = d->weights.nf;
    if (!d->fuse) {
        norm(d, x, nf, d->B);
        x = d->u, nf = NULL;
    }
    CK(OP(logits_step)(
        d->logits, x, d->weights.head, nf, d->B, c->C, c->V, c->eps, c->offset, d->blas,
        d->stream));
    CK(sample_f32(
        d->token, d->seen, d->logits, d->seed, set->by_position ? d->cur : d->drawn, d->B,
        c->V, c->V, c->softcap, set->penalty, set->temperature, set->top_k, set->top_p,
        d->ws, d->ws_bytes, d->stream));
    CK(generate_advance(
        d->token, d->cur, d->done, d->drawn, d->out, d->stop, d->B, set->drawn,
        set->stops, d->stream));
}

// One product of a step. nw: norm of its input, inside the product when that is fused.
static void step_product(
    decoder *d, E *out, const E *x, const E *w, const E *bias, const E *nw, const E *res,
    int I, int O, int act)
{
    const decoder_config *c = &d->config;
    if (nw && !d->fuse) {
        norm(d, x, nw, d->B);
        x = d->u, nw = NULL;
    }
    CK(OP(linear_step)(
        out, x, w, bias, nw, res, d->B, I, O, act, c->eps, c->offset, d->blas,
        d->stream));
}

static void step_attention(decoder *d, const decoder_layer *y)
{
    const decoder_config *c = &d->config;
    int B = d->B, H = c->H, K = c->K, D = c->D, W = d->W;
    E *q = d->qkv, *key = q + H * D, *value = key + K * D;
    step_product(d, q, d->end, y->wqkv, NULL, y->n1, NULL, c->C, W, WB_LINEAR);
    if (c->window == 0)  // each token sees itself alone
        CK(OP(attention_forward)(
            d->att, NULL, q, key, value, NULL, B, 1, 1, H, K, D, W, W, 0, c->scale, d->ws,
            d->ws_bytes, d->stream));
    else
        CK(OP(attention_decode)(
            d->att, y->keys, y->values, q, key, value, d->cis, d->cur, B, d->S, H, K, D,
            c->N, W, W, c->scale, d->ws, d->ws_bytes, d->stream));
}

static void step_recurrent(decoder *d, const decoder_layer *y)
{
    const decoder_config *c = &d->config;
    int Cr = c->Cr;
    E *xy = d->xy;
    step_product(d, xy, d->end, y->wxy, y->bxy, y->n1, NULL, c->C, 2 * Cr, WB_LINEAR);
    CK(OP(rglru_step)(
        d->h, y->conv, y->state, xy, xy + Cr, y->cw, y->cb, y->wx, y->bx, y->wa, y->ba,
        y->ap, d->cur, d->B, c->H, Cr / c->H, c->taps, 2 * Cr, d->stream));
}

static void step_mlp(decoder *d, const decoder_layer *y)
{
    int C = d->config.C, F = d->config.F;
    if (d->fuse) {
        step_product(d, d->s, d->end, y->wgu, y->bgu, y->n2, NULL, C, F, d->config.act);
    } else {
        step_product(d, d->gu, d->end, y->wgu, y->bgu, y->n2, NULL, C, 2 * F, WB_LINEAR);
        activation(d, d->gu, d->B);
    }
    step_product(d, d->end, d->s, y->wd, y->bd, NULL, d->end, F, C, WB_LINEAR);
}

// Behind a temporal block: its last product, and the MLP.
static void step_rest(decoder *d, const decoder_layer *y, const E *branch)
{
    const decoder_config *c = &d->config;
    step_product(
        d, d->end, branch, y->wo, y->bo, NULL, d->end, branch_width(c, y), c->C,
        WB_LINEAR);
    step_mlp(d, y);
}

static void pass_finish(decoder *d)
{
    step_rest(d, &d->layer[d->config.layers - 1], d->end_branch);
}

static void pass_step(decoder *d)
{
    const decoder_config *c = &d->config;
    CK(OP(embedding_forward)(
        d->end, d->weights.emb, d->token, d->B, c->C, c->table, c->emb_scale, d->stream));
    for (int l = 0; l < c->layers; l++) {
        const decoder_layer *y = &d->layer[l];
        if (y->recurrent)
            step_recurrent(d, y);
        else
            step_attention(d, y);
        step_rest(d, y, y->recurrent ? d->h : d->att);
    }
    pass_choose(d);
}

static size_t pass_workspace(const decoder *d)
{
    const decoder_config *c = &d->config;
    int B = d->B, T = d->T, S = d->S;
    int keys = d->set.continues || d->P > T ? S + T : T;
    size_t n = sample_workspace_f32(B, c->V);
    at_least(&n, OP(attention_forward_workspace)(B, T, keys, c->H, c->K, c->D));
    at_least(&n, OP(attention_decode_workspace)(B, S, c->H, c->K, c->D));
    if (c->Cr) at_least(&n, OP(rglru_forward_workspace)(B, T, c->Cr));
    return n;
}

const decoder_calls OP(decoder_calls) = {
    .read = pass_read,
    .norm = pass_norm,
    .logits = pass_logits,
    .finish = pass_finish,
    .choose = pass_choose,
    .step = pass_step,
    .workspace = pass_workspace,
};
#undef CK
