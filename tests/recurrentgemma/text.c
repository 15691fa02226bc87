/* text.c FOLDER - what text.h and chat.h give for requests on stdin, one a line; texts
 * are in hexadecimal, broken UTF-8 and zero bytes included.
 *
 *     i            vocabulary, ids of BOS, EOS and PAD
 *     p TEXT       the id of a piece
 *     e TEXT       -> ids
 *     d IDS...     -> text
 *     s IDS...     -> the texts of a stream, one after each id and one at its end
 *     c LAST TEXT  -> ids of a turn
 *     a IDS...     -> how many of an answer's tokens are its text
 *
 * text.c FOLDER bytes|characters FILE - writes the tokenizer of that kind for FILE. */
#include "../../recurrentgemma/text/chat.h"
#include "tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const wb_error *err)
{
    fprintf(stderr, "%s\n", err->text);
    exit(1);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *from_hex(const char *hex, size_t *bytes)
{
    char *text = malloc(strlen(hex) / 2 + 1);
    for (*bytes = 0; digit(hex[0]) >= 0 && digit(hex[1]) >= 0; hex += 2)
        text[(*bytes)++] = (char)(digit(hex[0]) << 4 | digit(hex[1]));
    text[*bytes] = 0;
    return text;
}

static void put_hex(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", (unsigned char)text[i]);
}

static void put_ids(int *ids, size_t count, const wb_error *err)
{
    if (!ids) fail(err);
    for (size_t i = 0; i < count; i++)
        printf("%s%d", i ? " " : "", ids[i]);
    free(ids);
}

static void streamed(text_stream *s, const int *ids, size_t count)
{
    size_t bytes;
    for (size_t i = 0; i < count; i++) {
        const char *text = text_stream_add(s, ids[i], &bytes);
        put_hex(text, bytes);
        putchar(' ');
    }
    const char *text = text_stream_end(s, &bytes);
    put_hex(text, bytes);
}

static void answer(const text_codec *t, text_stream *s, char *line)
{
    wb_error err;
    size_t bytes, count = 0;
    char kind = line[0], *rest = strlen(line) > 1 ? line + 2 : line + 1;
    if (kind == 'i')
        printf("%d %d %d %d", text_vocab(t), text_bos(t), text_eos(t), text_pad(t));
    if (kind == 'd' || kind == 's' || kind == 'a') {
        int *ids = malloc((strlen(rest) + 1) * sizeof *ids);
        for (char *end; ids[count] = (int)strtol(rest, &end, 10), end != rest; rest = end)
            count++;
        char *text = kind == 'd' ? text_decode(t, ids, count, &bytes) : NULL;
        chat c;
        if (kind == 'a' && chat_open(&c, t, &err)) fail(&err);
        if (kind == 'a') printf("%d", chat_said(&c, ids, (int)count));
        if (kind == 's') streamed(s, ids, count);
        if (text) put_hex(text, bytes);
        free(text);
        free(ids);
    }
    if (kind == 'p' || kind == 'e' || kind == 'c') {
        chat c;
        int last = kind == 'c' ? (int)strtol(rest, &rest, 10) : 0;
        char *text = from_hex(rest + (kind == 'c' && *rest == ' '), &bytes);
        if (kind == 'p') printf("%d", text_piece_id(t, text));
        if (kind == 'c' && chat_open(&c, t, &err)) fail(&err);
        int *ids = kind == 'e'   ? text_encode(t, text, bytes, &count, &err)
                   : kind == 'c' ? chat_turn(&c, last, text, bytes, &count, &err)
                                 : NULL;
        if (kind != 'p') put_ids(ids, count, &err);
        free(text);
    }
    putchar('\n');
}

static int save(const char *folder, const char *kind, const char *path)
{
    wb_error err;
    tokenizer t;
    size_t bytes;
    char *text = file_read(path, 1 << 24, &bytes, &err);
    tokenizer_kind k = strcmp(kind, "bytes") ? TOKENIZER_CHARACTERS : TOKENIZER_BYTES;
    if (!text || tokenizer_build(&t, k, text, bytes, path, &err) ||
        tokenizer_save(&t, folder, 64, &err))
        fail(&err);
    tokenizer_free(&t);
    free(text);
    return 0;
}

int main(int argc, char **argv)
{
    wb_error err;
    if (argc == 4) return save(argv[1], argv[2], argv[3]);
    text_codec *t = text_open(argc > 1 ? argv[1] : ".", &err);
    if (!t) fail(&err);
    text_stream *s = text_stream_begin(t);
    char *line = NULL;
    size_t room = 0;
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        answer(t, s, line);
    }
    free(line);
    text_stream_free(s);
    text_close(t);
    return 0;
}
