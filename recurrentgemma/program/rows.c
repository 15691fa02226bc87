/* rows.c - see rows.h. */
#include "rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BYTES ((size_t)1 << 30) /* of a file */

static int make_room(token_rows *r, size_t rows, wb_error *err)
{
    r->ids = calloc(rows, sizeof *r->ids);
    r->prompt = calloc(rows, sizeof *r->prompt);
    r->count = calloc(rows, sizeof *r->count);
    r->line = calloc(rows, sizeof *r->line);
    if (!r->ids || !r->prompt || !r->count || !r->line)
        return error_set(err, "%s: no memory for %zu rows", r->from, rows);
    return 0;
}

// Takes ids over.
static int add_row(token_rows *r, int *ids, size_t count, int line, wb_error *err)
{
    r->ids[r->B] = ids, r->count[r->B] = (int)count, r->line[r->B] = line;
    r->B++;
    if (count > INT_MAX / 2)
        return error_set(err, "%s: %zu tokens are too many for a row", r->from, count);
    if ((int)count > r->longest) r->longest = (int)count;
    return 0;
}

void rows_free(token_rows *r)
{
    for (int b = 0; b < r->B; b++)
        free(r->ids[b]), free(r->prompt[b]);
    free(r->ids), free(r->prompt), free(r->count), free(r->line);
    *r = (token_rows){0};
}

/* --- prompts -------------------------------------------------------------------------- */

// BOS, if there is one and `bos` is set, and the text's ids, malloc'ed.
static int *encode(
    const text_codec *codec, const char *text, size_t bytes, bool bos, size_t *count,
    wb_error *err)
{
    size_t n, first = bos && text_bos(codec) >= 0;
    int *plain = text_encode(codec, text, bytes, &n, err);
    if (!plain || !first) return *count = n, plain;
    int *ids = malloc((n + 1) * sizeof *ids);
    if (ids) {
        ids[0] = text_bos(codec);
        memcpy(ids + 1, plain, n * sizeof *ids);
        *count = n + 1;
    } else {
        error_set(err, "no memory for %zu tokens", n);
    }
    free(plain);
    return ids;
}

static int add_prompt(
    token_rows *r, const options *o, const text_codec *codec, const char *text,
    size_t bytes, int line, wb_error *err)
{
    char where[300];
    snprintf(where, sizeof where, line ? "%.250s:%d" : "%.250s", r->from, line);
    if (bytes == 0) return error_set(err, "%s: an empty prompt: write a text", where);
    wb_error why;
    size_t count;
    int *ids = encode(codec, text, bytes, !o->no_bos, &count, &why);
    if (!ids) return error_set(err, "%s: %.700s", where, why.text);
    if (add_row(r, ids, count, line, err)) return -1;
    if (count == 0)
        return error_set(
            err, "%s: the tokenizer makes no token of this prompt: write a text", where);
    return 0;
}

// Lines without their ends (\n or \r\n); an empty last line is none.
static int count_lines(const char *text, size_t bytes)
{
    int lines = 0;
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    return lines + (bytes > 0 && text[bytes - 1] != '\n');
}

static const char *next_line(const char **rest, const char *end, size_t *bytes)
{
    const char *line = *rest, *stop = memchr(line, '\n', (size_t)(end - line));
    *rest = stop ? stop + 1 : end;
    if (!stop) stop = end;
    if (stop > line && stop[-1] == '\r') stop--;
    *bytes = (size_t)(stop - line);
    return line;
}

static int read_prompts(
    token_rows *r, const options *o, const text_codec *codec, const char *text,
    size_t bytes, wb_error *err)
{
    const char *rest = text, *end = text + bytes;
    for (int line = 1; rest < end; line++) {
        size_t length;
        const char *prompt = next_line(&rest, end, &length);
        if (add_prompt(r, o, codec, prompt, length, line, err)) return -1;
        if (!(r->prompt[r->B - 1] = strndup(prompt, length)))
            return error_set(err, "%s: no memory", r->from);
    }
    return 0;
}

// All of stdin, whatever it is, but for one newline at its end (which echo adds).
static char *read_stdin(size_t *bytes, wb_error *err)
{
    size_t room = 1 << 16, n = 0;
    char *text = malloc(room);
    while (text) {
        ssize_t got = read(STDIN_FILENO, text + n, room - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            error_set(err, "stdin: %s", strerror(errno));
            free(text);
            return NULL;
        }
        if (got == 0) break;
        n += (size_t)got;
        if (n < room) continue;
        char *more = room < MOST_BYTES ? realloc(text, room *= 2) : NULL;
        if (!more) free(text);
        text = more;
    }
    if (!text) error_set(err, "stdin: more than %zu bytes, or no memory", MOST_BYTES);
    if (text && n > 0 && text[n - 1] == '\n') n--;
    *bytes = n;
    return text;
}

/* --- token ids ------------------------------------------------------------------------ */

static bool between_ids(char c)
{
    return c == ' ' || c == ',' || c == '\t';
}

// The id at *p, and *p behind it. -1: no whole number that fits, or something glued to it.
static int one_id(const char **p, const char *end)
{
    long id = 0;
    const char *first = *p;
    while (*p < end && **p >= '0' && **p <= '9' && id <= INT_MAX)
        id = id * 10 + (*(*p)++ - '0');
    bool whole = *p > first && (*p == end || between_ids(**p));
    return whole && id <= INT_MAX ? (int)id : -1;
}

static int add_ids(token_rows *r, const char *p, size_t bytes, int line, wb_error *err)
{
    const char *end = p + bytes;
    size_t count = 0;
    int *ids = malloc((bytes + 1) * sizeof *ids);  // an id and what follows: two bytes
    if (!ids) return error_set(err, "%s:%d: no memory", r->from, line);
    for (;;) {
        while (p < end && between_ids(*p))
            p++;
        if (p == end) break;
        const char *word = p;
        int id = one_id(&p, end);
        if (id < 0) {
            int length = 0;
            while (word + length < end && !between_ids(word[length]) && length < 40)
                length++;
            free(ids);
            return error_set(
                err, "%s:%d: '%.*s' is no token id: write whole numbers from 0 on",
                r->from, line, length, word);
        }
        ids[count++] = id;
    }
    if (add_row(r, ids, count, line, err)) return -1;
    if (count == 0)
        return error_set(
            err, "%s:%d: a line without token ids: write at least one, or take it away",
            r->from, line);
    return 0;
}

static int read_ids(token_rows *r, const char *text, size_t bytes, wb_error *err)
{
    const char *rest = text, *end = text + bytes;
    for (int line = 1; rest < end; line++) {
        size_t length;
        const char *ids = next_line(&rest, end, &length);
        if (add_ids(r, ids, length, line, err)) return -1;
    }
    return 0;
}

int rows_check(const token_rows *r, int vocab, wb_error *err)
{
    for (int b = 0; b < r->B; b++)
        for (int i = 0; i < r->count[b]; i++) {
            if (r->ids[b][i] >= 0 && r->ids[b][i] < vocab) continue;
            char where[300];
            snprintf(
                where, sizeof where, r->line[b] ? "%.250s:%d" : "%.250s", r->from,
                r->line[b]);
            return error_set(
                err, "%s: token id %d is outside of the model's vocabulary, 0 to %d",
                where, r->ids[b][i], vocab - 1);
        }
    return 0;
}

/* --- where it comes from -------------------------------------------------------------- */

static int
read_file(token_rows *r, const options *o, const text_codec *codec, wb_error *err)
{
    size_t bytes;
    char *text = file_read(r->from, MOST_BYTES, &bytes, err);
    if (!text) return -1;
    int lines = count_lines(text, bytes), rc = make_room(r, (size_t)lines + 1, err);
    if (!rc && lines == 0)
        rc = error_set(
            err, "%s: an empty file: write %s a line", r->from,
            o->tokens ? "the token ids of a row" : "a prompt");
    if (!rc)
        rc = o->tokens ? read_ids(r, text, bytes, err)
                       : read_prompts(r, o, codec, text, bytes, err);
    free(text);
    return rc;
}

int rows_read(token_rows *r, const options *o, const text_codec *codec, wb_error *err)
{
    *r = (token_rows){.from = o->tokens ? o->tokens : o->prompts};
    if (r->from) return read_file(r, o, codec, err);
    r->from = o->prompt ? "--prompt" : "stdin";
    if (make_room(r, 1, err)) return -1;
    if (o->prompt) return add_prompt(r, o, codec, o->prompt, strlen(o->prompt), 0, err);
    if (isatty(STDIN_FILENO))
        fprintf(
            stderr, "The text to go on from, then Ctrl-D (--help lists other ways):\n");
    size_t bytes;
    char *text = read_stdin(&bytes, err);
    if (!text) return -1;
    int rc = add_prompt(r, o, codec, text, bytes, 0, err);
    free(text);
    return rc;
}
