/* corpus.h - the text of a run as tokens; the last tenth is for validation only. */
#ifndef CORPUS_H
#define CORPUS_H
#include "options.h"
#include "tokenizer.h"

typedef struct corpus {
    tokenizer tokenizer;
    int *token; /* (length) */
    size_t length;
    size_t train_length; /* [train_length,length) is for validation */
    uint64_t hash;       /* of the text */
} corpus;

/* The options' --data, long enough for their --context. */
/* Whether the options name a text and a tokenizer; reads no file. */
int corpus_check(const options *o, wb_error *err);
int corpus_load(corpus *c, const options *o, wb_error *err);
void corpus_free(corpus *c);

#endif
