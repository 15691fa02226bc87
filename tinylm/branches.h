/* branches.h - what a layer adds to the residual stream: attention, RG-LRU, MLP, forward
 * and backward. Part of pass.h, which says what E, OP and CK are.
 *
 * A forward branch reads the normalised stream and leaves its sum in m->br. A backward
 * branch reads db, the gradient of that, and leaves the gradient of the normalised stream
 * in m->dh. Biases that an architecture lacks are NULL. Shapes are in model.h.
 */

/* --- attention ---------------------------------------------------------------------- */

static void attention_branch(model *m, model_layer *y)
{
    int B = m->B, T = m->T, R = m->R, C = m->config.channels, D = m->config.head_dim;
    int H = m->config.heads, K = m->config.kv_heads, HD = H * D, KD = K * D, W = m->W;
    E *q = y->qkv, *k = q + HD, *v = k + KD;
    CK(OP(matmul_forward)(q, y->h1, y->wqkv.w, NULL, NULL, R, C, W, m->blas, m->stream));
    CK(OP(rope_forward)(q, q, m->cis, NULL, B, T, H + K, D, m->rotated, W, m->stream));
    if (m->config.gemm_attention)
        CK(OP(attention_gemm_forward)(
            y->att, y->p, q, k, v, B, T, T, H, K, D, W, W, m->scale, m->blas, m->stream));
    else
        CK(OP(attention_forward)(
            y->att, y->lse, q, k, v, NULL, B, T, T, H, K, D, W, W, m->window, m->scale,
            m->ws, m->ws_bytes, m->stream));
    CK(OP(matmul_forward)(
        m->br, y->att, y->wo.w, y->bo.w, NULL, R, HD, C, m->blas, m->stream));
}

static void attention_branch_backward(model *m, model_layer *y, const E *db)
{
    int B = m->B, T = m->T, R = m->R, C = m->config.channels, D = m->config.head_dim;
    int H = m->config.heads, K = m->config.kv_heads, HD = H * D, KD = K * D, W = m->W;
    E *q = y->qkv, *k = q + HD, *v = k + KD, *dq = m->dqkv, *dk = dq + HD, *dv = dk + KD;
    CK(OP(matmul_backward)(
        m->datt, y->wo.d, y->bo.d, db, y->att, y->wo.w, R, HD, C, m->blas, m->stream));
    if (m->config.gemm_attention)
        CK(OP(attention_gemm_backward)(
            dq, dk, dv, m->datt, q, k, v, y->p, B, T, T, H, K, D, W, W, m->scale, m->ws,
            m->ws_bytes, m->blas, m->stream));
    else
        CK(OP(attention_backward)(
            dq, dk, dv, m->datt, q, k, v, y->att, y->lse, NULL, B, T, T, H, K, D, W, W,
            m->window, m->scale, m->ws, m->ws_bytes, m->stream));
    CK(OP(rope_backward)(dq, dq, m->cis, NULL, B, T, H + K, D, m->rotated, W, m->stream));
    CK(OP(matmul_backward)(
        m->dh, y->wqkv.d, NULL, dq, y->h1, y->wqkv.w, R, C, W, m->blas, m->stream));
}

/* --- RG-LRU ------------------------------------------------------------------------- */

// Every row is a document of its own: no positions, no state from before.
static void recurrent_branch(model *m, model_layer *y)
{
    int B = m->B, T = m->T, R = m->R, C = m->config.channels, taps = m->config.taps;
    int Cr = m->config.recurrent, G = m->config.heads, M = Cr / G;
    E *x = y->xy, *side = x + Cr;
    CK(OP(matmul_forward)(
        x, y->h1, y->wxy.w, y->bxy.w, NULL, R, C, 2 * Cr, m->blas, m->stream));
    CK(OP(conv1d_forward)(
        y->c, NULL, x, y->cw.w, y->cb.w, NULL, NULL, B, T, Cr, taps, 2 * Cr, m->stream));
    CK(OP(block_linear_forward)(
        y->px, y->pa, y->c, y->wx.w, y->bx.w, y->wa.w, y->ba.w, R, G, M, m->stream));
    CK(OP(rglru_forward)(
        y->g, y->h, NULL, y->c, y->px, y->pa, side, y->ap.w, NULL, NULL, B, T, Cr, 2 * Cr,
        m->ws, m->ws_bytes, m->stream));
    CK(OP(matmul_forward)(
        m->br, y->g, y->wo.w, y->bo.w, NULL, R, Cr, C, m->blas, m->stream));
}

static void recurrent_branch_backward(model *m, model_layer *y, const E *db)
{
    int B = m->B, T = m->T, R = m->R, C = m->config.channels, taps = m->config.taps;
    int Cr = m->config.recurrent, G = m->config.heads, M = Cr / G;
    E *x = y->xy, *side = x + Cr, *dx = m->dxy, *dside = dx + Cr;
    CK(OP(matmul_backward)(
        m->dg, y->wo.d, y->bo.d, db, y->g, y->wo.w, R, Cr, C, m->blas, m->stream));
    CK(OP(rglru_backward)(
        m->dc, m->dpx, m->dpa, dside, y->ap.d, m->dg, y->c, y->px, y->pa, side, y->h,
        y->ap.w, NULL, B, T, Cr, 2 * Cr, m->ws, m->ws_bytes, m->stream));
    CK(OP(block_linear_backward)(  // adds what reaches c through the gates
        m->dc, y->wx.d, y->bx.d, y->wa.d, y->ba.d, m->dc, m->dpx, m->dpa, y->c, y->wx.w,
        y->wa.w, R, G, M, m->ws, m->ws_bytes, m->stream));
    CK(OP(conv1d_backward)(  // beside dside: the packed gradient is whole
        dx, y->cw.d, y->cb.d, m->dc, x, y->cw.w, NULL, B, T, Cr, taps, 2 * Cr, m->ws,
        m->ws_bytes, m->stream));
    CK(OP(matmul_backward)(
        m->dh, y->wxy.d, y->bxy.d, dx, y->h1, y->wxy.w, R, C, 2 * Cr, m->blas,
        m->stream));
}

/* --- MLP ---------------------------------------------------------------------------- */

static void mlp_branch(model *m, model_layer *y)
{
    int R = m->R, C = m->config.channels, F = m->config.hidden;
    E *gate = y->gu, *up = gate + F;
    CK(OP(matmul_forward)(
        gate, y->h2, y->wgu.w, y->bgu.w, NULL, R, C, 2 * F, m->blas, m->stream));
    if (m->config.arch == MODEL_GRIFFIN)
        CK(OP(geglu_forward)(y->s, gate, up, R, F, 2 * F, m->stream));
    else
        CK(OP(swiglu_forward)(y->s, gate, up, R, F, 2 * F, m->stream));
    CK(OP(matmul_forward)(
        m->br, y->s, y->wd.w, y->bd.w, NULL, R, F, C, m->blas, m->stream));
}

static void mlp_branch_backward(model *m, model_layer *y, const E *db)
{
    int R = m->R, C = m->config.channels, F = m->config.hidden;
    E *gate = y->gu, *up = gate + F;  // their gradients take their place
    CK(OP(matmul_backward)(
        m->ds, y->wd.d, y->bd.d, db, y->s, y->wd.w, R, F, C, m->blas, m->stream));
    if (m->config.arch == MODEL_GRIFFIN)
        CK(OP(geglu_backward)(gate, up, m->ds, gate, up, R, F, 2 * F, m->stream));
    else
        CK(OP(swiglu_backward)(gate, up, m->ds, gate, up, R, F, 2 * F, m->stream));
    CK(OP(matmul_backward)(
        m->dh, y->wgu.d, y->bgu.d, gate, y->h2, y->wgu.w, R, C, 2 * F, m->blas,
        m->stream));
}
