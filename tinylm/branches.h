/* branches.h - what a layer adds to the residual stream: attention, RG-LRU, MLP, forward
 * and backward. Part of pass.h, which defines E, OP and CK.
 *
 * A forward branch reads the normalised stream and writes its output to m->branch. A
 * backward branch reads db, the gradient of that, and writes the gradient of the
 * normalised stream to m->d_normed. Biases that an architecture lacks are NULL. Shapes
 * are in model.h.
 */

/* --- attention ---------------------------------------------------------------------- */

static void attention_branch(model *m, model_layer *y)
{
    const model_shape *s = &m->config.shape;
    const layer_weights *w = y->w;
    int B = m->batch, T = m->length, R = m->rows, C = s->channels, D = s->head_dim;
    int H = s->heads, K = s->kv_heads, HD = H * D, KD = K * D, W = m->qkv_width;
    E *q = y->qkv, *k = q + HD, *v = k + KD;
    CK(OP(matmul_forward)(
        q, y->normed1, w->qkv, NULL, NULL, R, C, W, m->blas, m->stream));
    CK(OP(rope_forward)(
        q, q, m->rope_table, NULL, B, T, H + K, D, s->rotated, W, m->stream));
    if (m->config.gemm_attention)
        CK(OP(attention_gemm_forward)(
            y->attention, y->probabilities, q, k, v, B, T, T, H, K, D, W, W,
            m->score_scale, m->blas, m->stream));
    else
        CK(OP(attention_forward)(
            y->attention, y->lse, q, k, v, NULL, B, T, T, H, K, D, W, W, m->window,
            m->score_scale, m->workspace, m->workspace_bytes, m->stream));
    CK(OP(matmul_forward)(
        m->branch, y->attention, w->out, w->out_bias, NULL, R, HD, C, m->blas,
        m->stream));
}

static void attention_branch_backward(model *m, model_layer *y, const E *db)
{
    const model_shape *s = &m->config.shape;
    const layer_weights *w = y->w, *dw = y->grad;
    int B = m->batch, T = m->length, R = m->rows, C = s->channels, D = s->head_dim;
    int H = s->heads, K = s->kv_heads, HD = H * D, KD = K * D, W = m->qkv_width;
    E *q = y->qkv, *k = q + HD, *v = k + KD, *dq = m->d_qkv, *dk = dq + HD, *dv = dk + KD;
    CK(OP(matmul_backward)(
        m->d_attention, dw->out, dw->out_bias, db, y->attention, w->out, R, HD, C,
        m->blas, m->stream));
    if (m->config.gemm_attention)
        CK(OP(attention_gemm_backward)(
            dq, dk, dv, m->d_attention, q, k, v, y->probabilities, B, T, T, H, K, D, W, W,
            m->score_scale, m->workspace, m->workspace_bytes, m->blas, m->stream));
    else
        CK(OP(attention_backward)(
            dq, dk, dv, m->d_attention, q, k, v, y->attention, y->lse, NULL, B, T, T, H,
            K, D, W, W, m->window, m->score_scale, m->workspace, m->workspace_bytes,
            m->stream));
    CK(OP(rope_backward)(
        dq, dq, m->rope_table, NULL, B, T, H + K, D, s->rotated, W, m->stream));
    CK(OP(matmul_backward)(
        m->d_normed, dw->qkv, NULL, dq, y->normed1, w->qkv, R, C, W, m->blas, m->stream));
}

/* --- RG-LRU ------------------------------------------------------------------------- */

// Every sequence is a document of its own: no positions, no earlier state.
static void recurrent_branch(model *m, model_layer *y)
{
    const model_shape *s = &m->config.shape;
    const layer_weights *w = y->w;
    int B = m->batch, T = m->length, R = m->rows, C = s->channels;
    int Cr = s->recurrent, G = s->heads, M = Cr / G, conv_width = s->conv_width;
    E *x = y->xy, *side = x + Cr;
    CK(OP(matmul_forward)(
        x, y->normed1, w->xy, w->xy_bias, NULL, R, C, 2 * Cr, m->blas, m->stream));
    CK(OP(conv1d_forward)(
        y->conv_out, NULL, x, w->conv, w->conv_bias, NULL, NULL, B, T, Cr, conv_width,
        2 * Cr, m->stream));
    CK(OP(block_linear_forward)(
        y->gate_x, y->gate_a, y->conv_out, w->gate_x, w->gate_x_bias, w->gate_a,
        w->gate_a_bias, R, G, M, m->stream));
    CK(OP(rglru_forward)(
        y->recurrent_out, y->state, NULL, y->conv_out, y->gate_x, y->gate_a, side,
        w->a_param, NULL, NULL, B, T, Cr, 2 * Cr, m->workspace, m->workspace_bytes,
        m->stream));
    CK(OP(matmul_forward)(
        m->branch, y->recurrent_out, w->out, w->out_bias, NULL, R, Cr, C, m->blas,
        m->stream));
}

static void recurrent_branch_backward(model *m, model_layer *y, const E *db)
{
    const model_shape *s = &m->config.shape;
    const layer_weights *w = y->w, *dw = y->grad;
    int B = m->batch, T = m->length, R = m->rows, C = s->channels;
    int Cr = s->recurrent, G = s->heads, M = Cr / G, conv_width = s->conv_width;
    E *x = y->xy, *side = x + Cr, *dx = m->d_xy, *dside = dx + Cr;
    CK(OP(matmul_backward)(
        m->d_recurrent_out, dw->out, dw->out_bias, db, y->recurrent_out, w->out, R, Cr, C,
        m->blas, m->stream));
    CK(OP(rglru_backward)(
        m->d_conv_out, m->d_gate_x, m->d_gate_a, dside, dw->a_param, m->d_recurrent_out,
        y->conv_out, y->gate_x, y->gate_a, side, y->state, w->a_param, NULL, B, T, Cr,
        2 * Cr, m->workspace, m->workspace_bytes, m->stream));
    CK(OP(block_linear_backward)(  // adds the gradient through the gates
        m->d_conv_out, dw->gate_x, dw->gate_x_bias, dw->gate_a, dw->gate_a_bias,
        m->d_conv_out, m->d_gate_x, m->d_gate_a, y->conv_out, w->gate_x, w->gate_a, R, G,
        M, m->workspace, m->workspace_bytes, m->stream));
    CK(OP(conv1d_backward)(  // next to dside: d_xy is complete
        dx, dw->conv, dw->conv_bias, m->d_conv_out, x, w->conv, NULL, B, T, Cr,
        conv_width, 2 * Cr, m->workspace, m->workspace_bytes, m->stream));
    CK(OP(matmul_backward)(
        m->d_normed, dw->xy, dw->xy_bias, dx, y->normed1, w->xy, R, C, 2 * Cr, m->blas,
        m->stream));
}

/* --- MLP ---------------------------------------------------------------------------- */

static void mlp_branch(model *m, model_layer *y)
{
    const model_shape *s = &m->config.shape;
    const layer_weights *w = y->w;
    int R = m->rows, C = s->channels, F = s->hidden;
    E *gate = y->gate_up, *up = gate + F;
    CK(OP(matmul_forward)(
        gate, y->normed2, w->gate_up, w->gate_up_bias, NULL, R, C, 2 * F, m->blas,
        m->stream));
    if (m->config.arch == MODEL_GRIFFIN)
        CK(OP(geglu_forward)(y->activated, gate, up, R, F, 2 * F, m->stream));
    else
        CK(OP(swiglu_forward)(y->activated, gate, up, R, F, 2 * F, m->stream));
    CK(OP(matmul_forward)(
        m->branch, y->activated, w->down, w->down_bias, NULL, R, F, C, m->blas,
        m->stream));
}

static void mlp_branch_backward(model *m, model_layer *y, const E *db)
{
    const model_shape *s = &m->config.shape;
    const layer_weights *w = y->w, *dw = y->grad;
    int R = m->rows, C = s->channels, F = s->hidden;
    E *gate = y->gate_up, *up = gate + F;  // overwritten by their gradients
    CK(OP(matmul_backward)(
        m->d_activated, dw->down, dw->down_bias, db, y->activated, w->down, R, F, C,
        m->blas, m->stream));
    if (m->config.arch == MODEL_GRIFFIN)
        CK(OP(geglu_backward)(
            gate, up, m->d_activated, gate, up, R, F, 2 * F, m->stream));
    else
        CK(OP(swiglu_backward)(
            gate, up, m->d_activated, gate, up, R, F, 2 * F, m->stream));
    CK(OP(matmul_backward)(
        m->d_normed, dw->gate_up, dw->gate_up_bias, gate, y->normed2, w->gate_up, R, C,
        2 * F, m->blas, m->stream));
}
