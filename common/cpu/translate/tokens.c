/* tokens.c - reads a source; functions to examine and to replace its tokens. */
#include "tokens.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void *check_alloc(void *p)
{
    if (p) return p;
    fprintf(stderr, "translate: out of memory\n");
    exit(1);
}

/* --- reading ------------------------------------------------------------------------ */

static size_t total; /* bytes read so far */

/* Reads all of a regular file of at most room bytes. Returns NULL, or why not. */
static const char *read_all(const char *path, char **text, size_t *size, size_t room)
{
    struct stat st;
    int f = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO would block */
    if (f < 0) return strerror(errno);
    const char *why = fstat(f, &st) ? strerror(errno) : NULL;
    if (!why && !S_ISREG(st.st_mode))
        why = S_ISDIR(st.st_mode) ? "it is a folder" : "it is not a regular file";
    *text = check_alloc(malloc(room + 2));
    *size = 0;
    for (ssize_t n = 1; !why && n && *size <= room; *size += (size_t)n) {
        n = read(f, *text + *size, room + 1 - *size);
        if (n < 0) why = strerror(errno), n = 0;
    }
    close(f);
    (*text)[*size] = 0;
    if (!why) *text = check_alloc(realloc(*text, *size + 1));
    return why;
}

int read_source(struct source *s, const char *path, const struct source *includer, int i)
{
    const size_t room = (size_t)MAX_SOURCE_MB << 20;
    memset(s, 0, sizeof *s);
    s->path = path;
    const char *why = read_all(path, &s->text, &s->size, room);
    if (why && includer)
        fail_at(includer, i, "%s cannot be read: %s", path, why);
    else if (why)
        fail_in(path, 0, "cannot be read: %s", why);
    else if (s->size > room)
        fail_in(path, 1, "the file is larger than %d MB", MAX_SOURCE_MB);
    else if ((total += s->size) > (size_t)MAX_TOTAL_MB << 20)
        fail_in(
            path, 1, "the source and its headers are larger than %d MB", MAX_TOTAL_MB);
    else {
        if (strncmp(s->text, "\xef\xbb\xbf", 3) == 0) /* the byte-order mark of UTF-8 */
            memset(s->text, ' ', 3);
        tokenize(s);
    }
    return !given_up;
}

void free_source(struct source *s)
{
    for (int i = 0; i < s->kept_count; i++)
        free(s->kept[i]);
    free(s->kept);
    free(s->tokens);
    free(s->text);
}

void print_source(const struct source *s, void *file)
{
    struct buffer b = {0};
    for (int i = 0; i < s->count; i++)
        append_token(&b, &s->tokens[i], NULL);
    if (b.length) fwrite(b.text, 1, b.length, file);
    free(b.text);
}

/* --- examining tokens --------------------------------------------------------------- */

static int inside(const struct source *s, int i)
{
    return i >= 0 && i < s->count;
}

int is(const struct source *s, int i, const char *text)
{
    if (!inside(s, i) || *s->tokens[i].start != *text) return 0;
    size_t n = strlen(text);
    return (size_t)s->tokens[i].length == n && memcmp(s->tokens[i].start, text, n) == 0;
}
int is_name(const struct source *s, int i)
{
    return inside(s, i) && s->tokens[i].kind == NAME;
}
int token_in(const struct source *s, int i, const char *list)
{
    if (!is_name(s, i)) return 0;
    const struct token *t = &s->tokens[i];
    for (const char *w = list; *w; w += *w == ' ') {
        size_t n = strcspn(w, " ");
        if (n == (size_t)t->length && memcmp(w, t->start, n) == 0) return 1;
        w += n;
    }
    return 0;
}
int same_text(const struct source *s, int a, int b)
{
    const struct token *x = &s->tokens[a], *y = &s->tokens[b];
    return x->length == y->length && memcmp(x->start, y->start, (size_t)x->length) == 0;
}

int is_space(const struct source *s, int i)
{
    return s->tokens[i].kind == BLANK || s->tokens[i].kind == COMMENT;
}
int next(const struct source *s, int i)
{
    if (i < 0) return s->count && is_space(s, 0) ? s->tokens[0].next : 0;
    return i < s->count ? s->tokens[i].next : s->count;
}
int previous(const struct source *s, int i)
{
    if (i < 0) return -1;
    if (i < s->count) return s->tokens[i].previous;
    return s->count && is_space(s, s->count - 1) ? s->tokens[s->count - 1].previous
                                                 : s->count - 1;
}
int run_of(const struct source *s, int i, char c, int n)
{
    for (int k = i; k < i + n; k++)
        if (!inside(s, k) || s->tokens[k].kind != MARK || *s->tokens[k].start != c)
            return 0;
    return 1;
}
int mate(const struct source *s, int i)
{
    return inside(s, i) ? s->tokens[i].mate : -1;
}
int find_outside(const struct source *s, int i, int end, const char *mark)
{
    while (i < end && !is(s, i, mark))
        i = next(s, mate(s, i) > i ? mate(s, i) : i);
    return i;
}

/* Looks at MAX_ANGLE tokens, so that many '<' in one expression take no long time. */
static int angle(const struct source *s, int i, int step, char opening, char closing)
{
    enum { MAX_ANGLE = 400 };
    int depth = 0;
    for (int n = 0; n < MAX_ANGLE && inside(s, i); n++, i += step) {
        if (s->tokens[i].kind != MARK) continue;
        char c = *s->tokens[i].start;
        if (c == opening) depth++;
        if (c == closing && --depth == 0) return i;
        if (c == ';') return -1;
        int m = s->tokens[i].mate;
        if (m < 0) continue;
        if ((m - i) * step < 0) return -1; /* leaves the enclosing bracket */
        i = m;
    }
    return -1;
}
int open_angle(const struct source *s, int i)
{
    return angle(s, i, -1, '>', '<');
}
int close_angle(const struct source *s, int i)
{
    return angle(s, i, 1, '<', '>');
}

/* --- an index of tokens ------------------------------------------------------------- */

void index_add(struct token_index *x, int i)
{
    if (x->count == x->room) {
        x->room = x->room ? 2 * x->room : 256;
        x->tokens = check_alloc(realloc(x->tokens, (size_t)x->room * sizeof *x->tokens));
    }
    x->tokens[x->count++] = i;
}

static int compare_text(const struct source *s, int i, const char *text, int length)
{
    const struct token *t = &s->tokens[i];
    int shorter = t->length < length ? t->length : length;
    int order = memcmp(t->start, text, (size_t)shorter);
    return order ? order : (t->length > length) - (t->length < length);
}

static int compare_tokens(const void *a, const void *b, void *source)
{
    const struct source *s = source;
    int i = *(const int *)a, k = *(const int *)b;
    int order = compare_text(s, i, s->tokens[k].start, s->tokens[k].length);
    return order ? order : (i > k) - (i < k);
}

void index_sort(struct token_index *x, const struct source *s)
{
    if (x->count)
        qsort_r(x->tokens, (size_t)x->count, sizeof(int), compare_tokens, (void *)s);
}

/* The first entry that is not less (or, with after, that is greater) than the text. */
static int bound(
    const struct token_index *x, const struct source *s, const char *text, int length,
    int after)
{
    int low = 0, high = x->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare_text(s, x->tokens[middle], text, length) < after)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int index_find(
    const struct token_index *x, const struct source *s, const char *text, int length,
    int *equal)
{
    int first = bound(x, s, text, length, 0);
    *equal = bound(x, s, text, length, 1) - first;
    return *equal ? first : -1;
}
