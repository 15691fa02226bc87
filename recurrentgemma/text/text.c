/* text.c - see text.h: which tokenizer a folder has, and what both kinds share. */
#include "text.h"
#include "text_codec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_BYTES = 64 << 20 };  // of a tokenizer's file; 256,000 pieces are 4 MB

// The stream decodes its pieces after this one, so that none of them is the first: the
// library may drop a first space. Any piece with a text of its own will do.
static void find_anchor(text_codec *t)
{
    int vocab = spm_vocab(t->spm), unknown = spm_unknown(t->spm);
    t->anchor = -1;
    for (int i = -1; i < vocab && t->anchor < 0; i++) {
        int id = i < 0 ? unknown : i;
        if (id < 0 || id >= vocab || spm_control(t->spm, id) || spm_byte(t->spm, id) >= 0)
            continue;
        char *text = spm_decode(t->spm, &id, 1, &t->anchor_bytes);
        if (text && t->anchor_bytes) t->anchor = id;
        free(text);
    }
}

text_codec *text_parse(
    const char *data, size_t bytes, bool sentencepiece, const char *name, wb_error *err)
{
    text_codec *t = calloc(1, sizeof *t);
    if (!t) {
        error_set(err, "%s: no memory", name);
        return NULL;
    }
    t->anchor = -1;
    if (sentencepiece)
        t->spm =
            spm_check(data, bytes, name, err) ? NULL : spm_open(data, bytes, name, err);
    else if (tokenizer_parse(&t->own, data, bytes, name, err) == 0)
        return t;
    if (t->spm) return find_anchor(t), t;
    free(t);
    return NULL;
}

text_codec *text_open(const char *folder, wb_error *err)
{
    static const char *const names[] = {"tokenizer.model", "tokenizer.json"};
    char path[PATH_MAX];
    wb_error inner = {""};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        if (access(path, F_OK) != 0) continue;
        size_t bytes;
        char *data = file_read(path, MAX_BYTES, &bytes, err);
        if (!data) return NULL;
        text_codec *t = text_parse(data, bytes, i == 0, path, &inner);
        free(data);
        if (!t)
            error_set(
                err, "%.900s%s", inner.text,
                i ? "; a tokenizer.model next to it would be used instead" : "");
        return t;
    }
    error_set(
        err,
        "%.700s: no tokenizer.model (SentencePiece) and no tokenizer.json (characters or "
        "bytes): copy one there, or give token ids",
        folder);
    return NULL;
}

void text_close(text_codec *t)
{
    if (!t) return;
    spm_close(t->spm);
    tokenizer_free(&t->own);
    free(t);
}

int text_vocab(const text_codec *t)
{
    return t->spm ? spm_vocab(t->spm) : t->own.vocab;
}

int text_bos(const text_codec *t)
{
    return t->spm ? spm_bos(t->spm) : -1;
}

int text_eos(const text_codec *t)
{
    return t->spm ? spm_eos(t->spm) : -1;
}

int text_pad(const text_codec *t)
{
    return t->spm ? spm_pad(t->spm) : -1;
}

int text_piece_id(const text_codec *t, const char *piece)
{
    if (t->spm) return spm_piece_id(t->spm, piece);
    size_t count = 0;
    int *ids = tokenizer_encode(&t->own, piece, strlen(piece), "piece", &count, NULL);
    int id = count == 1 ? ids[0] : -1;
    free(ids);
    return id;
}

int *text_encode(
    const text_codec *t, const char *text, size_t bytes, size_t *count, wb_error *err)
{
    if (t->spm) return spm_encode(t->spm, text, bytes, count, err);
    return tokenizer_encode(&t->own, text, bytes, "text", count, err);
}

char *text_decode(const text_codec *t, const int *ids, size_t count, size_t *bytes)
{
    int *known = malloc((count + 1) * sizeof *known);
    size_t n = 0;
    char *text = NULL;
    *bytes = 0;
    if (!known) return NULL;
    for (size_t i = 0; i < count; i++)
        if (ids[i] >= 0 && ids[i] < text_vocab(t)) known[n++] = ids[i];
    if (t->spm)
        text = spm_decode(t->spm, known, n, bytes);
    else if ((text = malloc(4 * n + 4))) {
        for (size_t i = 0; i < n; i++)
            *bytes += (size_t)tokenizer_piece(&t->own, known[i], text + *bytes);
        text[*bytes] = 0;
    }
    free(known);
    return text;
}
