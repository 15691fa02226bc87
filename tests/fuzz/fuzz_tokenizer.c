/* fuzz_tokenizer.c - tokenizer.json from arbitrary bytes: an accepted one encodes and
 * decodes. Arbitrary bytes as a text: an accepted one survives encoding and decoding. */
#include "tokenizer.h"

#include <stdlib.h>
#include <string.h>

static void round_trip(const tokenizer *t, const char *text, size_t bytes)
{
    size_t n, at = 0;
    char piece[4];
    int *ids = tokenizer_encode(t, text, bytes, "fuzz", &n, NULL);
    for (size_t i = 0; ids && i < n; i++) {
        int length = tokenizer_piece(t, ids[i], piece);
        if (length < 1 || memcmp(piece, text + at, (size_t)length) != 0) abort();
        at += (size_t)length;
    }
    if (ids && at != bytes) abort();
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    tokenizer t;
    const char *text = (const char *)data;
    if (tokenizer_parse(&t, text, bytes, "fuzz", NULL) == 0) {
        round_trip(&t, text, bytes);
        tokenizer_free(&t);
    }
    // Building a vocabulary clears a megabyte, so do it only for some of the inputs.
    if (bytes % 16 == 0 &&
        tokenizer_build(&t, TOKENIZER_CHARACTERS, text, bytes, "fuzz", NULL) == 0) {
        round_trip(&t, text, bytes);
        tokenizer_free(&t);
    }
    return 0;
}
