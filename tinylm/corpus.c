/* corpus.c - see corpus.h. */
#include "corpus.h"
#include "commands.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_text(const char *text, size_t bytes)
{
    uint64_t h = 0xcbf29ce484222325;  // FNV-1a
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3;
    return h;
}

static int tokenizer_of(tokenizer_kind *kind, const char *name, wb_error *err)
{
    *kind = strcmp(name, "bytes") == 0 ? TOKENIZER_BYTES : TOKENIZER_CHARACTERS;
    if (*kind == TOKENIZER_BYTES || strcmp(name, "characters") == 0) return 0;
    return error_set(err, "--tokenizer %s: give characters or bytes", name);
}

int corpus_check(const options *o, wb_error *err)
{
    tokenizer_kind kind;
    if (!o->data[0]) return error_set(err, "no text: give --data FILE");
    return tokenizer_of(&kind, o->tokenizer, err);
}

int corpus_load(corpus *c, const options *o, wb_error *err)
{
    tokenizer_kind kind;
    size_t bytes, T = (size_t)o->context;
    if (corpus_check(o, err) || tokenizer_of(&kind, o->tokenizer, err)) return -1;
    char *text = read_text(o->data, &bytes, err);
    if (!text) return -1;
    c->hash = hash_text(text, bytes);
    int rc = tokenizer_build(&c->tokenizer, kind, text, bytes, o->data, err);
    if (!rc)
        c->token = tokenizer_encode(&c->tokenizer, text, bytes, o->data, &c->length, err);
    free(text);
    if (rc || !c->token) return -1;
    c->train_length = validation_start(c->length);
    size_t tail = c->length - c->train_length;
    if (c->train_length >= T + 2 && tail >= T + 1) return 0;
    return error_set(
        err, "%s: %zu tokens, %zu of them for validation: too short for --context %ld",
        o->data, c->length, tail, o->context);
}

void corpus_free(corpus *c)
{
    tokenizer_free(&c->tokenizer);
    free(c->token);
    *c = (corpus){0};
}
