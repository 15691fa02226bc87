/* corpus.c - see corpus.h. */
#include "corpus.h"
#include "commands.h"
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reading ------------------------------------------------------------------------ */

// All texts in one buffer, without a gap.
typedef struct texts {
    const flag_list *data;
    char *all;
    size_t bytes, end[FLAG_LIST_ROOM];
} texts;

static const char *text_at(const texts *t, int i, size_t *bytes)
{
    size_t begin = i ? t->end[i - 1] : 0;
    *bytes = t->end[i] - begin;
    return t->all + begin;
}

static int read_all(texts *t, const flag_list *data, wb_error *err)
{
    *t = (texts){.data = data};
    for (int i = 0; i < data->count; i++) {
        size_t n;
        char *text = read_text(data->word[i], &n, err);
        if (!text) return -1;
        char *all = i ? realloc(t->all, t->bytes + n + 1) : text;
        if (!all) {
            free(text);
            return error_set(
                err, "no memory for %d texts of %zu bytes", i + 1, t->bytes + n);
        }
        if (i) memcpy(all + t->bytes, text, n + 1), free(text);
        t->all = all, t->end[i] = t->bytes += n;
    }
    return 0;
}

// By bytes. The same bytes cut in another way are other texts.
static uint64_t hash_texts(const texts *t)
{
    uint64_t h = HASH_START;
    for (size_t i = 0; i < t->bytes; i++)
        h = hash_step(h, (unsigned char)t->all[i]);
    for (int i = 0; i + 1 < t->data->count; i++)
        for (int k = 0; k < 8; k++)
            h = hash_step(h, (unsigned char)(t->end[i] >> 8 * k));
    return h;
}

const char *corpus_name(char name[1100], const flag_list *data)
{
    int more = data->count - 1;
    snprintf(name, 1100, more ? "%.1000s and %d more" : "%.1000s", data->word[0], more);
    return name;
}

/* --- tokens ------------------------------------------------------------------------- */

static int tokenizer_of(tokenizer_kind *kind, const char *name, wb_error *err)
{
    *kind = strcmp(name, "bytes") == 0 ? TOKENIZER_BYTES : TOKENIZER_CHARACTERS;
    if (*kind == TOKENIZER_BYTES || strcmp(name, "characters") == 0) return 0;
    return error_set(err, "--tokenizer %s: give characters or bytes", name);
}

// One for all texts. Each alone comes first: an error names the text and the place in it.
static int
build_tokenizer(tokenizer *t, tokenizer_kind kind, const texts *all, wb_error *err)
{
    int count = all->data->count;
    for (int i = 0; i < count; i++) {
        size_t bytes;
        const char *text = text_at(all, i, &bytes);
        if (tokenizer_build(t, kind, text, bytes, all->data->word[i], err)) return -1;
        if (count > 1) tokenizer_free(t);
    }
    if (count == 1) return 0;
    return tokenizer_build(t, kind, all->all, all->bytes, "--data", err);
}

// Every text's tokens go to their two places.
static int encode(corpus *c, const texts *t, wb_error *err)
{
    int *ids[FLAG_LIST_ROOM] = {0}, texts = t->data->count, rc = 0;
    size_t count[FLAG_LIST_ROOM], train = 0, validation;
    c->length = c->train_length = 0;
    for (int i = 0; i < texts && !rc; i++) {
        size_t bytes;
        const char *text = text_at(t, i, &bytes), *name = t->data->word[i];
        ids[i] = tokenizer_encode(&c->tokenizer, text, bytes, name, &count[i], err);
        if (!ids[i]) rc = -1;
        if (rc) break;
        c->length += count[i], c->train_length += validation_start(count[i]);
    }
    c->token = rc ? NULL : malloc(c->length * sizeof *c->token);
    if (!rc && !c->token) rc = error_set(err, "no memory for %zu tokens", c->length);
    validation = c->train_length;
    for (int i = 0; i < texts; i++) {
        size_t start = rc ? 0 : validation_start(count[i]),
               rest = rc ? 0 : count[i] - start;
        if (!rc) memcpy(c->token + train, ids[i], start * sizeof(int));
        if (!rc) memcpy(c->token + validation, ids[i] + start, rest * sizeof(int));
        train += start, validation += rest;
        free(ids[i]);
    }
    return rc;
}

int corpus_encode(corpus *c, const flag_list *data, wb_error *err)
{
    texts t;
    int rc = read_all(&t, data, err);
    if (!rc) rc = encode(c, &t, err);
    free(t.all);
    return rc;
}

/* --- a corpus ----------------------------------------------------------------------- */

int corpus_check(const options *o, wb_error *err)
{
    tokenizer_kind kind;
    if (!o->data.count) return error_set(err, "no text: give --data FILE");
    if (strcmp(o->tokenizer, TOKENIZER_OF_FOLDER) == 0 && (o->init_from[0] || o->resume))
        return 0;
    return tokenizer_of(&kind, o->tokenizer, err);
}

static int
load(corpus *c, const texts *t, const options *o, const char *folder, wb_error *err)
{
    tokenizer_kind kind;
    if (folder && tokenizer_load(&c->tokenizer, folder, err)) return -1;
    if (!folder && (tokenizer_of(&kind, o->tokenizer, err) ||
                    build_tokenizer(&c->tokenizer, kind, t, err)))
        return -1;
    c->hash = hash_texts(t);
    return encode(c, t, err);
}

int corpus_load(corpus *c, const options *o, const char *folder, wb_error *err)
{
    texts t;
    char name[1100];
    size_t T = (size_t)o->context;
    int rc = read_all(&t, &o->data, err);
    if (!rc) rc = load(c, &t, o, folder, err);
    free(t.all);
    if (rc) return -1;
    size_t tail = c->length - c->train_length;
    if (c->train_length >= T + 2 && tail >= T + 1) return 0;
    return error_set(
        err, "%s: %zu tokens, %zu of them for validation: too short for --context %ld",
        corpus_name(name, &o->data), c->length, tail, o->context);
}

void corpus_free(corpus *c)
{
    tokenizer_free(&c->tokenizer);
    free(c->token);
    *c = (corpus){0};
}
