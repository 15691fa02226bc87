/* llama_pass.h - the passes of the model, written once and compiled for each element type:
 * llama_f32.c, llama_bf16.c and llama_f16.c define E and OP and include it.
 *
 * The order of calls is the model. Shapes are in llama.h.
 */
#include "llama.h"
#include "rmsnorm.h"
#include "rope.h"
#include "softmax.h"
#include "swiglu.h"

#include <math.h>
#include <stddef.h>

#define CK WB_CHECK

static float attention_scale(const llama *m)
{
    return 1.0f / sqrtf((float)m->config.head_dim);
}

// In place or not; the backward pass is the same call. p = 0: nothing happens.
static const E *drop(const llama *m, E *out, const E *x, float p, int site)
{
    if (p == 0) return x;
    size_t n = (size_t)m->R * m->config.channels;
    CK(OP(dropout_forward)(out, x, m->train, n, p, (uint32_t)site, m->stream));
    return out;
}

static void attention_branch(llama *m, llama_layer *y)
{
    int B = m->B, T = m->T, C = m->config.channels, D = m->config.head_dim;
    int H = m->config.heads, K = m->config.kv_heads, HD = H * D, KD = K * D, W = m->W;
    E *q = y->qkv, *k = q + HD, *v = k + KD;
    CK(OP(matmul_forward)(q, y->h1, y->wqkv, NULL, NULL, m->R, C, W, m->blas, m->stream));
    CK(OP(rope_forward)(q, q, m->cis, NULL, B, T, H + K, D, D, W, m->stream));
    CK(OP(attention_gemm_forward)(
        y->att, y->p, q, k, v, B, T, T, H, K, D, W, W, attention_scale(m), m->blas,
        m->stream));
    CK(OP(matmul_forward)(
        m->br, y->att, y->wo, NULL, NULL, m->R, HD, C, m->blas, m->stream));
}

static void mlp_branch(llama *m, llama_layer *y)
{
    int R = m->R, C = m->config.channels, F = m->config.hidden;
    E *gu = y->gu;
    CK(OP(matmul_forward)(
        gu, y->h2, y->wgu, NULL, NULL, R, C, 2 * F, m->blas, m->stream));
    CK(OP(swiglu_forward)(y->s, gu, gu + F, R, F, 2 * F, m->stream));
    CK(OP(matmul_forward)(m->br, y->s, y->wd, NULL, NULL, R, F, C, m->blas, m->stream));
}

// Tokens to logits. A residual addition and the norm behind it are one pass.
static void forward(llama *m, const int *token, float p)
{
    int R = m->R, C = m->config.channels;
    float eps = m->config.eps;
    E *x = m->layer[0].x1;
    CK(OP(embedding_forward)(x, m->emb, token, R, C, m->Vp, 1.0f, m->stream));
    drop(m, x, x, p, 0);
    for (int l = 0; l < m->config.layers; l++) {
        llama_layer *y = &m->layer[l];
        if (l == 0)
            CK(OP(rmsnorm_forward)(
                y->h1, y->r1, y->x1, y->n1, R, C, eps, 0.0f, m->stream));
        else
            CK(OP(rmsnorm_residual_forward)(
                y->h1, y->x1, y->r1, m->br, m->layer[l - 1].x2, y->n1, R, C, eps, 0.0f,
                m->stream));
        attention_branch(m, y);
        drop(m, m->br, m->br, p, 2 * l + 1);
        CK(OP(rmsnorm_residual_forward)(
            y->h2, y->x2, y->r2, m->br, y->x1, y->n2, R, C, eps, 0.0f, m->stream));
        mlp_branch(m, y);
        drop(m, m->br, m->br, p, 2 * l + 2);
    }
    CK(OP(rmsnorm_residual_forward)(
        m->hf, m->xf, m->rf, m->br, m->layer[m->config.layers - 1].x2, m->nf, R, C, eps,
        0.0f, m->stream));
    CK(OP(matmul_forward)(
        m->logits, m->hf, m->head, NULL, NULL, R, C, m->Vp, m->blas, m->stream));
}

// dx: gradient at the end of the layer, in place that at its start.
static void layer_backward(llama *m, llama_layer *y, int l, float p)
{
    int B = m->B, T = m->T, R = m->R, C = m->config.channels, F = m->config.hidden;
    int H = m->config.heads, K = m->config.kv_heads, D = m->config.head_dim;
    int HD = H * D, KD = K * D, W = m->W;
    E *gu = y->gu, *q = y->qkv, *dq = m->dqkv;
    const E *db = drop(m, m->dbr, m->dx, p, 2 * l + 2);
    CK(OP(matmul_backward)(
        m->ds, y->dwd, NULL, db, y->s, y->wd, R, F, C, m->blas, m->stream));
    CK(OP(swiglu_backward)(gu, gu + F, m->ds, gu, gu + F, R, F, 2 * F, m->stream));
    CK(OP(matmul_backward)(
        m->dh, y->dwgu, NULL, gu, y->h2, y->wgu, R, C, 2 * F, m->blas, m->stream));
    CK(OP(rmsnorm_backward)(  // dres = dx: what goes past the branch
        m->dx, y->dn2, m->dh, y->x2, y->n2, y->r2, m->dx, R, C, 0.0f, m->ws, m->ws_bytes,
        m->stream));
    db = drop(m, m->dbr, m->dx, p, 2 * l + 1);
    CK(OP(matmul_backward)(
        m->datt, y->dwo, NULL, db, y->att, y->wo, R, HD, C, m->blas, m->stream));
    CK(OP(attention_gemm_backward)(
        dq, dq + HD, dq + HD + KD, m->datt, q, q + HD, q + HD + KD, y->p, B, T, T, H, K,
        D, W, W, attention_scale(m), m->ws, m->ws_bytes, m->blas, m->stream));
    CK(OP(rope_backward)(dq, dq, m->cis, NULL, B, T, H + K, D, D, W, m->stream));
    CK(OP(matmul_backward)(
        m->dh, y->dwqkv, NULL, dq, y->h1, y->wqkv, R, C, W, m->blas, m->stream));
    CK(OP(rmsnorm_backward)(
        m->dx, y->dn1, m->dh, y->x1, y->n1, y->r1, m->dx, R, C, 0.0f, m->ws, m->ws_bytes,
        m->stream));
}

// logits: their gradient.
static void backward(llama *m, const int *token, float p)
{
    int R = m->R, C = m->config.channels;
    CK(OP(matmul_backward)(
        m->dh, m->dhead, NULL, m->logits, m->hf, m->head, R, C, m->Vp, m->blas,
        m->stream));
    CK(OP(rmsnorm_backward)(
        m->dx, m->dnf, m->dh, m->xf, m->nf, m->rf, NULL, R, C, 0.0f, m->ws, m->ws_bytes,
        m->stream));
    for (int l = m->config.layers - 1; l >= 0; l--)
        layer_backward(m, &m->layer[l], l, p);
    drop(m, m->dx, m->dx, p, 0);
    CK(OP(embedding_backward)(
        m->demb, m->dx, token, R, C, m->Vp, 1.0f, m->ws, m->ws_bytes, m->stream));
}

static void micro(llama *m, const llama_recipe *r, int index, bool gradients)
{
    size_t at = (size_t)index * m->R;
    CK(train_begin(m->train, r->schedule, r->accum * m->R, index == 0, m->stream));
    forward(m, m->token + at, r->dropout);
    CK(OP(cross_entropy)(  // the gradient takes the place of the logits
        m->loss, gradients ? m->logits : NULL, m->logits, m->target + at,
        &m->train->grad_scale, m->R, m->config.vocab, m->Vp, 0.0f, -1, m->stream));
    CK(sum_f32(&m->train->loss, m->loss, (size_t)m->R, m->ws, m->ws_bytes, m->stream));
    if (gradients) backward(m, m->token + at, r->dropout);
}

// AdamW over [from, from+n) of the flat buffers.
static void adamw(llama *m, const llama_recipe *r, size_t from, size_t n, float decay)
{
    E *param = m->param;
    CK(OP(adamw_step)(
        param + from, m->master ? m->master + from : NULL, m->m + from, m->v + from,
        m->grad + from, m->train, n, r->beta1, r->beta2, r->adam_eps, decay, r->clip,
        m->stream));
}

static void step(llama *m, const llama_recipe *r)
{
    for (int i = 0; i < r->accum; i++)
        micro(m, r, i, true);
    CK(gradnorm_f32(m->train, m->grad, m->N, m->ws, m->ws_bytes, m->stream));
    adamw(m, r, 0, m->decayed, r->decay);  // matrices
    adamw(m, r, m->decayed, m->N - m->decayed, 0.0f);
    CK(train_end(m->train, r->growth, m->stream));
}

static void evaluate(llama *m)
{
    forward(m, m->token, 0.0f);
    CK(OP(cross_entropy)(
        m->loss, NULL, m->logits, m->target, NULL, m->R, m->config.vocab, m->Vp, 0.0f, -1,
        m->stream));
    CK(sum_f32(m->eval_loss, m->loss, (size_t)m->R, m->ws, m->ws_bytes, m->stream));
}

// Keys and values of T tokens go to rows past.. of the cache; queries see all rows so far.
static void cached_attention(llama *m, llama_layer *y, int T, int past)
{
    int H = m->config.heads, K = m->config.kv_heads, D = m->config.head_dim;
    int HD = H * D, KD = K * D, W = m->W;
    E *q = y->qkv, *cache = y->cache;
    size_t row = 2 * (size_t)KD * sizeof(E);
    CK(OP(matmul_forward)(
        q, y->h1, y->wqkv, NULL, NULL, T, m->config.channels, W, m->blas, m->stream));
    CK(OP(rope_forward)(q, q, m->cis, m->pos, 1, T, H + K, D, D, W, m->stream));
    CUDA_CHECK(cudaMemcpy2DAsync(
        cache + (size_t)past * 2 * KD, row, q + HD, W * sizeof(E), row, (size_t)T,
        cudaMemcpyDeviceToDevice, m->stream));
    CK(OP(attention_gemm_forward)(
        y->att, y->p, q, cache, cache + KD, 1, T, past + T, H, K, D, W, 2 * KD,
        attention_scale(m), m->blas, m->stream));
}

// The residual stream is added to in the products here: x1 is all layers' x.
static void extend(llama *m, int T, int past)
{
    int C = m->config.channels, F = m->config.hidden,
        HD = m->config.heads * m->config.head_dim;
    float eps = m->config.eps;
    E *x = m->layer[0].x1;
    CK(OP(embedding_forward)(x, m->emb, m->token, T, C, m->Vp, 1.0f, m->stream));
    for (int l = 0; l < m->config.layers; l++) {
        llama_layer *y = &m->layer[l];
        E *gu = y->gu;
        CK(OP(rmsnorm_forward)(y->h1, NULL, x, y->n1, T, C, eps, 0.0f, m->stream));
        cached_attention(m, y, T, past);
        CK(OP(matmul_forward)(x, y->att, y->wo, NULL, x, T, HD, C, m->blas, m->stream));
        CK(OP(rmsnorm_forward)(y->h2, NULL, x, y->n2, T, C, eps, 0.0f, m->stream));
        CK(OP(matmul_forward)(
            gu, y->h2, y->wgu, NULL, NULL, T, C, 2 * F, m->blas, m->stream));
        CK(OP(swiglu_forward)(y->s, gu, gu + F, T, F, 2 * F, m->stream));
        CK(OP(matmul_forward)(x, y->s, y->wd, NULL, x, T, F, C, m->blas, m->stream));
    }
    E *last = x + (size_t)(T - 1) * C;
    CK(OP(rmsnorm_forward)(m->hf, NULL, last, m->nf, 1, C, eps, 0.0f, m->stream));
    CK(OP(logits_step)(
        m->out, m->hf, m->head, NULL, 1, C, m->config.vocab, eps, 0.0f, m->blas,
        m->stream));
}

static void cast(llama *m)
{
    if (m->master) CK(OP(cast)(m->param, m->master, m->N, m->stream));
}

static void at_least(size_t *bytes, size_t want)
{
    if (*bytes < want) *bytes = want;
}

static void workspace(llama *m)
{
    const llama_config *c = &m->config;
    size_t *n = &m->ws_bytes;
    at_least(n, sum_workspace_f32((size_t)m->R));
    if (m->use != LLAMA_TRAIN) return;
    at_least(n, gradnorm_workspace_f32(m->N));
    at_least(n, OP(rmsnorm_backward_workspace)(m->R, c->channels));
    at_least(n, OP(embedding_backward_workspace)(m->R, c->channels, m->Vp));
    at_least(
        n, OP(attention_gemm_backward_workspace)(
               m->B, m->T, m->T, c->heads, c->kv_heads, c->head_dim));
}

#undef CK
