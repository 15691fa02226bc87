/* sentencepiece.h - the part of the SentencePiece library that text.c needs, in C;
 * private to text/. No C++ exception leaves these functions, and the library prints
 * nothing.
 *
 * Where the library is not installed the program is built with sentencepiece_none.c:
 * spm_open then says what to install, and everything else works. */
#ifndef SENTENCEPIECE_H
#define SENTENCEPIECE_H
#include <stdbool.h>
#ifdef __cplusplus
extern "C" {
#endif
#include "file.h"

typedef struct spm spm;

/* 0 if the file is complete and holds no offsets that the library would follow unchecked,
 * else -1. Part of opening it, in plain C. */
int spm_check(const void *model, size_t bytes, const char *name, wb_error *err);

/* A tokenizer.model from memory (copied); name is for messages. */
spm *spm_open(const void *model, size_t bytes, const char *name, wb_error *err);
void spm_close(spm *s); /* NULL is fine */

int spm_vocab(const spm *s);
int spm_bos(const spm *s); /* from the trainer's settings in the file; -1: none */
int spm_eos(const spm *s);
int spm_pad(const spm *s);
int spm_unknown(const spm *s);
int spm_piece_id(const spm *s, const char *piece); /* -1: there is no such piece */
int spm_byte(const spm *s, int id); /* 0..255 of a byte piece <0xHH>, else -1 */
bool spm_control(const spm *s, int id);

/* malloc'ed, even if *count is 0. */
int *spm_encode(
    const spm *s, const char *text, size_t bytes, size_t *count, wb_error *err);
/* The library's decoder, with a 0 byte at the end; ids are in 0..vocab-1. NULL: no
 * memory. */
char *spm_decode(const spm *s, const int *ids, size_t count, size_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
