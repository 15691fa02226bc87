/* state.c - what a sequence holds, as bytes: its tokens, then of each layer the ring of
 * keys and values, or the convolution's inputs and the state of the RG-LRU. */
#include "engine.h"

#include <string.h>

typedef struct state_header {
    char magic[8];
    int32_t dtype, layers, attention_layers, channels, recurrent, conv_width;
    int32_t kv_width, slots; /* of the rings */
    int32_t length, processed;
} state_header;

static state_header header_of(const rg_engine *e, int b)
{
    const model_shape *s = &e->d.config.shape;
    return (state_header){
        .magic = "rgstate",
        .dtype = e->info.dtype,
        .layers = s->layers,
        .attention_layers = e->info.attention_layers,
        .channels = s->channels,
        .recurrent = s->recurrent,
        .conv_width = s->conv_width,
        .kv_width = s->kv_heads * s->head_dim,
        .slots = e->d.slots,
        .length = e->sequence[b].length,
        .processed = e->sequence[b].processed};
}

typedef void copy_piece(decoder *d, void *state, void *device, size_t bytes);

static void save_piece(decoder *d, void *state, void *device, size_t bytes)
{
    decoder_download(d, state, device, bytes);
}
static void load_piece(decoder *d, void *state, void *device, size_t bytes)
{
    decoder_upload(d, device, state, bytes);
}

// Copies sequence b's part of a cache; returns where the next piece of the state begins.
static char *
part(decoder *d, int b, char *state, void *cache, size_t bytes, copy_piece *copy)
{
    copy(d, state, (char *)cache + (size_t)b * bytes, bytes);
    return state + bytes;
}

static void copy_caches(rg_engine *e, int b, char *state, copy_piece *copy)
{
    decoder *d = &e->d;
    const model_shape *s = &d->config.shape;
    size_t element = wb_dtype_size(d->config.dtype), Cr = (size_t)s->recurrent;
    size_t ring = (size_t)d->slots * (size_t)s->kv_heads * (size_t)s->head_dim * element;
    for (int l = 0; l < s->layers; l++) {
        decoder_layer *y = &d->layer[l];
        if (y->recurrent) {
            state =
                part(d, b, state, y->conv, (size_t)s->conv_width * Cr * element, copy);
            state = part(d, b, state, y->state, Cr * sizeof(float), copy);
        } else {
            state = part(d, b, state, y->keys, ring, copy);
            state = part(d, b, state, y->values, ring, copy);
        }
    }
}

static size_t bytes_of(const rg_engine *e, int length)
{
    return sizeof(state_header) + (size_t)length * sizeof(int) +
           decoder_cache_formula(&e->d.config, 1, e->d.slots);
}

size_t rg_state_bytes(const rg_engine *e, int b)
{
    return bytes_of(e, e->sequence[b].length);
}

int rg_state_save(rg_engine *e, int b, void *state, wb_error *err)
{
    const engine_sequence *s = &e->sequence[b];
    if (s->invalid)
        return error_set(
            err,
            "sequence %d ended before the others and was stepped past its end: its states "
            "are lost",
            b);
    state_header h = header_of(e, b);
    char *tokens = (char *)state + sizeof h;
    memcpy(state, &h, sizeof h);
    memcpy(tokens, s->tokens, (size_t)s->length * sizeof(int));
    copy_caches(e, b, tokens + (size_t)s->length * sizeof(int), save_piece);
    return 0;
}

int rg_state_load(rg_engine *e, int b, const void *state, size_t bytes, wb_error *err)
{
    state_header h, own = header_of(e, b);
    if (bytes < sizeof h) return error_set(err, "a state of %zu bytes is cut off", bytes);
    memcpy(&h, state, sizeof h);
    own.length = h.length, own.processed = h.processed;
    if (memcmp(&h, &own, sizeof h))
        return error_set(
            err,
            "not a state of this model: open the same folder, with the same dtype and a "
            "context as long as the attention's window");
    if (h.length < 0 || h.length > e->set.context)
        return error_set(
            err, "the state has %d tokens: open the engine with a larger context",
            h.length);
    if (h.processed < 0 || h.processed > h.length || bytes != bytes_of(e, h.length))
        return error_set(err, "a state of %zu bytes is damaged", bytes);
    const char *tokens = (const char *)state + sizeof h;
    for (int i = 0, token; i < h.length; i++) {
        memcpy(&token, tokens + (size_t)i * sizeof token, sizeof token);
        if (token < 0 || token >= e->info.shape.vocab)
            return error_set(err, "the state's token %d is %d: it is damaged", i, token);
    }
    engine_sequence *s = &e->sequence[b];
    memcpy(s->tokens, tokens, (size_t)h.length * sizeof(int));
    s->length = h.length, s->processed = h.processed;
    s->sampled = 0, s->done = true, s->invalid = false;
    static const int done = 1;  // steps of the device skip it until its rg_prefill
    decoder_upload(&e->d, e->d.done + b, &done, sizeof done);
    copy_caches(e, b, (char *)tokens + (size_t)h.length * sizeof(int), load_piece);
    return 0;
}
