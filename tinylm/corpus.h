/* corpus.h - the text that a run learns from: its tokens, the last tenth of them held out. */
#ifndef CORPUS_H
#define CORPUS_H
#include "options.h"
#include "tokenizer.h"

typedef struct corpus {
    tokenizer tokenizer;
    int *token;              /* (length) */
    size_t length, held_out; /* [held_out,length) is never learnt from */
    uint64_t hash;           /* of the text */
} corpus;

/* The options' --data, long enough for their --context. */
int corpus_load(corpus *c, const options *o, wb_error *err);
void corpus_free(corpus *c);

#endif
