/* tokenizer.h - text to token numbers and back: characters or bytes.
 *
 * Characters: the Unicode characters that the training text has, sorted, numbered from 0.
 * Bytes: 256 tokens, the bytes themselves; any file can be encoded.
 *
 * Saved as tokenizer.json in the form of Hugging Face `tokenizers`, so that a checkpoint's
 * folder opens there too: characters as a WordLevel model behind a split of every
 * character, bytes as a byte-level BPE model without merges.
 */
#ifndef TOKENIZER_H
#define TOKENIZER_H
#include "file.h"

#include <stdint.h>

typedef enum tokenizer_kind { TOKENIZER_CHARACTERS, TOKENIZER_BYTES } tokenizer_kind;

typedef struct tokenizer {
    tokenizer_kind kind;
    int vocab;      /* tokens are 0 .. vocab-1 */
    uint32_t *code; /* (vocab) the character of each token; NULL for bytes */
    int *order;     /* (vocab) token numbers, sorted by character */
} tokenizer;

/* The vocabulary of this text. `name` is for messages: a text that is not UTF-8 (or has a
 * zero byte) is no text for the character tokenizer, and the sentence says where. */
int tokenizer_build(
    tokenizer *t, tokenizer_kind kind, const char *text, size_t bytes, const char *name,
    wb_error *err);
void tokenizer_free(tokenizer *t);

/* Token numbers in malloc'ed memory, *count of them (never NULL without an error). A
 * character that the vocabulary lacks is an error that shows it. */
int *tokenizer_encode(
    const tokenizer *t, const char *text, size_t bytes, const char *name, size_t *count,
    wb_error *err);

/* The token's text as at most 4 bytes of UTF-8 (or its byte); returns how many. No
 * 0 byte is added. A number outside of the vocabulary gives none. */
int tokenizer_piece(const tokenizer *t, int token, char piece[4]);

/* FOLDER/tokenizer.json and tokenizer_config.json; context: what the model can see. */
int tokenizer_save(const tokenizer *t, const char *folder, int context, wb_error *err);
int tokenizer_load(tokenizer *t, const char *folder, wb_error *err);
/* The text of a tokenizer.json. */
int tokenizer_parse(
    tokenizer *t, const char *json, size_t bytes, const char *name, wb_error *err);

#endif
