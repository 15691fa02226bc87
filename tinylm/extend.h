/* extend.h - one text, some tokens at a time, with keys and values kept. Part of pass.h.
 */

// Keys and values of T tokens go to rows past.. of the cache; queries see all rows so far.
static void cached_attention(model *m, model_layer *y, int T, int past)
{
    int H = m->config.heads, K = m->config.kv_heads, D = m->config.head_dim;
    int HD = H * D, KD = K * D, W = m->W;
    E *q = y->qkv, *cache = y->cache;
    size_t row = 2 * (size_t)KD * sizeof(E);
    CK(OP(matmul_forward)(
        q, y->h1, y->wqkv.w, NULL, NULL, T, m->config.channels, W, m->blas, m->stream));
    CK(OP(rope_forward)(q, q, m->cis, m->pos, 1, T, H + K, D, D, W, m->stream));
    CUDA_CHECK(cudaMemcpy2DAsync(
        cache + (size_t)past * 2 * KD, row, q + HD, W * sizeof(E), row, (size_t)T,
        cudaMemcpyDeviceToDevice, m->stream));
    CK(OP(attention_gemm_forward)(
        y->att, y->p, q, cache, cache + KD, 1, T, past + T, H, K, D, W, 2 * KD, m->scale,
        m->blas, m->stream));
}

// The residual stream is added to in the products here: x1 is all layers' x.
static void extend(model *m, int T, int past)
{
    int C = m->config.channels, F = m->config.hidden,
        HD = m->config.heads * m->config.head_dim;
    float eps = m->config.eps;
    E *x = m->layer[0].x1;
    CK(OP(embedding_forward)(x, m->emb.w, m->token, T, C, m->Vp, 1.0f, m->stream));
    for (int l = 0; l < m->config.layers; l++) {
        model_layer *y = &m->layer[l];
        E *gu = y->gu;
        CK(OP(rmsnorm_forward)(y->h1, NULL, x, y->n1.w, T, C, eps, 0.0f, m->stream));
        cached_attention(m, y, T, past);
        CK(OP(matmul_forward)(x, y->att, y->wo.w, NULL, x, T, HD, C, m->blas, m->stream));
        CK(OP(rmsnorm_forward)(y->h2, NULL, x, y->n2.w, T, C, eps, 0.0f, m->stream));
        CK(OP(matmul_forward)(
            gu, y->h2, y->wgu.w, NULL, NULL, T, C, 2 * F, m->blas, m->stream));
        CK(OP(swiglu_forward)(y->s, gu, gu + F, T, F, 2 * F, m->stream));
        CK(OP(matmul_forward)(x, y->s, y->wd.w, NULL, x, T, F, C, m->blas, m->stream));
    }
    E *last = x + (size_t)(T - 1) * C;
    CK(OP(rmsnorm_forward)(m->hf, NULL, last, m->nf.w, 1, C, eps, 0.0f, m->stream));
    CK(OP(logits_step)(
        m->out, m->hf, m->head.w, NULL, 1, C, m->config.vocab, eps, 0.0f, m->blas,
        m->stream));
}
