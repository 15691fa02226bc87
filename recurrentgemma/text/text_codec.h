/* text_codec.h - what text.c and text_stream.c share; private to text/ and its tests. */
#ifndef TEXT_CODEC_H
#define TEXT_CODEC_H
#include "sentencepiece.h"
#include "text.h"
#include "tokenizer.h"

struct text_codec {
    spm *spm; /* NULL: `own` is the tokenizer */
    tokenizer own;
    int anchor; /* a piece whose text has anchor_bytes > 0; -1: there is none */
    size_t anchor_bytes;
};

/* text_open from memory: a tokenizer.model, else a tokenizer.json. */
text_codec *text_parse(
    const char *data, size_t bytes, bool sentencepiece, const char *name, wb_error *err);

#endif
