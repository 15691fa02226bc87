/* pass.h - the passes of the model, written once and compiled for each element type:
 * pass_f32.c, pass_bf16.c and pass_f16.c define E and OP and include it.
 *
 * The order of calls is the model. Shapes are in model.h.
 */
#include "attention.h"
#include "model.h"
#include "rglru.h"
#include "rmsnorm.h"
#include "rope.h"
#include "softmax.h"
#include "swiglu.h"

#include <stddef.h>

#define CK WB_CHECK

#include "branches.h"

// In place or not; the backward pass is the same call. p = 0: nothing happens.
static const E *drop(const model *m, E *out, const E *x, float p, int site)
{
    if (p == 0) return x;
    size_t n = (size_t)m->R * m->config.channels;
    CK(OP(dropout_forward)(out, x, m->train, n, p, (uint32_t)site, m->stream));
    return out;
}

// Tokens to logits. A residual addition and the norm behind it are one pass.
static void forward(model *m, const int *token, float p)
{
    int R = m->R, C = m->config.channels, layers = m->config.layers;
    float eps = m->config.eps, offset = m->offset;
    E *x = m->layer[0].x1;
    CK(OP(embedding_forward)(x, m->emb.w, token, R, C, m->Vp, m->emb_scale, m->stream));
    drop(m, x, x, p, 0);
    for (int l = 0; l < layers; l++) {
        model_layer *y = &m->layer[l];
        if (l == 0)
            CK(OP(rmsnorm_forward)(
                y->h1, y->r1, x, y->n1.w, R, C, eps, offset, m->stream));
        else
            CK(OP(rmsnorm_residual_forward)(
                y->h1, y->x1, y->r1, m->br, m->layer[l - 1].x2, y->n1.w, R, C, eps,
                offset, m->stream));
        if (y->recurrent)
            recurrent_branch(m, y);
        else
            attention_branch(m, y);
        drop(m, m->br, m->br, p, 2 * l + 1);
        CK(OP(rmsnorm_residual_forward)(
            y->h2, y->x2, y->r2, m->br, y->x1, y->n2.w, R, C, eps, offset, m->stream));
        mlp_branch(m, y);
        drop(m, m->br, m->br, p, 2 * l + 2);
    }
    CK(OP(rmsnorm_residual_forward)(
        m->hf, m->xf, m->rf, m->br, m->layer[layers - 1].x2, m->nf.w, R, C, eps, offset,
        m->stream));
    CK(OP(matmul_forward)(
        m->logits, m->hf, m->head.w, NULL, NULL, R, C, m->Vp, m->blas, m->stream));
}

// logits: their gradient. dx: of the residual stream, from the end of a layer to its start.
static void backward(model *m, const int *token, float p)
{
    int R = m->R, C = m->config.channels;
    float offset = m->offset;
    CK(OP(matmul_backward)(
        m->dh, m->head.d, NULL, m->logits, m->hf, m->head.w, R, C, m->Vp, m->blas,
        m->stream));
    CK(OP(rmsnorm_backward)(
        m->dx, m->nf.d, m->dh, m->xf, m->nf.w, m->rf, NULL, R, C, offset, m->ws,
        m->ws_bytes, m->stream));
    for (int l = m->config.layers - 1; l >= 0; l--) {
        model_layer *y = &m->layer[l];
        mlp_branch_backward(m, y, drop(m, m->dbr, m->dx, p, 2 * l + 2));
        CK(OP(rmsnorm_backward)(  // dres = dx: what goes past the branch
            m->dx, y->n2.d, m->dh, y->x2, y->n2.w, y->r2, m->dx, R, C, offset, m->ws,
            m->ws_bytes, m->stream));
        const E *db = drop(m, m->dbr, m->dx, p, 2 * l + 1);
        if (y->recurrent)
            recurrent_branch_backward(m, y, db);
        else
            attention_branch_backward(m, y, db);
        CK(OP(rmsnorm_backward)(
            m->dx, y->n1.d, m->dh, y->x1, y->n1.w, y->r1, m->dx, R, C, offset, m->ws,
            m->ws_bytes, m->stream));
    }
    drop(m, m->dx, m->dx, p, 0);
    CK(OP(embedding_backward)(
        m->emb.d, m->dx, token, R, C, m->Vp, m->emb_scale, m->ws, m->ws_bytes,
        m->stream));
}

static void micro(model *m, const model_recipe *r, int index, bool gradients)
{
    size_t at = (size_t)index * m->R;
    CK(train_begin(m->train, r->schedule, r->accum * m->R, index == 0, m->stream));
    forward(m, m->token + at, r->dropout);
    CK(OP(cross_entropy)(  // the gradient takes the place of the logits
        m->loss, gradients ? m->logits : NULL, m->logits, m->target + at,
        &m->train->grad_scale, m->R, m->config.vocab, m->Vp, m->config.softcap, -1,
        m->stream));
    CK(sum_f32(&m->train->loss, m->loss, (size_t)m->R, m->ws, m->ws_bytes, m->stream));
    if (gradients) backward(m, m->token + at, r->dropout);
}

// AdamW over [from, from+n) of the flat buffers.
static void adamw(model *m, const model_recipe *r, size_t from, size_t n, float decay)
{
    E *param = m->param;
    CK(OP(adamw_step)(
        param + from, m->master ? m->master + from : NULL, m->m + from, m->v + from,
        m->grad + from, m->train, n, r->beta1, r->beta2, r->adam_eps, decay, r->clip,
        m->stream));
}

static void step(model *m, const model_recipe *r)
{
    for (int i = 0; i < r->accum; i++)
        micro(m, r, i, true);
    CK(gradnorm_f32(m->train, m->grad, m->N, m->ws, m->ws_bytes, m->stream));
    adamw(m, r, 0, m->decayed, r->decay);  // matrices
    adamw(m, r, m->decayed, m->N - m->decayed, 0.0f);
    CK(train_end(m->train, r->growth, m->stream));
}

static void evaluate(model *m)
{
    forward(m, m->token, 0.0f);
    CK(OP(cross_entropy)(
        m->loss, NULL, m->logits, m->target, NULL, m->R, m->config.vocab, m->Vp,
        m->config.softcap, -1, m->stream));
    CK(sum_f32(m->eval_loss, m->loss, (size_t)m->R, m->ws, m->ws_bytes, m->stream));
}

static void cast(model *m)
{
    if (m->master) CK(OP(cast)(m->param, m->master, m->N, m->stream));
}

static void at_least(size_t *bytes, size_t want)
{
    if (*bytes < want) *bytes = want;
}

static void attention_workspace(model *m)
{
    int B = m->B, T = m->T, D = m->config.head_dim;
    int H = m->config.heads, K = m->config.kv_heads;
    bool trains = m->use == MODEL_TRAIN;
    size_t *n = &m->ws_bytes;
    if (m->config.gemm_attention) {
        if (trains) at_least(n, OP(attention_gemm_backward_workspace)(B, T, T, H, K, D));
        return;
    }
    at_least(n, OP(attention_forward_workspace)(B, T, T, H, K, D));
    if (trains) at_least(n, OP(attention_backward_workspace)(B, T, T, H, K, D));
}

static void recurrent_workspace(model *m)
{
    int B = m->B, T = m->T, Cr = m->config.recurrent, G = m->config.heads;
    size_t *n = &m->ws_bytes;
    at_least(n, OP(rglru_forward_workspace)(B, T, Cr));
    if (m->use != MODEL_TRAIN) return;
    at_least(n, OP(rglru_backward_workspace)(B, T, Cr));
    at_least(n, OP(block_linear_backward_workspace)(m->R, G, Cr / G));
    at_least(n, OP(conv1d_backward_workspace)(B, T, Cr, m->config.taps));
}

static void workspace(model *m)
{
    size_t *n = &m->ws_bytes;
    at_least(n, sum_workspace_f32((size_t)m->R));
    attention_workspace(m);
    if (m->config.arch == MODEL_GRIFFIN) recurrent_workspace(m);
    if (m->use != MODEL_TRAIN) return;
    at_least(n, gradnorm_workspace_f32(m->N));
    at_least(n, OP(rmsnorm_backward_workspace)(m->R, m->config.channels));
    at_least(n, OP(embedding_backward_workspace)(m->R, m->config.channels, m->Vp));
}

#undef CK
