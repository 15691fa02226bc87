/* pass.h - prefill and decode, for each element type: included by pass_f32.c, pass_bf16.c
 * and pass_f16.c, which define E and OP.
 *
 * There are two ways through the same layers. Prefill has many rows: GEMMs, and lab 05's
 * attention or lab 06's scan, which fill the caches and states. A step has one row for
 * each sequence: linear_step, lab 07's attention_decode or lab 06's rglru_step, which
 * continue from there.
 */
#include "attention.h"
#include "decoder.h"
#include "kvcache.h"
#include "rglru.h"
#include "rmsnorm.h"
#include "rope.h"
#include "swiglu.h"

#include <math.h>

#define CK WB_CHECK

static void at_least(size_t *bytes, size_t want)
{
    if (*bytes < want) *bytes = want;
}

// Columns of a layer's output matrix `out`.
static int branch_width(const model_shape *s, const decoder_layer *y)
{
    return y->recurrent ? s->recurrent : s->heads * s->head_dim;
}

// Keys before its own that a token sees: a ring has a slot even where this is 0.
static int window_in_ring(const decoder *d)
{
    return d->config.window < d->slots ? d->config.window : d->slots;
}

static void activate(const decoder *d, const E *gate_up, int R)
{
    int F = d->config.shape.hidden;
    const E *gate = gate_up, *up = gate_up + F;
    if (d->config.activation == WB_GEGLU)
        CK(OP(geglu_forward)(d->activated, gate, up, R, F, 2 * F, d->stream));
    else
        CK(OP(swiglu_forward)(d->activated, gate, up, R, F, 2 * F, d->stream));
}

static void norm(const decoder *d, const E *x, const E *w, int R)
{
    int C = d->config.shape.channels;
    CK(OP(rmsnorm_forward)(
        d->normed, NULL, x, w, R, C, d->config.shape.eps, d->config.norm_offset,
        d->stream));
}

/* --- prefill ------------------------------------------------------------------------ */

/* A branch's output, in `normed`, is added to the residual stream, and `normed` becomes
 * the norm of the sum: one pass over memory. (A GEMM that adds to the stream itself is
 * slower: the libraries have none that does so and rounds once.) */
static void add_and_norm(const decoder *d, const E *w, int R)
{
    const model_shape *s = &d->config.shape;
    CK(OP(rmsnorm_residual_forward)(
        d->normed, d->residual, NULL, d->normed, d->residual, w, R, s->channels, s->eps,
        d->config.norm_offset, d->stream));
}

static void prefill_attention(decoder *d, const decoder_layer *y, int T, bool fresh)
{
    const model_shape *s = &d->config.shape;
    int B = d->batch, S = d->slots, C = s->channels, W = d->qkv_width;
    int H = s->heads, K = s->kv_heads, D = s->head_dim, window = window_in_ring(d);
    float scale = d->config.score_scale;
    const int *pos = d->chunk_position;
    E *q = d->qkv, *k = q + H * D, *v = k + K * D;
    CK(OP(matmul_forward)(
        q, d->normed, y->w->qkv, NULL, NULL, B * T, C, W, d->blas, d->stream));
    CK(OP(rope_forward)(
        q, q, d->rope_table, pos, B, T, H + K, D, s->rotated, W, d->stream));
    if (fresh) {  // all keys are in this chunk
        CK(OP(attention_forward)(
            d->attention, NULL, q, k, v, pos, B, T, T, H, K, D, W, W, window, scale,
            d->workspace, d->workspace_bytes, d->stream));
    } else {
        CK(OP(kv_unroll)(
            d->all_keys, d->all_values, y->keys, y->values, k, v, pos, B, T, S, K, D, W,
            d->stream));
        CK(OP(attention_forward)(
            d->attention, NULL, q, d->all_keys, d->all_values, pos, B, T, S + T, H, K, D,
            W, K * D, window, scale, d->workspace, d->workspace_bytes, d->stream));
    }
    CK(OP(kv_append)(
        y->keys, y->values, k, v, pos, d->chunk_length, B, T, S, K, D, W, d->stream));
}

static void prefill_recurrent(decoder *d, const decoder_layer *y, int T)
{
    const model_shape *s = &d->config.shape;
    const layer_weights *w = y->w;
    const int *pos = d->chunk_position, *length = d->chunk_length;
    int B = d->batch, R = B * T, C = s->channels, Cr = s->recurrent, H = s->heads;
    E *x = d->xy, *side = x + Cr;
    CK(OP(matmul_forward)(
        x, d->normed, w->xy, w->xy_bias, NULL, R, C, 2 * Cr, d->blas, d->stream));
    CK(OP(conv1d_forward)(
        d->conv_out, y->conv, x, w->conv, w->conv_bias, pos, length, B, T, Cr,
        s->conv_width, 2 * Cr, d->stream));
    CK(OP(block_linear_forward)(
        d->gate_x, d->gate_a, d->conv_out, w->gate_x, w->gate_x_bias, w->gate_a,
        w->gate_a_bias, R, H, Cr / H, d->stream));
    CK(OP(rglru_forward)(
        d->recurrent_out, NULL, y->state, d->conv_out, d->gate_x, d->gate_a, side,
        w->a_param, pos, length, B, T, Cr, 2 * Cr, d->workspace, d->workspace_bytes,
        d->stream));
}

// In place, in `normed`.
static void prefill_mlp(decoder *d, const decoder_layer *y, int R)
{
    const layer_weights *w = y->w;
    int C = d->config.shape.channels, F = d->config.shape.hidden;
    CK(OP(matmul_forward)(
        d->gate_up, d->normed, w->gate_up, w->gate_up_bias, NULL, R, C, 2 * F, d->blas,
        d->stream));
    activate(d, d->gate_up, R);
    CK(OP(matmul_forward)(
        d->normed, d->activated, w->down, w->down_bias, NULL, R, F, C, d->blas,
        d->stream));
}

static void call_watch(decoder *d, int layer, const void *x, int T)
{
    if (d->watch) d->watch(d->watch_user, d, layer, x, T);
}

// What a sequence continues from. In the last layer every token needs the temporal block,
// for the states. Only each sequence's last token needs what follows; pass_finish
// computes it.
static void keep_last(decoder *d, const decoder_layer *y, const E *branch)
{
    const model_shape *s = &d->config.shape;
    CK(OP(gather_rows)(
        d->last_residual, d->residual, d->chunk_last, d->batch, s->channels, d->stream));
    if (branch)
        CK(OP(gather_rows)(
            d->last_branch, branch, d->chunk_last, d->batch, branch_width(s, y),
            d->stream));
}

static void pass_prefill(decoder *d, int t0, int T, bool fresh, bool every_token)
{
    const model_shape *s = &d->config.shape;
    int B = d->batch, R = B * T, C = s->channels, layers = s->layers;
    CK(prompt_chunk(
        d->chunk_token, d->chunk_position, d->chunk_length, d->chunk_last, NULL,
        d->prompt, d->count, d->base, B, T, d->prompt_room, s->vocab, t0, d->stream));
    CK(OP(embedding_forward)(
        d->residual, d->weights.embedding, d->chunk_token, R, C, d->config.padded_vocab,
        d->config.embedding_scale, d->stream));
    call_watch(d, -1, d->residual, T);
    norm(d, d->residual, d->layer[0].w->norm1, R);
    for (int l = 0; l < layers; l++) {
        const decoder_layer *y = &d->layer[l];
        if (y->recurrent)
            prefill_recurrent(d, y, T);
        else
            prefill_attention(d, y, T, fresh);
        const E *branch = y->recurrent ? d->recurrent_out : d->attention;
        if (l == layers - 1 && !every_token) {
            keep_last(d, y, branch);
            return;
        }
        CK(OP(matmul_forward)(
            d->normed, branch, y->w->out, y->w->out_bias, NULL, R, branch_width(s, y), C,
            d->blas, d->stream));
        add_and_norm(d, y->w->norm2, R);
        prefill_mlp(d, y, R);
        if (l + 1 < layers && !d->watch) {
            add_and_norm(d, d->layer[l + 1].w->norm1, R);
            continue;
        }
        CK(OP(add_forward)(
            d->residual, d->residual, d->normed, (size_t)R * C, d->stream));
        call_watch(d, l, d->residual, T);
        if (l + 1 < layers) norm(d, d->residual, d->layer[l + 1].w->norm1, R);
    }
    keep_last(d, NULL, NULL);
}

static void pass_norm(decoder *d, int T)
{
    norm(d, d->residual, d->weights.final_norm, d->batch * T);
    call_watch(d, d->config.shape.layers, d->normed, T);
}

static void pass_logits(decoder *d, int r0, int rows)
{
    const model_shape *s = &d->config.shape;
    int C = s->channels, V = s->vocab;
    const E *x = (const E *)d->normed + (size_t)r0 * C;
    CK(OP(logits_step)(
        d->logits, x, d->weights.head, NULL, rows, C, V, s->eps, d->config.norm_offset,
        d->blas, d->stream));
    if (s->softcap > 0)
        CK(softcap_f32(d->logits, d->logits, (size_t)rows * V, s->softcap, d->stream));
}

/* --- decode ------------------------------------------------------------------------- */

// See min_p_keep in ops.h.
static void apply_min_p(decoder *d, const int *counter)
{
    const decoder_settings *set = &d->set;
    int B = d->batch, V = d->config.shape.vocab;
    bool top_p = set->top_p < 1;
    CK(min_p_scores(
        d->logits, d->seen, B, V, d->config.shape.softcap, set->repetition_penalty,
        d->stream));
    if (top_p)
        CK(sample_f32(
            d->token, NULL, d->logits, d->seed, counter, B, V, V, 0, 1, set->temperature,
            set->top_k, set->top_p, d->workspace, d->workspace_bytes, d->stream));
    float below = set->temperature * logf(set->min_p);
    CK(min_p_keep(d->logits, top_p ? d->token : NULL, B, V, below, d->stream));
}

static void pass_sample(decoder *d)
{
    const model_shape *s = &d->config.shape;
    const decoder_settings *set = &d->set;
    int B = d->batch, V = s->vocab;
    const int *counter = set->by_position ? d->position : d->sampled_count;
    const E *x = d->last_residual, *norm_weight = d->weights.final_norm;
    if (!d->fused) {
        norm(d, x, norm_weight, B);
        x = d->normed, norm_weight = NULL;
    }
    CK(OP(logits_step)(
        d->logits, x, d->weights.head, norm_weight, B, s->channels, V, s->eps,
        d->config.norm_offset, d->blas, d->stream));
    bool min_p = set->min_p > 0 && set->temperature > 0;
    if (min_p) apply_min_p(d, counter);
    CK(sample_f32(
        d->token, d->seen, d->logits, d->seed, counter, B, V, V, min_p ? 0 : s->softcap,
        min_p ? 1 : set->repetition_penalty, set->temperature, set->top_k,
        min_p ? 1 : set->top_p, d->workspace, d->workspace_bytes, d->stream));
    CK(OP(generate_advance)(
        d->last_residual, d->weights.embedding, d->token, d->position, d->done,
        d->sampled_count, d->sampled, d->stop, B, set->max_new_tokens, set->stop_count,
        s->channels, d->config.embedding_scale, d->stream));
}

// One GEMM of a step. norm_weight: the norm of its input, fused where that is possible.
static void step_linear(
    decoder *d, E *out, const E *x, const E *w, const E *bias, const E *norm_weight,
    const E *residual, int I, int O, int activation)
{
    if (norm_weight && !d->fused) {
        norm(d, x, norm_weight, d->batch);
        x = d->normed, norm_weight = NULL;
    }
    CK(OP(linear_step)(
        out, x, w, bias, norm_weight, residual, d->batch, I, O, activation,
        d->config.shape.eps, d->config.norm_offset, d->blas, d->stream));
}

static void step_attention(decoder *d, const decoder_layer *y)
{
    const model_shape *s = &d->config.shape;
    const layer_weights *w = y->w;
    int B = d->batch, C = s->channels, W = d->qkv_width;
    int H = s->heads, K = s->kv_heads, D = s->head_dim;
    float scale = d->config.score_scale;
    E *q = d->qkv, *k = q + H * D, *v = k + K * D;
    step_linear(d, q, d->last_residual, w->qkv, NULL, w->norm1, NULL, C, W, WB_LINEAR);
    if (d->config.window == 0)  // each token sees only itself
        CK(OP(attention_forward)(
            d->attention, NULL, q, k, v, NULL, B, 1, 1, H, K, D, W, W, 0, scale,
            d->workspace, d->workspace_bytes, d->stream));
    else
        CK(OP(attention_decode)(
            d->attention, y->keys, y->values, q, k, v, d->rope_table, d->position, B,
            d->slots, H, K, D, s->rotated, W, W, scale, d->workspace, d->workspace_bytes,
            d->stream));
}

static void step_recurrent(decoder *d, const decoder_layer *y)
{
    const model_shape *s = &d->config.shape;
    const layer_weights *w = y->w;
    int C = s->channels, Cr = s->recurrent, H = s->heads;
    E *x = d->xy, *side = x + Cr;
    step_linear(
        d, x, d->last_residual, w->xy, w->xy_bias, w->norm1, NULL, C, 2 * Cr, WB_LINEAR);
    CK(OP(rglru_step)(
        d->recurrent_out, y->conv, y->state, x, side, w->conv, w->conv_bias, w->gate_x,
        w->gate_x_bias, w->gate_a, w->gate_a_bias, w->a_param, d->position, d->batch, H,
        Cr / H, s->conv_width, 2 * Cr, d->stream));
}

static void step_mlp(decoder *d, const decoder_layer *y)
{
    const layer_weights *w = y->w;
    int C = d->config.shape.channels, F = d->config.shape.hidden;
    E *x = d->last_residual;
    if (d->fused) {
        step_linear(
            d, d->activated, x, w->gate_up, w->gate_up_bias, w->norm2, NULL, C, F,
            d->config.activation);
    } else {
        step_linear(
            d, d->gate_up, x, w->gate_up, w->gate_up_bias, w->norm2, NULL, C, 2 * F,
            WB_LINEAR);
        activate(d, d->gate_up, d->batch);
    }
    step_linear(d, x, d->activated, w->down, w->down_bias, NULL, x, F, C, WB_LINEAR);
}

// What follows a temporal block: its output matrix, and the MLP.
static void step_rest(decoder *d, const decoder_layer *y, const E *branch)
{
    const model_shape *s = &d->config.shape;
    E *x = d->last_residual;
    step_linear(
        d, x, branch, y->w->out, y->w->out_bias, NULL, x, branch_width(s, y), s->channels,
        WB_LINEAR);
    step_mlp(d, y);
}

static void pass_finish(decoder *d)
{
    step_rest(d, &d->layer[d->config.shape.layers - 1], d->last_branch);
}

static void pass_embed(decoder *d)
{
    CK(OP(embedding_forward)(
        d->last_residual, d->weights.embedding, d->token, d->batch,
        d->config.shape.channels, d->config.padded_vocab, d->config.embedding_scale,
        d->stream));
}

// last_residual starts as the embedding of `token`, and ends as that of the next one.
static void pass_step(decoder *d)
{
    const model_shape *s = &d->config.shape;
    for (int l = 0; l < s->layers; l++) {
        const decoder_layer *y = &d->layer[l];
        if (y->recurrent)
            step_recurrent(d, y);
        else
            step_attention(d, y);
        step_rest(d, y, y->recurrent ? d->recurrent_out : d->attention);
    }
    pass_sample(d);
}

static size_t pass_workspace(const decoder *d)
{
    const model_shape *s = &d->config.shape;
    int B = d->batch, T = d->chunk, S = d->slots;
    int H = s->heads, K = s->kv_heads, D = s->head_dim;
    int keys = d->set.continues || d->set.longest_prompt > T ? S + T : T;
    size_t n = sample_workspace_f32(B, s->vocab);
    at_least(&n, OP(attention_forward_workspace)(B, T, keys, H, K, D));
    at_least(&n, OP(attention_decode_workspace)(B, S, H, K, D));
    if (s->recurrent) at_least(&n, OP(rglru_forward_workspace)(B, T, s->recurrent));
    return n;
}

const decoder_calls OP(decoder_calls) = {
    .prefill = pass_prefill,
    .norm = pass_norm,
    .logits = pass_logits,
    .finish = pass_finish,
    .sample = pass_sample,
    .embed = pass_embed,
    .step = pass_step,
    .workspace = pass_workspace,
};
#undef CK
