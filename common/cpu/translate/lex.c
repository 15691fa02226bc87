/* lex.c - splits a source into tokens and matches its brackets. */
#include "tokens.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one token ---------------------------------------------------------------------- */

/* What end_of_token finds besides the end. */
struct found {
    enum kind kind;
    const char *error; /* a message, or NULL */
    char unclosed;     /* the quote of a string that ends with its line, or 0 */
};

static int is_name_char(char c) /* or a byte of a letter in UTF-8 */
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c & 0x80;
}

/* The length of a line splice at p, or 0. Like g++, accepts blanks between the backslash
 * and the line break. */
static int splice(const char *p)
{
    const char *q = p;
    if (*q++ != '\\') return 0;
    while (*q == ' ' || *q == '\t' || *q == '\r' || *q == '\f' || *q == '\v')
        q++;
    return *q == '\n' ? (int)(q + 1 - p) : 0;
}

static const char *end_of_line(const char *p) /* a splice continues the line */
{
    while (*p && *p != '\n') {
        int n = splice(p);
        p += n ? n : 1;
    }
    return p;
}

static const char *end_of_string(const char *p, struct found *f)
{
    char quote = *p++;
    while (*p && *p != quote && *p != '\n') {
        int n = splice(p);
        p += n ? n : p[0] == '\\' && p[1] && p[1] != '\n' ? 2 : 1;
    }
    if (*p == quote) return p + 1;
    f->unclosed = quote;
    return p;
}

/* The end of a raw string whose R is followed by the quote at p. */
static const char *end_of_raw_string(const char *p, struct found *f)
{
    char closing[20] = ")";
    size_t n = strcspn(++p, "() \\\t\v\f\r\n\"");
    if (p[n] != '(' || n > 16) {
        f->error = "a raw string starts with R\"( or R\"name(, the name at most 16 "
                   "characters long";
        return p;
    }
    memcpy(closing + 1, p, n);
    strcat(closing, "\"");
    const char *end = strstr(p + n, closing);
    if (end) return end + n + 2;
    f->error = "a raw string without its end";
    return p;
}

static const char *end_of_comment(const char *p, struct found *f)
{
    const char *end = strstr(p + 2, "*/");
    if (end) return end + 2;
    f->error = "a comment without its */";
    return p;
}

static const char *end_of_number(const char *p)
{
    while (is_name_char(*p) || *p == '.' || (*p == '\'' && is_name_char(p[1])) ||
           ((*p == '+' || *p == '-') && strchr("eEpP", p[-1])))
        p++;
    return p;
}

static int is_whole_line_directive(const char *p) /* p: after the # */
{
    static const char *const names[] = {"include", "error", "warning", "pragma"};
    while (*p == ' ' || *p == '\t')
        p++;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(p, names[i], strlen(names[i])) == 0) return 1;
    return 0;
}

/* The end of its line, or the start of a comment that may continue on the next. */
static const char *end_of_directive(const char *p)
{
    struct found ignored;
    while (*p && *p != '\n') {
        int n = splice(p);
        if (p[0] == '/' && p[1] == '*') return p;
        if (p[0] == '/' && p[1] == '/') return end_of_line(p);
        if (*p == '"' || *p == '\'')
            p = end_of_string(p, &ignored);
        else
            p += n ? n : 1;
    }
    return p;
}

/* If a raw string starts at p, with any prefix (u8, L, ...), returns its quote. */
static const char *raw_quote(const char *p)
{
    if (p[0] == 'u' && p[1] == '8')
        p += 2;
    else if (*p == 'L' || *p == 'u' || *p == 'U')
        p++;
    return p[0] == 'R' && p[1] == '"' ? p + 1 : NULL;
}

static const char *end_of_blank(const char *p)
{
    for (int n; isspace((unsigned char)*p) || splice(p);) {
        n = splice(p);
        p += n ? n : 1;
    }
    return p;
}

static const char *end_of_token(const char *p, struct found *f)
{
    const char *quote;
    memset(f, 0, sizeof *f);
    if (isspace((unsigned char)*p) || splice(p)) {
        f->kind = BLANK;
        return end_of_blank(p);
    }
    if (p[0] == '/' && (p[1] == '/' || p[1] == '*')) {
        f->kind = COMMENT;
        return p[1] == '/' ? end_of_line(p) : end_of_comment(p, f);
    }
    if (*p == '#' && is_whole_line_directive(p + 1)) {
        f->kind = DIRECTIVE;
        return end_of_directive(p);
    }
    if ((quote = raw_quote(p))) {
        f->kind = STRING;
        return end_of_raw_string(quote, f);
    }
    if (*p == '"' || *p == '\'') {
        f->kind = STRING;
        return end_of_string(p, f);
    }
    if (isdigit((unsigned char)*p) || (*p == '.' && isdigit((unsigned char)p[1]))) {
        f->kind = NUMBER;
        return end_of_number(p);
    }
    if (is_name_char(*p)) {
        f->kind = NAME;
        while (is_name_char(*p))
            p++;
        return p;
    }
    f->kind = MARK;
    return p + 1;
}

/* --- all tokens --------------------------------------------------------------------- */

/* Where the tokenizer is: in the line of a directive, and in how many #if. */
struct place {
    int directive, named; /* named: the directive's name has been read */
    int ifs;
};

static int ends_line(const struct token *t) /* a blank with a line break */
{
    for (int k = 0, n; k < t->length; k += n ? n : 1) {
        n = splice(t->start + k);
        if (!n && t->start[k] == '\n') return 1;
    }
    return 0;
}

static void follow(struct place *at, struct source *s, int i)
{
    struct token *t = &s->tokens[i];
    if (t->kind == BLANK && ends_line(t)) at->directive = 0;
    t->in_directive = at->directive;
    if (t->kind == DIRECTIVE) at->directive = at->named = 1;
    if (t->kind == MARK && *t->start == '#' && !at->directive) {
        at->directive = 1;
        at->named = 0;
    } else if (t->kind == NAME && at->directive && !at->named) {
        at->named = 1;
        if (is(s, i, "if") || is(s, i, "ifdef") || is(s, i, "ifndef")) at->ifs++;
        if (is(s, i, "endif") && at->ifs) at->ifs--;
    }
}

static void check(struct source *s, const struct place *at, const struct found *f)
{
    int i = s->count - 1;
    if (f->error)
        fail_at(s, i, "%s", f->error);
    else if (f->unclosed && !at->ifs && !at->directive)
        /* Text that #if leaves out may contain an apostrophe. */
        fail_at(s, i, "a string without its closing %c", f->unclosed);
}

/* nvcc removes comments first, so a backslash before a comment at the end of its line splices
 * lines. g++ does not do this. */
static void drop_splices(struct source *s)
{
    for (int i = 0; i + 2 < s->count; i++) {
        struct token *t = &s->tokens[i];
        if (t->kind != MARK || *t->start != '\\' || t->in_directive) continue;
        int k = i + 1;
        if (s->tokens[k].kind == BLANK && !ends_line(&s->tokens[k])) k++;
        if (s->tokens[k].kind != COMMENT || k + 1 >= s->count ||
            s->tokens[k + 1].kind != BLANK || !ends_line(&s->tokens[k + 1]))
            continue;
        t->kind = BLANK;
        t->text = "";
    }
}

static void link_tokens(struct source *s)
{
    for (int i = 0, last = -1; i < s->count; i++) {
        s->tokens[i].previous = last;
        if (s->tokens[i].kind != BLANK && s->tokens[i].kind != COMMENT) last = i;
    }
    for (int i = s->count - 1, last = s->count; i >= 0; i--) {
        s->tokens[i].next = last;
        if (s->tokens[i].kind != BLANK && s->tokens[i].kind != COMMENT) last = i;
    }
}

/* Both branches of an #if may open the same bracket. A brace closes what is still open
 * inside of it; another bracket that does not match stays without a mate. */
static void match_brackets(struct source *s)
{
    int open[MAX_NESTING], depth = 0;
    for (int i = 0; i < s->count; i++) {
        if (s->tokens[i].kind != MARK) continue;
        char c = *s->tokens[i].start;
        const char *closing = strchr(")]}", c);
        if (strchr("([{", c)) {
            if (depth == MAX_NESTING) {
                fail_at(s, i, "brackets are nested more than %d deep", MAX_NESTING);
                return;
            }
            open[depth++] = i;
        } else if (closing) {
            char want = "([{"[closing - ")]}"];
            int k = depth - 1;
            while (k >= 0 && c == '}' && *s->tokens[open[k]].start != want)
                k--;
            if (k < 0 || *s->tokens[open[k]].start != want) continue;
            s->tokens[open[k]].mate = i;
            s->tokens[i].mate = open[k];
            depth = k;
        }
    }
}

static void add_token(struct source *s, int *room)
{
    if (s->count == *room) {
        *room = *room ? 2 * *room : 4096;
        s->tokens = check_alloc(realloc(s->tokens, (size_t)*room * sizeof *s->tokens));
    }
    memset(&s->tokens[s->count++], 0, sizeof *s->tokens);
}

void tokenize(struct source *s)
{
    int room = 0, line = 1;
    struct place at = {0};
    const char *nul = memchr(s->text, 0, s->size);
    if (nul) {
        for (const char *p = s->text; p < nul; p++)
            line += *p == '\n';
        fail_in(
            s->path, line, "a NUL byte: this is not text; save the file as UTF-8 text");
        return;
    }
    for (const char *p = s->text; *p && !given_up;) {
        struct found f;
        add_token(s, &room);
        struct token *t = &s->tokens[s->count - 1];
        const char *end = end_of_token(p, &f);
        t->kind = f.kind;
        if (p == s->text && strncmp(p, "\xef\xbb\xbf", 3) == 0) {
            end = p + 3; /* a byte order mark, which the compiler knows only at the top */
            t->kind = BLANK;
            t->text = "";
        }
        t->start = p;
        t->length = (int)(end - p);
        t->line = line;
        t->mate = -1;
        follow(&at, s, s->count - 1);
        check(s, &at, &f);
        for (; p < end; p++)
            line += *p == '\n';
    }
    drop_splices(s);
    link_tokens(s);
    if (!given_up) match_brackets(s);
}
