/* fuzz_text.c - a tokenizer.model or tokenizer.json from arbitrary bytes: an accepted one
 * encodes any text, and streaming gives the same text as decoding all tokens together. */
#include "../../recurrentgemma/text/text_codec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The pieces of the stream must add up to the decoded text.
static void stream(const text_codec *t, text_stream *s, const int *ids, size_t count)
{
    size_t all, bytes, at = 0;
    char *text = text_decode(t, ids, count, &all);
    if (!text) abort();
    for (size_t i = 0; i <= count; i++) {
        const char *piece =
            i < count ? text_stream_add(s, ids[i], &bytes) : text_stream_end(s, &bytes);
        if (!piece || bytes > all - at || memcmp(piece, text + at, bytes) != 0) abort();
        at += bytes;
    }
    if (at != all) abort();
    free(text);
}

static void use(const text_codec *t, const uint8_t *data, size_t bytes)
{
    static const char *const texts[] = {
        "",
        " a",
        "the  \n\n 12\t<0x41>",
        "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD \xC3\xA9",
        "\xE2\x82 \xFF\x80",
        "<start_of_turn>user<end_of_turn>"};
    text_stream *s = text_stream_begin(t);
    if (!s) abort();
    size_t n;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int *ids = text_encode(t, texts[i], strlen(texts[i]), &n, NULL);
        for (size_t j = 0; ids && j < n; j++)
            if (ids[j] < 0 || ids[j] >= text_vocab(t)) abort();
        if (ids) stream(t, s, ids, n);
        free(ids);
    }
    int *ids = text_encode(t, (const char *)data, bytes < 512 ? bytes : 512, &n, NULL);
    if (ids) stream(t, s, ids, n);
    free(ids);
    int some[256];
    for (n = 0; n < 256 && n < bytes; n++)
        some[n] = data[bytes - 1 - n] % (text_vocab(t) + 2) - 1;
    stream(t, s, some, n);
    text_piece_id(t, "<start_of_turn>");
    text_stream_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *copy = malloc(bytes + 1);  // file_read appends a 0 byte
    if (!copy) abort();
    memcpy(copy, data, bytes);
    copy[bytes] = 0;
    wb_error err = {""};
    bool json = bytes && data[0] == '{';
    text_codec *t = text_parse(copy, bytes, !json, "fuzz", &err);
    if (!t && (!err.text[0] || strchr(err.text, '\n'))) abort();
    if (t) use(t, data, bytes);
    text_close(t);
    free(copy);
    return 0;
}
