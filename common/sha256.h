/* sha256.h - SHA-256 (FIPS 180-4), to detect that a file has changed. */
#ifndef SHA256_H
#define SHA256_H
#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t bytes;          /* hashed so far */
    unsigned char block[64]; /* the last, incomplete block */
};

void sha256_start(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t bytes);
void sha256_hex(struct sha256 *s, char hex[65]); /* ends the hash */
int sha256_file(const char *path, char hex[65]); /* 0, or -1 with errno */

#endif
