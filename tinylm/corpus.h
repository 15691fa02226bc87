/* corpus.h - the texts of a run as tokens. The last tenth of every text is for validation
 * only: first come the other nine tenths of all texts, in their order, then their last
 * tenths. A sequence may begin in one text and end in the next. */
#ifndef CORPUS_H
#define CORPUS_H
#include "options.h"
#include "tokenizer.h"

typedef struct corpus {
    tokenizer tokenizer;
    int *token; /* (length) */
    size_t length;
    size_t train_length; /* [train_length,length) is for validation */
    uint64_t hash;       /* of the texts */
} corpus;

/* Whether the options name a text and a tokenizer; reads no file. */
int corpus_check(const options *o, wb_error *err);
/* The options' --data, long enough for their --context. The tokenizer is that of the
 * folder; NULL: one for the texts. */
int corpus_load(corpus *c, const options *o, const char *folder, wb_error *err);
/* The texts by c->tokenizer. */
int corpus_encode(corpus *c, const flag_list *data, wb_error *err);
void corpus_free(corpus *c);
/* "a.txt", or "a.txt and 2 more", in name. */
const char *corpus_name(char name[1100], const flag_list *data);

/* As --tokenizer of a run that started with --init-from: its folder's. */
#define TOKENIZER_OF_FOLDER "folder"

#endif
