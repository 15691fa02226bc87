/* tokenizer.h - text to token ids and back, by characters or by bytes.
 *
 * Characters: the Unicode characters of the training text, sorted and numbered from 0.
 * Bytes: 256 tokens, one for each byte value; any file can be encoded.
 *
 * The tokenizer.json is in the format of Hugging Face `tokenizers`, which can open a
 * checkpoint's folder too: characters are a WordLevel model after a pre-tokenizer that
 * splits at every character, bytes are a byte-level BPE model without merges. It also has
 * the special tokens <unk>, <pad> and <eos>, so that other programs can encode unknown
 * characters and pad batches. Their ids follow the vocabulary: the model does not know
 * them, and no text is encoded to them here.
 *
 * Functions that can fail return -1 or NULL and set *err (err may be NULL) to one line.
 */
#ifndef TOKENIZER_H
#define TOKENIZER_H
#include "file.h"

#include <stdint.h>

typedef enum tokenizer_kind { TOKENIZER_CHARACTERS, TOKENIZER_BYTES } tokenizer_kind;

typedef struct tokenizer {
    tokenizer_kind kind;
    int vocab;      /* tokens are 0 .. vocab-1 */
    int specials;   /* special tokens of the file, from `vocab` on */
    uint32_t *code; /* (vocab) the character of each token; NULL for bytes */
    int *order;     /* (vocab) token ids, sorted by character; NULL for bytes */
} tokenizer;

/* Builds the vocabulary of a text. The character tokenizer rejects a text that is not
 * UTF-8 or has a zero byte; the message gives the place. `name` is for messages. */
int tokenizer_build(
    tokenizer *t, tokenizer_kind kind, const char *text, size_t bytes, const char *name,
    wb_error *err);
void tokenizer_free(tokenizer *t);

/* Returns *count token ids in malloc'ed memory, NULL only on an error. A character that
 * is not in the vocabulary is an error that shows the character. */
int *tokenizer_encode(
    const tokenizer *t, const char *text, size_t bytes, const char *name, size_t *count,
    wb_error *err);

/* Stores the token's text, 1 to 4 bytes of UTF-8 or the byte itself, without a 0 byte,
 * and returns its length; 0 for an id outside the vocabulary. */
int tokenizer_piece(const tokenizer *t, int token, char piece[4]);

/* The same for a stream, which starts as {0}: the bytes of an incomplete UTF-8 character
 * are held back until it is complete or proves invalid. Both functions return the number
 * of bytes in `out`. */
typedef struct tokenizer_stream {
    char held[4]; /* the start of a character */
    int count;
} tokenizer_stream;
int tokenizer_stream_add(tokenizer_stream *s, const tokenizer *t, int token, char out[8]);
int tokenizer_stream_end(tokenizer_stream *s, char out[8]); /* what is left */

/* Writes FOLDER/tokenizer.json and FOLDER/tokenizer_config.json. context: the model's
 * context length in tokens. */
int tokenizer_save(const tokenizer *t, const char *folder, int context, wb_error *err);
/* Reads FOLDER/tokenizer.json. */
int tokenizer_load(tokenizer *t, const char *folder, wb_error *err);
/* The same from the text of a tokenizer.json. */
int tokenizer_parse(
    tokenizer *t, const char *json, size_t bytes, const char *name, wb_error *err);

#endif
