/* utf8.h - one character of UTF-8. Only what Unicode allows is valid: no overlong
 * encodings, no surrogates, nothing beyond U+10FFFF. */
#ifndef UTF8_H
#define UTF8_H
#include <stddef.h>
#include <stdint.h>

enum { UTF8_CODES = 0x110000 }; /* one more than the last code point */

/* The character at s (n > 0 bytes left). Returns its length, or 0 if it is not valid. */
int utf8_read(const unsigned char *s, size_t n, uint32_t *code);
/* Stores its 1 to 4 bytes; returns how many. */
int utf8_write(uint32_t code, char out[4]);
/* How many bytes at the end begin a character that more bytes can complete: 0 to 3. */
size_t utf8_unfinished(const char *text, size_t bytes);

#endif
