/* state.c - what a sequence holds, as bytes: a header, which identifies the model; a bit
 * for each token of the vocabulary, set if the token occurs in the sequence; then for
 * each layer the ring of keys and values, or the convolution's inputs and the state of
 * the RG-LRU. */
#include "engine.h"

#include <string.h>

typedef struct state_header {
    char magic[8];
    uint64_t model; /* rg_fingerprint */
    int32_t slots;  /* of the rings */
    int32_t length, processed;
    int32_t newest; /* the last token; -1: there is none */
} state_header;

static const char magic[8] = "rgstat2";

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

static size_t bitmap_bytes(const rg_engine *e)
{
    return ((size_t)e->info.shape.vocab + 7) / 8;
}

size_t rg_state_bytes(const rg_engine *e, int b)
{
    (void)b;
    return sizeof(state_header) + bitmap_bytes(e) +
           decoder_cache_formula(&e->d.config, 1, e->d.slots);
}

/* --- tokens ------------------------------------------------------------------------- */

static bool has_token(const unsigned char *bitmap, int token)
{
    return bitmap[token / 8] >> token % 8 & 1;
}

static void save_tokens(unsigned char *bitmap, size_t bytes, const engine_sequence *s)
{
    memset(bitmap, 0, bytes);
    for (int i = 0; i < s->length; i++)
        bitmap[s->tokens[i] / 8] |= (unsigned char)(1 << s->tokens[i] % 8);
}

// How many tokens the bitmap has; -1: no sequence of this state has these.
static int
count_tokens(const unsigned char *bitmap, size_t bytes, const state_header *h, int vocab)
{
    int count = 0;
    for (int token = 0; token < (int)bytes * 8; token++)
        if (has_token(bitmap, token) && (token >= vocab || ++count > h->length))
            return -1;
    bool some = h->length > 0;
    if (some != (count > 0) || h->newest < -1 || h->newest >= vocab ||
        some != (h->newest >= 0))
        return -1;
    return some && !has_token(bitmap, h->newest) ? -1 : count;
}

// The order of the tokens does not matter: the sequence has each token that occurred at
// least once, and the newest at the end.
static void load_tokens(
    engine_sequence *s, const unsigned char *bitmap, const state_header *h, int vocab)
{
    int count = 0;
    for (int token = 0; token < vocab; token++)
        if (token != h->newest && has_token(bitmap, token)) s->tokens[count++] = token;
    while (count < h->length)
        s->tokens[count++] = h->newest;
}

/* --- all of it ---------------------------------------------------------------------- */

static uint64_t fingerprint(rg_engine *e, wb_error *err)
{
    uint64_t model = rg_fingerprint(e);
    if (!model) error_set(err, "no memory for a part of the weights");
    return model;
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
    state_header h = {
        .model = fingerprint(e, err),
        .slots = e->d.slots,
        .length = s->length,
        .processed = s->processed,
        .newest = s->length ? s->tokens[s->length - 1] : -1};
    if (!h.model) return -1;
    memcpy(h.magic, magic, sizeof magic);
    char *bitmap = (char *)state + sizeof h;
    memcpy(state, &h, sizeof h);
    save_tokens((unsigned char *)bitmap, bitmap_bytes(e), s);
    copy_caches(e, b, bitmap + bitmap_bytes(e), save_piece);
    return 0;
}

static int
check_state(rg_engine *e, const state_header *h, size_t bytes, int b, wb_error *err)
{
    if (memcmp(h->magic, magic, sizeof magic))
        return error_set(err, "not a state that this version of the library saved");
    uint64_t model = fingerprint(e, err);
    if (!model) return -1;
    if (h->model != model)
        return error_set(
            err,
            "the state was saved with other weights, another dtype or another hf_window: "
            "open the same folder with the same settings");
    if (h->slots != e->d.slots)
        return error_set(
            err,
            "the state was saved with rings of %d slots, but the engine's have %d: save "
            "and load it with whole_window, or with a context as long as the window",
            h->slots, e->d.slots);
    if (h->length < 0 || h->length > e->set.context)
        return error_set(
            err, "the state has %d tokens: open the engine with a larger context",
            h->length);
    bool fits = h->processed == h->length || h->processed == h->length - 1;
    if (!fits || h->processed < 0 || bytes != rg_state_bytes(e, b))
        return error_set(err, "a state of %zu bytes is damaged", bytes);
    return 0;
}

int rg_state_load(rg_engine *e, int b, const void *state, size_t bytes, wb_error *err)
{
    state_header h;
    int vocab = e->info.shape.vocab;
    if (bytes < sizeof h) return error_set(err, "a state of %zu bytes is cut off", bytes);
    memcpy(&h, state, sizeof h);
    if (check_state(e, &h, bytes, b, err)) return -1;
    const unsigned char *bitmap = (const unsigned char *)state + sizeof h;
    if (count_tokens(bitmap, bitmap_bytes(e), &h, vocab) < 0)
        return error_set(err, "the tokens of a state are impossible: it is damaged");
    engine_sequence *s = &e->sequence[b];
    load_tokens(s, bitmap, &h, vocab);
    s->length = h.length, s->processed = h.processed;
    s->sampled = 0, s->done = true, s->invalid = false;
    static const int done = 1;  // steps of the device skip it until its rg_prefill
    decoder_upload(&e->d, e->d.done + b, &done, sizeof done);
    copy_caches(e, b, (char *)bitmap + bitmap_bytes(e), load_piece);
    return 0;
}
