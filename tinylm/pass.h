/* pass.h - the passes of the model, written once and compiled for each element type:
 * pass_f32.c, pass_bf16.c and pass_f16.c define E and OP and include it.
 *
 * The order of calls is the model. Shapes are in model.h.
 */
#include "attention.h"
#include "model.h"
#include "reduction.h"
#include "rglru.h"
#include "rmsnorm.h"
#include "rope.h"
#include "softmax.h"
#include "swiglu.h"

#include <stddef.h>

#define CK WB_CHECK

#include "branches.h"

// In place or not; the backward pass is the same call. p = 0 is a no-op.
static const E *drop(const model *m, E *out, const E *x, float p, int site)
{
    if (p == 0) return x;
    size_t n = (size_t)m->rows * m->config.shape.channels;
    size_t first = (size_t)m->ranks->rank * n;  // of the rows of all ranks
    CK(OP(dropout_forward)(out, x, m->train, n, first, p, (uint32_t)site, m->stream));
    return out;
}

// Tokens to logits. A residual addition and the norm after it are one kernel.
static void forward(model *m, const int *token, float p)
{
    const model_shape *s = &m->config.shape;
    int R = m->rows, C = s->channels, Vp = m->padded_vocab, layers = s->layers;
    float eps = s->eps, offset = m->norm_offset;
    E *x = m->layer[0].residual1;
    CK(OP(embedding_forward)(
        x, m->weights.embedding, token, R, C, Vp, m->embedding_scale, m->stream));
    drop(m, x, x, p, 0);
    for (int l = 0; l < layers; l++) {
        model_layer *y = &m->layer[l];
        if (l == 0)
            CK(OP(rmsnorm_forward)(
                y->normed1, y->rstd1, x, y->w->norm1, R, C, eps, offset, m->stream));
        else
            CK(OP(rmsnorm_residual_forward)(
                y->normed1, y->residual1, y->rstd1, m->branch, m->layer[l - 1].residual2,
                y->w->norm1, R, C, eps, offset, m->stream));
        if (y->recurrent)
            recurrent_branch(m, y);
        else
            attention_branch(m, y);
        drop(m, m->branch, m->branch, p, 2 * l + 1);
        CK(OP(rmsnorm_residual_forward)(
            y->normed2, y->residual2, y->rstd2, m->branch, y->residual1, y->w->norm2, R,
            C, eps, offset, m->stream));
        mlp_branch(m, y);
        drop(m, m->branch, m->branch, p, 2 * l + 2);
    }
    CK(OP(rmsnorm_residual_forward)(
        m->final_normed, m->final_residual, m->final_rstd, m->branch,
        m->layer[layers - 1].residual2, m->weights.final_norm, R, C, eps, offset,
        m->stream));
    CK(OP(matmul_forward)(
        m->logits, m->final_normed, m->weights.head, NULL, NULL, R, C, Vp, m->blas,
        m->stream));
}

// m->logits holds its own gradient; d_residual goes from the end of a layer to its start.
// The last micro-batch completes the gradients, which the ranks then add up.
static void backward(model *m, const int *token, float p, bool last)
{
    int R = m->rows, C = m->config.shape.channels, Vp = m->padded_vocab;
    float offset = m->norm_offset;
    CK(OP(matmul_backward)(
        m->d_normed, m->gradients.head, NULL, m->logits, m->final_normed, m->weights.head,
        R, C, Vp, m->blas, m->stream));
    CK(OP(rmsnorm_backward)(
        m->d_residual, m->gradients.final_norm, m->d_normed, m->final_residual,
        m->weights.final_norm, m->final_rstd, NULL, R, C, offset, m->workspace,
        m->workspace_bytes, m->stream));
    for (int l = m->config.shape.layers - 1; l >= 0; l--) {
        model_layer *y = &m->layer[l];
        mlp_branch_backward(m, y, drop(m, m->d_branch, m->d_residual, p, 2 * l + 2));
        CK(OP(rmsnorm_backward)(  // dres = d_residual: the path around the branch
            m->d_residual, y->grad->norm2, m->d_normed, y->residual2, y->w->norm2,
            y->rstd2, m->d_residual, R, C, offset, m->workspace, m->workspace_bytes,
            m->stream));
        const E *db = drop(m, m->d_branch, m->d_residual, p, 2 * l + 1);
        if (y->recurrent)
            recurrent_branch_backward(m, y, db);
        else
            attention_branch_backward(m, y, db);
        CK(OP(rmsnorm_backward)(
            m->d_residual, y->grad->norm1, m->d_normed, y->residual1, y->w->norm1,
            y->rstd1, m->d_residual, R, C, offset, m->workspace, m->workspace_bytes,
            m->stream));
        if (last) reduction_layer(m, l);
    }
    drop(m, m->d_residual, m->d_residual, p, 0);
    CK(OP(embedding_backward)(
        m->gradients.embedding, m->d_residual, token, R, C, Vp, m->embedding_scale,
        m->workspace, m->workspace_bytes, m->stream));
    if (last) reduction_layer(m, -1);
}

static void micro(model *m, const model_recipe *r, int index, bool gradients)
{
    size_t at = (size_t)index * m->rows;
    int tokens = r->accum * m->rows * m->ranks->size;  // of the whole step
    CK(train_begin(m->train, r->schedule, tokens, index == 0, m->stream));
    forward(m, m->token + at, r->dropout);
    CK(OP(cross_entropy)(  // the gradient overwrites the logits
        m->loss, gradients ? m->logits : NULL, m->logits, m->target + at,
        &m->train->grad_scale, m->rows, m->config.shape.vocab, m->padded_vocab,
        m->config.shape.softcap, -1, m->stream));
    CK(sum_f32(
        &m->train->loss, m->loss, (size_t)m->rows, m->workspace, m->workspace_bytes,
        m->stream));
    if (gradients) backward(m, m->token + at, r->dropout, index == r->accum - 1);
}

// AdamW over [from, from+n) of the weights, whose state is [at, at+n) of its buffers.
static void
adamw(model *m, const model_recipe *r, size_t from, size_t n, size_t at, float *grad)
{
    E *param = m->param;
    float decay = from < m->decayed ? r->decay : 0.0f;  // of matrices only
    CK(OP(adamw_step)(
        param + from, m->master ? m->master + at : NULL, m->adam_m + at, m->adam_v + at,
        grad + at, m->train, n, r->beta1, r->beta2, r->adam_eps, decay, r->clip,
        m->stream));
}

static void update(model *m, const model_recipe *r)
{
    size_t N = m->parameters, D = m->decayed;
    CK(gradnorm_f32(m->train, m->grad, N, m->workspace, m->workspace_bytes, m->stream));
    adamw(m, r, 0, D, 0, m->grad);
    adamw(m, r, D, N - D, D, m->grad);
}

// This rank updates its part of every bucket; the other parts come from their owners.
static void update_sharded(model *m, const model_recipe *r)
{
    const reduction *s = m->reduction;
    size_t size = (size_t)m->ranks->size, rank = (size_t)m->ranks->rank;
    CK(gradnorm_f32(
        m->train, m->shard_grad, m->parameters / size, m->workspace, m->workspace_bytes,
        m->stream));
    reduction_norm(m);
    for (int i = 0; i < s->count; i++) {
        const bucket *b = &s->bucket[i];
        size_t n = b->n / size;
        adamw(m, r, b->from + rank * n, n, b->from / size, m->shard_grad);
        reduction_gather(m, b);
    }
    CUDA_CHECK(cudaMemsetAsync(m->grad, 0, m->parameters * sizeof *m->grad, m->stream));
    reduction_join(m);
}

static void step(model *m, const model_recipe *r)
{
    for (int i = 0; i < r->accum; i++)
        micro(m, r, i, true);
    reduction_join(m);
    if (m->sharded)
        update_sharded(m, r);
    else
        update(m, r);
    CK(train_end(m->train, r->growth, m->stream));
}

static void evaluate(model *m)
{
    forward(m, m->token, 0.0f);
    CK(OP(cross_entropy)(
        m->loss, NULL, m->logits, m->target, NULL, m->rows, m->config.shape.vocab,
        m->padded_vocab, m->config.shape.softcap, -1, m->stream));
    CK(sum_f32(
        m->eval_loss, m->loss, (size_t)m->rows, m->workspace, m->workspace_bytes,
        m->stream));
}

static void cast(model *m, const float *weights)
{
    CK(OP(cast)(m->param, weights, m->parameters, m->stream));
}

static void at_least(size_t *bytes, size_t want)
{
    if (*bytes < want) *bytes = want;
}

static void attention_workspace(model *m)
{
    int B = m->batch, T = m->length, D = m->config.shape.head_dim;
    int H = m->config.shape.heads, K = m->config.shape.kv_heads;
    bool trains = m->use == MODEL_TRAIN;
    size_t *n = &m->workspace_bytes;
    if (m->config.gemm_attention) {
        if (trains) at_least(n, OP(attention_gemm_backward_workspace)(B, T, T, H, K, D));
        return;
    }
    at_least(n, OP(attention_forward_workspace)(B, T, T, H, K, D));
    if (trains) at_least(n, OP(attention_backward_workspace)(B, T, T, H, K, D));
}

static void recurrent_workspace(model *m)
{
    int B = m->batch, T = m->length, Cr = m->config.shape.recurrent,
        G = m->config.shape.heads;
    size_t *n = &m->workspace_bytes;
    at_least(n, OP(rglru_forward_workspace)(B, T, Cr));
    if (m->use != MODEL_TRAIN) return;
    at_least(n, OP(rglru_backward_workspace)(B, T, Cr));
    at_least(n, OP(block_linear_backward_workspace)(m->rows, G, Cr / G));
    at_least(n, OP(conv1d_backward_workspace)(B, T, Cr, m->config.shape.conv_width));
}

static void workspace(model *m)
{
    size_t *n = &m->workspace_bytes;
    at_least(n, sum_workspace_f32((size_t)m->rows));
    attention_workspace(m);
    if (m->config.arch == MODEL_GRIFFIN) recurrent_workspace(m);
    if (m->use != MODEL_TRAIN) return;
    at_least(n, gradnorm_workspace_f32(m->parameters));
    at_least(n, OP(rmsnorm_backward_workspace)(m->rows, m->config.shape.channels));
    at_least(
        n, OP(embedding_backward_workspace)(
               m->rows, m->config.shape.channels, m->padded_vocab));
}

#undef CK
