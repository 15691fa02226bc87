/* engine.c - see recurrentgemma.h: opening and closing, and what can be asked at any
 * time. */
#include "engine.h"
#include "progress.h"

#include <math.h>
#include <stdlib.h>

enum { SCORE_BYTES = 16 << 20 }; /* logits that rg_score has on the device at once */

rg_settings rg_defaults(void)
{
    return (rg_settings){
        .batch = 1,
        .context = 8192,
        .chunk = 2048,
        .drawn = 8192,
        .graph = true,
        .top_p = 1,
        .penalty = 1,
        .stops = -1};
}

static int check_settings(const rg_settings *s, wb_error *err)
{
    if (s->dtype < RG_AUTO || s->dtype > RG_BF16)
        return error_set(err, "dtype %d: there are auto, f32 and bf16", (int)s->dtype);
    if (s->batch < 1)
        return error_set(err, "a batch of %d rows: give at least one", s->batch);
    if (s->context < 2)
        return error_set(err, "a context of %d tokens: give at least two", s->context);
    if (s->chunk < 1)
        return error_set(err, "chunks of %d tokens: give at least one", s->chunk);
    if (s->drawn < 1)
        return error_set(err, "%d tokens to draw: give at least one", s->drawn);
    if (!(s->temperature >= 0) || !isfinite(s->temperature))
        return error_set(err, "temperature %g: give 0 or more", (double)s->temperature);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return error_set(err, "top-p %g: give more than 0, up to 1", (double)s->top_p);
    if (s->top_k < 0)
        return error_set(err, "top-k %d: give 0 (all tokens) or more", s->top_k);
    if (!(s->penalty > 0) || !isfinite(s->penalty))
        return error_set(
            err, "a penalty of %g: give more than 0; 1 is none", (double)s->penalty);
    if (s->stops > 0 && !s->stop)
        return error_set(err, "%d stop tokens, but no list of them", s->stops);
    if (s->stops < 0 && s->stop)
        return error_set(
            err, "a list of stop tokens, but stops %d: say how many it has", s->stops);
    return 0;
}

/* --- opening ------------------------------------------------------------------------ */

static int load(rg_engine *e, const char *folder, wb_error *err)
{
    static const wb_dtype dtype[] = {[RG_F32] = WB_F32, [RG_BF16] = WB_BF16};
    rg_dtype asked = e->set.dtype;
    if (griffin_config_read(&e->config, folder, err)) return -1;
    if (e->set.hf_window) e->config.hf_window = true;
    if (e->config.hf_window && e->config.window < 1)
        return error_set(
            err, "%s: a window of %d tokens has no transformers' form", folder,
            e->config.window);
    return rg_weights_load(
        &e->weights, &e->config, folder, asked == RG_AUTO, dtype[asked], e->stream, err);
}

static int make_decoder(rg_engine *e, wb_error *err)
{
    const rg_settings *s = &e->set;
    const rg_weights *w = &e->weights;
    bool own = s->stop || s->stops == 0;  // not those of the config
    int score = (int)(SCORE_BYTES / sizeof(float) / (size_t)w->shape.V);
    decoder_settings set = {
        .B = s->batch,
        .T = s->chunk < s->context ? s->chunk : s->context,
        .P = s->context,
        .positions = s->context,
        .drawn = s->drawn,
        .score = score < 1 ? 1 : score,
        .continues = true,
        .by_position = true,
        .graph = s->graph,
        .temperature = s->temperature,
        .top_p = s->top_p,
        .top_k = s->top_k,
        .penalty = s->penalty,
        .stop = own ? s->stop : e->config.eos,
        .stops = own ? s->stops : e->config.eos_count};
    if ((size_t)set.score > (size_t)set.B * set.T) set.score = set.B * set.T;
    const decoder_weights at = {
        .layer = w->layer, .emb = w->emb, .head = w->head, .nf = w->nf};
    return decoder_create(&e->d, &w->shape, &at, &set, e->blas, e->stream, err);
}

static int make_rows(rg_engine *e, wb_error *err)
{
    size_t B = (size_t)e->B, context = (size_t)e->set.context;
    e->row = calloc(B, sizeof *e->row);
    e->texts = malloc(B * context * sizeof *e->texts);
    e->unread = calloc(B, sizeof *e->unread);
    e->n = calloc(4 * B, sizeof *e->n);
    if (!e->row || !e->texts || !e->unread || !e->n)
        return error_set(err, "no memory for %d rows of %zu tokens", e->B, context);
    e->base = e->n + B, e->at = e->base + B, e->idle = e->at + B;
    size_t stops = (size_t)e->d.set.stops * sizeof(int);
    e->stop = malloc(stops + 1);
    if (!e->stop) return error_set(err, "no memory for %d stop tokens", e->d.set.stops);
    decoder_download(&e->d, e->stop, e->d.stop, stops);
    CUDA_CHECK(
        cudaMallocHost((void **)&e->h_out, B * (size_t)e->set.drawn * sizeof *e->h_out));
    CUDA_CHECK(cudaStreamCreateWithFlags(&e->copies, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        CUDA_CHECK(cudaEventCreateWithFlags(&e->drawn[i], cudaEventDisableTiming));
        CUDA_CHECK(cudaEventCreateWithFlags(&e->here[i], cudaEventDisableTiming));
    }
    for (int b = 0; b < e->B; b++) {
        e->row[b].text = e->texts + (size_t)b * context;
        rg_reset(e, b, e->set.seed + (uint64_t)b);
    }
    return 0;
}

static void describe(rg_engine *e)
{
    const griffin_config *c = &e->config;
    const rg_weights *w = &e->weights;
    rg_info *i = &e->info;
    *i = (rg_info){
        .layers = c->layers,
        .channels = c->channels,
        .heads = c->heads,
        .head_dim = c->head_dim,
        .hidden = c->hidden,
        .vocab = w->shape.V,
        .recurrent = c->recurrent,
        .taps = c->taps,
        .window = c->window,
        .hf_window = c->hf_window,
        .tied = w->head == w->emb,
        .bos = c->bos,
        .eos = c->eos_count ? c->eos[0] : -1,
        .pad = c->pad,
        .dtype = w->shape.dtype == WB_BF16 ? RG_BF16 : RG_F32,
        .parameters = w->parameters,
        .weight_bytes = w->bytes,
        .cache_bytes = e->d.cache_bytes,
        .buffer_bytes = e->d.arena_bytes - e->d.cache_bytes + wb_blas_bytes(),
        .fused = e->d.fuse};
    for (int l = 0; l < c->layers; l++)
        i->attention_layers += !e->d.layer[l].recurrent;
}

static int open_all(rg_engine *e, const char *folder, wb_error *err)
{
    if (check_settings(&e->set, err)) return -1;
    if (e->set.drawn >= e->set.context) e->set.drawn = e->set.context - 1;
    CUDA_CHECK(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking));
    if (load(e, folder, err)) return -1;
    WB_CHECK(wb_blas_create(&e->blas));
    if (make_decoder(e, err) || make_rows(e, err)) return -1;
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
    e->set = *set, e->B = set->batch;
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
        if (e->drawn[i]) CUDA_CHECK(cudaEventDestroy(e->drawn[i]));
        if (e->here[i]) CUDA_CHECK(cudaEventDestroy(e->here[i]));
    }
    if (e->copies) CUDA_CHECK(cudaStreamDestroy(e->copies));
    if (e->h_out) CUDA_CHECK(cudaFreeHost(e->h_out));
    if (e->h_logits) CUDA_CHECK(cudaFreeHost(e->h_logits));
    if (e->stream) CUDA_CHECK(cudaStreamDestroy(e->stream));
    free(e->row);
    free(e->texts);
    free(e->unread);
    free(e->n);
    free(e->stop);
    free(e);
}

/* --- at any time -------------------------------------------------------------------- */

const rg_info *rg_describe(const rg_engine *e)
{
    return &e->info;
}

const int *rg_tokens(const rg_engine *e, int b)
{
    return e->row[b].text + e->row[b].have - e->row[b].drawn;
}

int rg_drawn(const rg_engine *e, int b)
{
    return e->row[b].drawn;
}

bool rg_done(const rg_engine *e, int b)
{
    return e->row[b].done;
}

int rg_read(const rg_engine *e, int b)
{
    return e->row[b].read;
}

void rg_reset(rg_engine *e, int b, uint64_t seed)
{
    static const int yes = 1;  // the device lets it rest too
    e->row[b] = (engine_row){.text = e->row[b].text, .done = true};
    decoder_upload(&e->d, e->d.seed + b, &seed, sizeof seed);
    decoder_upload(&e->d, e->d.done + b, &yes, sizeof yes);
}
