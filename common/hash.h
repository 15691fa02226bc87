/* hash.h - a checksum of 64 bits: every change of one word of 8 bytes changes it. */
#ifndef HASH_H
#define HASH_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* One step of FNV-1a: h after a word, or after a byte. */
static inline uint64_t hash_step(uint64_t h, uint64_t word)
{
    return (h ^ word) * UINT64_C(0x100000001b3);
}

/* FNV-1a by words: h after more bytes. Only whole words can be cut into several calls. */
static inline uint64_t hash_words(uint64_t h, const void *data, size_t bytes)
{
    const char *p = data;
    for (; bytes > 0;) {
        uint64_t word = 0;
        size_t n = bytes < sizeof word ? bytes : sizeof word;
        memcpy(&word, p, n);
        h = hash_step(h, word);
        p += n, bytes -= n;
    }
    return h;
}

#endif
