/* generator_pass.h - reading prompts and writing tokens, for each element type: included by
 * pass_f32.c, pass_bf16.c and pass_f16.c behind pass.h.
 *
 * Two ways through the same layers. Many rows: matrix products, and lab 05's attention or
 * lab 06's scan, which leave keys, values and states behind. One row a text: linear_step,
 * lab 07's attention_decode or lab 06's rglru_step, which go on from there.
 */
#include "attention.h"
#include "generator.h"
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
static int branch_width(const generator *g, const model_layer *y)
{
    const model_config *c = &g->m->config;
    return y->recurrent ? c->recurrent : c->heads * g->D;
}

static void activation(const model *m, E *out, const E *gu, int R)
{
    int F = m->config.hidden;
    if (m->config.arch == MODEL_GRIFFIN)
        CK(OP(geglu_forward)(out, gu, gu + F, R, F, 2 * F, m->stream));
    else
        CK(OP(swiglu_forward)(out, gu, gu + F, R, F, 2 * F, m->stream));
}

static void read_attention(generator *g, generator_layer *k, int T, bool first)
{
    const model *m = g->m;
    const model_config *c = &m->config;
    int B = g->B, S = g->S, H = c->heads, K = c->kv_heads, D = g->D, W = g->W;
    E *q = g->qkv, *key = q + H * D, *value = key + K * D;
    CK(OP(matmul_forward)(
        q, g->u, k->wqkv, NULL, NULL, B * T, c->channels, W, m->blas, m->stream));
    CK(OP(rope_forward)(q, q, g->cis, g->pos, B, T, H + K, D, m->rotated, W, m->stream));
    if (first) {  // all keys are in this chunk: read where they are
        CK(OP(attention_forward)(
            g->att, NULL, q, key, value, g->pos, B, T, T, H, K, D, W, W, S, m->scale,
            g->ws, g->ws_bytes, m->stream));
    } else {
        CK(OP(kv_unroll)(
            g->all_k, g->all_v, k->keys, k->values, key, value, g->pos, B, T, S, K, D, W,
            m->stream));
        CK(OP(attention_forward)(
            g->att, NULL, q, g->all_k, g->all_v, g->pos, B, T, S + T, H, K, D, W, K * D,
            S, m->scale, g->ws, g->ws_bytes, m->stream));
    }
    CK(OP(kv_append)(
        k->keys, k->values, key, value, g->pos, g->len, B, T, S, K, D, W, m->stream));
}

static void read_recurrent(generator *g, const model_layer *y, generator_layer *k, int T)
{
    const model *m = g->m;
    const model_config *c = &m->config;
    int B = g->B, Cr = c->recurrent, R = B * T;
    E *xy = g->xy;
    CK(OP(matmul_forward)(
        xy, g->u, y->wxy.w, y->bxy.w, NULL, R, c->channels, 2 * Cr, m->blas, m->stream));
    CK(OP(conv1d_forward)(
        g->c, k->conv, xy, y->cw.w, y->cb.w, g->pos, g->len, B, T, Cr, c->taps, 2 * Cr,
        m->stream));
    CK(OP(block_linear_forward)(
        g->px, g->pa, g->c, y->wx.w, y->bx.w, y->wa.w, y->ba.w, R, c->heads,
        Cr / c->heads, m->stream));
    CK(OP(rglru_forward)(
        g->h, NULL, k->state, g->c, g->px, g->pa, xy + Cr, y->ap.w, g->pos, g->len, B, T,
        Cr, 2 * Cr, g->ws, g->ws_bytes, m->stream));
}

// The residual stream is added to in the products.
static void read_mlp(generator *g, const model_layer *y, int R)
{
    const model *m = g->m;
    int C = m->config.channels, F = m->config.hidden;
    E *gu = g->gu;
    CK(OP(rmsnorm_forward)(
        g->u, NULL, g->x, y->n2.w, R, C, m->config.eps, m->offset, m->stream));
    CK(OP(matmul_forward)(
        gu, g->u, y->wgu.w, y->bgu.w, NULL, R, C, 2 * F, m->blas, m->stream));
    activation(m, g->s, gu, R);
    CK(OP(matmul_forward)(
        g->x, g->s, y->wd.w, y->bd.w, g->x, R, F, C, m->blas, m->stream));
}

static void generator_read(generator *g, int t0, int T)
{
    const model *m = g->m;
    const model_config *c = &m->config;
    int B = g->B, R = B * T, C = c->channels;
    CK(prompt_chunk(
        g->tok, g->pos, g->len, g->last, NULL, g->prompt, g->n, g->base, B, T, g->P,
        c->vocab, t0, m->stream));
    CK(OP(embedding_forward)(
        g->x, m->emb.w, g->tok, R, C, m->Vp, m->emb_scale, m->stream));
    for (int l = 0; l < c->layers; l++) {
        const model_layer *y = &m->layer[l];
        generator_layer *k = &g->layer[l];
        CK(OP(rmsnorm_forward)(
            g->u, NULL, g->x, y->n1.w, R, C, c->eps, m->offset, m->stream));
        if (y->recurrent)
            read_recurrent(g, y, k, T);
        else
            read_attention(g, k, T, t0 == 0);
        CK(OP(matmul_forward)(
            g->x, y->recurrent ? g->h : g->att, k->wo, y->bo.w, g->x, R,
            branch_width(g, y), C, m->blas, m->stream));
        read_mlp(g, y, R);
    }
    CK(OP(gather_rows)(g->end, g->x, g->last, B, C, m->stream));
}

static void generator_choose(generator *g)
{
    const model *m = g->m;
    const model_config *c = &m->config;
    const generator_settings *set = &g->set;
    const E *x = g->end, *norm = m->nf.w;
    if (!g->fuse) {
        CK(OP(rmsnorm_forward)(
            g->u, NULL, x, norm, g->B, c->channels, c->eps, m->offset, m->stream));
        x = g->u, norm = NULL;
    }
    CK(OP(logits_step)(
        g->logits, x, m->head.w, norm, g->B, c->channels, c->vocab, c->eps, m->offset,
        m->blas, m->stream));
    CK(sample_f32(
        g->token, g->seen, g->logits, g->seed, g->drawn, g->B, c->vocab, c->vocab,
        c->softcap, set->penalty, set->temperature, set->top_k, set->top_p, g->ws,
        g->ws_bytes, m->stream));
    CK(generate_advance(
        g->token, g->cur, g->done, g->drawn, g->out, NULL, g->B, set->tokens, 0,
        m->stream));
}

// One product of a step. norm: of its input, inside the product when that is fused.
static void step_product(
    generator *g, E *out, const E *x, const E *w, const E *bias, const E *norm,
    const E *res, int I, int O, int act)
{
    const model *m = g->m;
    if (norm && !g->fuse) {
        CK(OP(rmsnorm_forward)(
            g->u, NULL, x, norm, g->B, I, m->config.eps, m->offset, m->stream));
        x = g->u, norm = NULL;
    }
    CK(OP(linear_step)(
        out, x, w, bias, norm, res, g->B, I, O, act, m->config.eps, m->offset, m->blas,
        m->stream));
}

static void step_branch(generator *g, const model_layer *y, generator_layer *k)
{
    const model *m = g->m;
    const model_config *c = &m->config;
    int B = g->B, H = c->heads, K = c->kv_heads, D = g->D, W = g->W, Cr = c->recurrent;
    if (y->recurrent) {
        E *xy = g->xy;
        step_product(
            g, xy, g->end, y->wxy.w, y->bxy.w, y->n1.w, NULL, c->channels, 2 * Cr,
            WB_LINEAR);
        CK(OP(rglru_step)(
            g->h, k->conv, k->state, xy, xy + Cr, y->cw.w, y->cb.w, y->wx.w, y->bx.w,
            y->wa.w, y->ba.w, y->ap.w, g->cur, B, c->heads, Cr / c->heads, c->taps,
            2 * Cr, m->stream));
    } else {
        E *q = g->qkv;
        step_product(
            g, q, g->end, k->wqkv, NULL, y->n1.w, NULL, c->channels, W, WB_LINEAR);
        CK(OP(attention_decode)(
            g->att, k->keys, k->values, q, q + H * D, q + (H + K) * D, g->cis, g->cur, B,
            g->S, H, K, D, m->rotated, W, W, m->scale, g->ws, g->ws_bytes, m->stream));
    }
}

static void step_mlp(generator *g, const model_layer *y)
{
    const model *m = g->m;
    int C = m->config.channels, F = m->config.hidden;
    E *gu = g->gu;
    int act = m->config.arch == MODEL_GRIFFIN ? WB_GEGLU : WB_SWIGLU;
    if (g->fuse) {
        step_product(g, g->s, g->end, y->wgu.w, y->bgu.w, y->n2.w, NULL, C, F, act);
    } else {
        step_product(
            g, gu, g->end, y->wgu.w, y->bgu.w, y->n2.w, NULL, C, 2 * F, WB_LINEAR);
        activation(m, g->s, gu, g->B);
    }
    step_product(g, g->end, g->s, y->wd.w, y->bd.w, NULL, g->end, F, C, WB_LINEAR);
}

static void generator_step(generator *g)
{
    const model *m = g->m;
    const model_config *c = &m->config;
    CK(OP(embedding_forward)(
        g->end, m->emb.w, g->token, g->B, c->channels, m->Vp, m->emb_scale, m->stream));
    for (int l = 0; l < c->layers; l++) {
        const model_layer *y = &m->layer[l];
        generator_layer *k = &g->layer[l];
        step_branch(g, y, k);
        step_product(
            g, g->end, y->recurrent ? g->h : g->att, k->wo, y->bo.w, NULL, g->end,
            branch_width(g, y), c->channels, WB_LINEAR);
        step_mlp(g, y);
    }
    generator_choose(g);
}

static size_t generator_workspace(const generator *g)
{
    const model_config *c = &g->m->config;
    int B = g->B, T = g->T, S = g->S, H = c->heads, K = c->kv_heads, D = g->D;
    size_t n = sample_workspace_f32(B, c->vocab);
    at_least(&n, OP(attention_forward_workspace)(B, T, g->P > T ? S + T : T, H, K, D));
    at_least(&n, OP(attention_decode_workspace)(B, S, H, K, D));
    if (c->recurrent) at_least(&n, OP(rglru_forward_workspace)(B, T, c->recurrent));
    return n;
}

const generator_calls OP(generator_calls) = {
    .read = generator_read,
    .choose = generator_choose,
    .step = generator_step,
    .workspace = generator_workspace,
};
#undef CK
