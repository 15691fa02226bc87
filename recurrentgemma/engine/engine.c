/* engine.c - see recurrentgemma.h: opening and closing, and the queries. */
#include "engine.h"
#include "progress.h"
#include "version.h"

#include <math.h>
#include <stdlib.h>

enum { SCORE_BYTES = 16 << 20 };  // logits that rg_score keeps on the device at a time

const char *rg_version(void)
{
    return WARPBOOK_VERSION;
}

rg_settings rg_defaults(void)
{
    return (rg_settings){
        .batch = 1,
        .context = 8192,
        .chunk = 2048,
        .max_new_tokens = 8192,
        .graph = true,
        .top_p = 1,
        .repetition_penalty = 1,
        .stop_count = -1};
}

static int check_sampling(const rg_settings *s, wb_error *err)
{
    if (!(s->temperature >= 0) || !isfinite(s->temperature))
        return error_set(err, "temperature %g: give 0 or more", (double)s->temperature);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return error_set(err, "top-p %g: give more than 0, up to 1", (double)s->top_p);
    if (!(s->min_p >= 0 && s->min_p <= 1))
        return error_set(err, "min-p %g: give 0 (all tokens) to 1", (double)s->min_p);
    if (s->top_k < 0)
        return error_set(err, "top-k %d: give 0 (all tokens) or more", s->top_k);
    if (!(s->repetition_penalty > 0) || !isfinite(s->repetition_penalty))
        return error_set(
            err, "a repetition penalty of %g: give more than 0; 1 means none",
            (double)s->repetition_penalty);
    return 0;
}

static int check_settings(const rg_settings *s, wb_error *err)
{
    if (s->dtype < RG_AUTO || s->dtype > RG_BF16)
        return error_set(err, "dtype %d: give auto, f32 or bf16", (int)s->dtype);
    if (s->batch < 1)
        return error_set(err, "a batch of %d sequences: give at least one", s->batch);
    if (s->context < 2)
        return error_set(err, "a context of %d tokens: give at least two", s->context);
    if (s->chunk < 1)
        return error_set(err, "chunks of %d tokens: give at least one", s->chunk);
    if (s->max_new_tokens < 1)
        return error_set(err, "%d new tokens: give at least one", s->max_new_tokens);
    if (s->stop_count > 0 && !s->stop)
        return error_set(err, "%d stop tokens, but no list of them", s->stop_count);
    if (s->stop_count < 0 && s->stop)
        return error_set(
            err, "a list of stop tokens, but stop_count %d: say how many it has",
            s->stop_count);
    return check_sampling(s, err);
}

/* --- opening ------------------------------------------------------------------------ */

static int load(rg_engine *e, const char *folder, wb_error *err)
{
    static const wb_dtype dtype[] = {[RG_F32] = WB_F32, [RG_BF16] = WB_BF16};
    rg_dtype asked = e->set.dtype;
    model_shape *s = &e->config.shape;
    if (griffin_config_read(&e->config, folder, err)) return -1;
    if (e->set.hf_window) s->hf_window = true;
    if (s->hf_window && s->window < 1)
        return error_set(
            err, "%s: a window of %d tokens: --hf-window needs at least 1", folder,
            s->window);
    return rg_weights_load(
        &e->weights, &e->config, folder, asked == RG_AUTO, dtype[asked], e->stream, err);
}

static int make_decoder(rg_engine *e, wb_error *err)
{
    const rg_settings *s = &e->set;
    const rg_weights *w = &e->weights;
    bool own = s->stop || s->stop_count == 0;  // not the config's stop tokens
    size_t row_bytes = sizeof(float) * (size_t)w->config.shape.vocab;
    int score_rows = (int)(SCORE_BYTES / row_bytes);
    decoder_settings set = {
        .batch = s->batch,
        .chunk = s->chunk < s->context ? s->chunk : s->context,
        .longest_prompt = s->context,
        .positions = s->context,
        .max_new_tokens = s->max_new_tokens,
        .score_rows = score_rows < 1 ? 1 : score_rows,
        .continues = true,
        .by_position = true,
        .whole_window = s->whole_window,
        .graph = s->graph,
        .temperature = s->temperature,
        .top_p = s->top_p,
        .min_p = s->min_p,
        .top_k = s->top_k,
        .repetition_penalty = s->repetition_penalty,
        .stop = own ? s->stop : e->config.eos.id,
        .stop_count = own ? s->stop_count : e->config.eos.count};
    size_t rows = (size_t)set.batch * (size_t)set.chunk;
    if ((size_t)set.score_rows > rows) set.score_rows = (int)rows;
    return decoder_create(&e->d, &w->config, &w->at, &set, e->blas, e->stream, err);
}

static int make_sequences(rg_engine *e, wb_error *err)
{
    size_t B = (size_t)e->batch, context = (size_t)e->set.context;
    e->sequence = calloc(B, sizeof *e->sequence);
    e->tokens = malloc(B * context * sizeof *e->tokens);
    e->pending = calloc(B, sizeof *e->pending);
    e->count = calloc(4 * B, sizeof *e->count);
    if (!e->sequence || !e->tokens || !e->pending || !e->count)
        return error_set(
            err, "no memory for %d sequences of %zu tokens", e->batch, context);
    e->base = e->count + B, e->at = e->base + B, e->idle = e->at + B;
    size_t stops = (size_t)e->d.set.stop_count * sizeof(int);
    e->stop = malloc(stops + 1);
    if (!e->stop)
        return error_set(err, "no memory for %d stop tokens", e->d.set.stop_count);
    decoder_download(&e->d, e->stop, e->d.stop, stops);
    size_t samples = B * (size_t)e->set.max_new_tokens;
    CUDA_CHECK(cudaMallocHost((void **)&e->h_sampled, samples * sizeof *e->h_sampled));
    CUDA_CHECK(cudaStreamCreateWithFlags(&e->copies, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        CUDA_CHECK(cudaEventCreateWithFlags(&e->sampled[i], cudaEventDisableTiming));
        CUDA_CHECK(cudaEventCreateWithFlags(&e->arrived[i], cudaEventDisableTiming));
    }
    for (int b = 0; b < e->batch; b++) {
        e->sequence[b].tokens = e->tokens + (size_t)b * context;
        rg_reset(e, b, e->set.seed + (uint64_t)b);
    }
    return 0;
}

void engine_count_bytes(rg_engine *e)
{
    const decoder *d = &e->d;
    size_t arena = d->arena_bytes - d->cache_bytes;
    e->info.buffer_bytes = arena + d->grown_bytes + wb_blas_bytes();
}

static void describe(rg_engine *e)
{
    const griffin_config *c = &e->config;
    const rg_weights *w = &e->weights;
    rg_info *i = &e->info;
    *i = (rg_info){
        .shape = c->shape,
        .bos = c->bos,
        .eos = c->eos.count ? c->eos.id[0] : -1,
        .pad = c->pad,
        .dtype = w->config.dtype == WB_BF16 ? RG_BF16 : RG_F32,
        .parameters = w->parameters,
        .weight_bytes = w->bytes,
        .cache_bytes = e->d.cache_bytes,
        .fused = e->d.fused};
    engine_count_bytes(e);
    i->shape.vocab = w->config.shape.vocab;
    i->shape.tied = w->at.head == w->at.embedding;
    for (int l = 0; l < c->shape.layers; l++)
        i->attention_layers += !shape_is_recurrent(&c->shape, l);
}

static int open_all(rg_engine *e, const char *folder, wb_error *err)
{
    rg_settings *s = &e->set;
    if (check_settings(s, err)) return -1;
    if (s->max_new_tokens >= s->context) s->max_new_tokens = s->context - 1;
    CUDA_CHECK(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking));
    if (load(e, folder, err)) return -1;
    wb_avoid_waits();
    WB_CHECK(wb_blas_create(&e->blas));
    if (make_decoder(e, err) || make_sequences(e, err)) return -1;
    describe(e);
    return 0;
}

rg_engine *rg_open(const char *folder, const rg_settings *set, wb_error *err)
{
    double began = seconds_now();
    rg_engine *e = calloc(1, sizeof *e);
    if (!e) {
        error_set(err, "no memory for an engine");
        return NULL;
    }
    e->set = *set, e->batch = set->batch;
    if (open_all(e, folder, err)) {
        rg_close(e);
        return NULL;
    }
    e->info.load_seconds = seconds_now() - began;
    return e;
}

void rg_close(rg_engine *e)
{
    if (!e) return;
    if (e->stream) CUDA_CHECK(cudaStreamSynchronize(e->stream));
    decoder_destroy(&e->d);
    rg_weights_free(&e->weights);
    if (e->blas) wb_blas_destroy(e->blas);
    for (int i = 0; i < 2; i++) {
        if (e->sampled[i]) CUDA_CHECK(cudaEventDestroy(e->sampled[i]));
        if (e->arrived[i]) CUDA_CHECK(cudaEventDestroy(e->arrived[i]));
    }
    if (e->copies) CUDA_CHECK(cudaStreamDestroy(e->copies));
    if (e->h_sampled) CUDA_CHECK(cudaFreeHost(e->h_sampled));
    if (e->h_logits) CUDA_CHECK(cudaFreeHost(e->h_logits));
    if (e->stream) CUDA_CHECK(cudaStreamDestroy(e->stream));
    free(e->sequence);
    free(e->tokens);
    free(e->pending);
    free(e->count);
    free(e->stop);
    free(e);
}

/* --- queries ------------------------------------------------------------------------ */

const rg_info *rg_describe(const rg_engine *e)
{
    return &e->info;
}

const int *rg_tokens(const rg_engine *e, int b)
{
    const engine_sequence *s = &e->sequence[b];
    return s->tokens + s->length - s->sampled;
}

int rg_sampled(const rg_engine *e, int b)
{
    return e->sequence[b].sampled;
}

bool rg_done(const rg_engine *e, int b)
{
    return e->sequence[b].done;
}

int rg_processed(const rg_engine *e, int b)
{
    return e->sequence[b].processed;
}

int rg_take_back(rg_engine *e, int b)
{
    engine_sequence *s = &e->sequence[b];
    if (s->sampled == 0 || s->processed == s->length) return -1;
    s->sampled--, s->done = true;
    return s->tokens[--s->length];
}

void rg_reset(rg_engine *e, int b, uint64_t seed)
{
    static const int done = 1;  // steps of the device skip it too
    e->sequence[b] = (engine_sequence){.tokens = e->sequence[b].tokens, .done = true};
    decoder_upload(&e->d, e->d.seed + b, &seed, sizeof seed);
    decoder_upload(&e->d, e->d.done + b, &done, sizeof done);
}
