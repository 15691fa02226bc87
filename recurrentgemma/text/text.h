/* text.h - text to token ids and back, with the tokenizer of a model folder:
 *     tokenizer.model   SentencePiece, through its library
 *     tokenizer.json    characters or bytes, as TinyLM writes them (common/tokenizer.h)
 * text/ depends on common/ alone; program/, example.c, tests/ and programs that embed
 * the engine include text.h and chat.h; the other headers are private. Only one thread at
 * a time may use a codec and its streams.
 */
#ifndef TEXT_H
#define TEXT_H
#include "wb_error.h"

#include <stdbool.h>
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct text_codec text_codec;

text_codec *text_open(const char *folder, wb_error *err);
void text_close(text_codec *t); /* NULL is fine */

int text_vocab(const text_codec *t);
/* Ids of the file; -1: it has none. */
int text_bos(const text_codec *t);
int text_eos(const text_codec *t);
int text_pad(const text_codec *t);
/* The id of exactly this piece ("<start_of_turn>"); -1: there is none. */
int text_piece_id(const text_codec *t, const char *piece);

/* Token ids, malloc'ed. No BOS is added. Any bytes are text: the library decides about
 * broken UTF-8; a character tokenizer refuses what it does not know. */
int *text_encode(
    const text_codec *t, const char *text, size_t bytes, size_t *count, wb_error *err);

/* The text of all ids, as the library's own decoder gives it; malloc'ed, with a 0 byte at
 * the end. Control pieces and ids outside the vocabulary give no text. NULL: no memory. */
char *text_decode(const text_codec *t, const int *ids, size_t count, size_t *bytes);

/* The same token by token: no piece ends inside a UTF-8 character, and all pieces
 * together, with text_stream_end, are what text_decode gives. The codec must outlive the
 * stream. */
typedef struct text_stream text_stream;
text_stream *text_stream_begin(const text_codec *t); /* NULL: no memory */
/* The text that is final now, valid until the next call; *bytes may be 0. NULL: no
 * memory. */
const char *text_stream_add(text_stream *s, int id, size_t *bytes);
/* The rest, even if it is broken; the stream may then start another text. NULL: no
 * memory. */
const char *text_stream_end(text_stream *s, size_t *bytes);
void text_stream_free(text_stream *s); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
