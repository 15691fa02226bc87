/* prompts.c - see prompts.h. */
#include "prompts.h"
#include "prompt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 1 << 30 };  // of a file

static int make_room(prompt_batch *p, size_t batch, wb_error *err)
{
    p->ids = calloc(batch, sizeof *p->ids);
    p->text = calloc(batch, sizeof *p->text);
    p->count = calloc(batch, sizeof *p->count);
    p->line = calloc(batch, sizeof *p->line);
    if (!p->ids || !p->text || !p->count || !p->line)
        return error_set(err, "%s: no memory for %zu sequences", p->from, batch);
    return 0;
}

// Takes ownership of ids.
static int add_sequence(prompt_batch *p, int *ids, size_t count, int line, wb_error *err)
{
    p->ids[p->batch] = ids, p->count[p->batch] = (int)count, p->line[p->batch] = line;
    p->batch++;
    if (count > INT_MAX / 2)
        return error_set(
            err, "%s: %zu tokens are too many for a sequence", p->from, count);
    if ((int)count > p->longest) p->longest = (int)count;
    return 0;
}

void prompts_free(prompt_batch *p)
{
    for (int b = 0; b < p->batch; b++)
        free(p->ids[b]), free(p->text[b]);
    free(p->ids), free(p->text), free(p->count), free(p->line), free(p->whole);
    *p = (prompt_batch){0};
}

/* --- prompts ------------------------------------------------------------------------ */

// The ids of the text, malloc'ed; with `bos` they start with BOS if there is one.
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
    prompt_batch *p, const options *o, const text_codec *codec, const char *text,
    size_t bytes, int line, wb_error *err)
{
    char where[300];
    snprintf(where, sizeof where, line ? "%.250s:%d" : "%.250s", p->from, line);
    if (bytes == 0) return error_set(err, "%s: an empty prompt: write a text", where);
    wb_error why;
    size_t count;
    int *ids = encode(codec, text, bytes, !o->no_bos && !o->load_state, &count, &why);
    if (!ids) return error_set(err, "%s: %.700s", where, why.text);
    if (add_sequence(p, ids, count, line, err)) return -1;
    if (count == 0)
        return error_set(
            err, "%s: the tokenizer makes no token of this prompt: write a text", where);
    return 0;
}

// Lines end with \n or \r\n; an empty last line does not count.
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
    prompt_batch *p, const options *o, const text_codec *codec, const char *text,
    size_t bytes, wb_error *err)
{
    const char *rest = text, *end = text + bytes;
    for (int line = 1; rest < end; line++) {
        size_t length;
        const char *prompt = next_line(&rest, end, &length);
        if (add_prompt(p, o, codec, prompt, length, line, err)) return -1;
        if (!(p->text[p->batch - 1] = strndup(prompt, length)))
            return error_set(err, "%s: no memory", p->from);
    }
    return 0;
}

/* --- token ids ---------------------------------------------------------------------- */

static bool is_separator(char c)
{
    return c == ' ' || c == ',' || c == '\t';
}

// The id at *p; moves *p past it. -1: not a whole number that fits, or no separator after
// it.
static int one_id(const char **p, const char *end)
{
    long id = 0;
    const char *first = *p;
    while (*p < end && **p >= '0' && **p <= '9' && id <= INT_MAX)
        id = id * 10 + (*(*p)++ - '0');
    bool whole = *p > first && (*p == end || is_separator(**p));
    return whole && id <= INT_MAX ? (int)id : -1;
}

static int
add_ids(prompt_batch *p, const char *line, size_t bytes, int number, wb_error *err)
{
    const char *at = line, *end = line + bytes;
    size_t count = 0;
    int *ids = malloc((bytes + 1) * sizeof *ids);  // an id and a separator: two bytes
    if (!ids) return error_set(err, "%s:%d: no memory", p->from, number);
    for (;;) {
        while (at < end && is_separator(*at))
            at++;
        if (at == end) break;
        const char *word = at;
        int id = one_id(&at, end);
        if (id < 0) {
            int length = 0;
            while (word + length < end && !is_separator(word[length]) && length < 40)
                length++;
            free(ids);
            return error_set(
                err, "%s:%d: '%.*s' is not a token id: write whole numbers from 0 up",
                p->from, number, length, word);
        }
        ids[count++] = id;
    }
    if (add_sequence(p, ids, count, number, err)) return -1;
    if (count == 0)
        return error_set(
            err, "%s:%d: a line without token ids: write at least one, or remove it",
            p->from, number);
    return 0;
}

static int read_ids(prompt_batch *p, const char *text, size_t bytes, wb_error *err)
{
    const char *rest = text, *end = text + bytes;
    for (int line = 1; rest < end; line++) {
        size_t length;
        const char *ids = next_line(&rest, end, &length);
        if (add_ids(p, ids, length, line, err)) return -1;
    }
    return 0;
}

int prompts_check(const prompt_batch *p, int vocab, wb_error *err)
{
    for (int b = 0; b < p->batch; b++)
        for (int i = 0; i < p->count[b]; i++) {
            if (p->ids[b][i] >= 0 && p->ids[b][i] < vocab) continue;
            char where[300];
            snprintf(
                where, sizeof where, p->line[b] ? "%.250s:%d" : "%.250s", p->from,
                p->line[b]);
            return error_set(
                err, "%s: token id %d is outside of the model's vocabulary, 0 to %d",
                where, p->ids[b][i], vocab - 1);
        }
    return 0;
}

/* --- where it comes from ------------------------------------------------------------ */

static int
read_file(prompt_batch *p, const options *o, const text_codec *codec, wb_error *err)
{
    size_t bytes;
    char *text = file_read_any(p->from, MAX_BYTES, &bytes, err);
    if (!text) return -1;
    int lines = count_lines(text, bytes), rc = make_room(p, (size_t)lines + 1, err);
    if (!rc && lines == 0)
        rc = error_set(
            err, "%s: an empty file: write %s a line", p->from,
            o->tokens ? "the token ids of a sequence" : "a prompt");
    if (!rc)
        rc = o->tokens ? read_ids(p, text, bytes, err)
                       : read_prompts(p, o, codec, text, bytes, err);
    free(text);
    return rc;
}

// --batch sequences from the prompt that was added.
static int repeat(prompt_batch *p, long batch, wb_error *err)
{
    size_t count = (size_t)p->count[0];
    while (p->batch < batch) {
        int *ids = malloc(count * sizeof *ids);
        if (!ids) return error_set(err, "%s: no memory for its tokens", p->from);
        memcpy(ids, p->ids[0], count * sizeof *ids);
        if (add_sequence(p, ids, count, 0, err)) return -1;
    }
    return 0;
}

int prompts_precede(prompt_batch *p, int id, wb_error *err)
{
    size_t count = (size_t)p->count[0];
    int *ids = realloc(p->ids[0], (count + 1) * sizeof *ids);
    if (!ids) return error_set(err, "%s: no memory for its tokens", p->from);
    memmove(ids + 1, ids, count * sizeof *ids);
    ids[0] = id;
    p->ids[0] = ids, p->count[0]++;
    if (p->count[0] > p->longest) p->longest = p->count[0];
    return 0;
}

int prompts_read(
    prompt_batch *p, const options *o, const text_codec *codec, wb_error *err)
{
    *p = (prompt_batch){.from = o->tokens ? o->tokens : o->gen.prompts};
    if (p->from) return read_file(p, o, codec, err);
    if (options_continue(o)) {
        p->from = o->load_state;
        return make_room(p, 1, err) || add_sequence(p, NULL, 0, 0, err) ? -1 : 0;
    }
    p->whole = prompt_read(&o->gen, &p->from, &p->whole_bytes, err);
    if (!p->whole || make_room(p, (size_t)o->gen.batch, err)) return -1;
    int rc = add_prompt(p, o, codec, p->whole, p->whole_bytes, 0, err);
    return rc ? rc : repeat(p, o->gen.batch, err);
}

int prompts_read_text(
    prompt_batch *p, const options *o, const char *path, const text_codec *codec,
    wb_error *err)
{
    *p = (prompt_batch){.from = path};
    p->whole = file_read_any(path, MAX_BYTES, &p->whole_bytes, err);
    if (!p->whole || make_room(p, 1, err)) return -1;
    return add_prompt(p, o, codec, p->whole, p->whole_bytes, 0, err);
}
