/* cases.c - reads a cases file, in which one case may have several variants. */
#include "cases.h"

#include "file.h"
#include "util.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const float_dtypes[FLOAT_DTYPES] = {"f32", "f16", "bf16"};

/* --- the cases file ----------------------------------------------------------------- */

struct reader {
    const char *path;
    int line;
    char *error; /* empty: none yet */
    size_t error_bytes;
};

static void wrong(struct reader *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void wrong(struct reader *r, const char *format, ...)
{
    va_list args;
    if (r->error[0]) return;
    int n = snprintf(r->error, r->error_bytes, "%s:%d: ", r->path, r->line);
    va_start(args, format);
    vsnprintf(r->error + n, r->error_bytes - (size_t)n, format, args);
    va_end(args);
}

static char *trimmed(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = 0;
    return s;
}

static void copy_name(struct reader *r, char *to, size_t room, const char *from)
{
    if (strlen(from) >= room)
        wrong(r, "'%s' is longer than %zu characters", from, room - 1);
    if (strspn(
            from, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
        strlen(from))
        wrong(r, "'%s' may contain only letters, digits and _.-", from);
    snprintf(to, room, "%s", from);
}

static wb_status status_named(struct reader *r, const char *name)
{
    for (int s = WB_OK; s <= WB_BAD_CUDA; s++)
        if (!strcmp(wb_status_name((wb_status)s), name)) return (wb_status)s;
    wrong(r, "status=%s is not a wb_status", name);
    return WB_OK;
}

/* reads(x)<=1.05 */
static void read_bound(struct reader *r, struct bound *b, const char *text, size_t length)
{
    static const char *const names[] = {
        [READS] = "reads",
        [WRITES] = "writes",
        [SECTORS] = "sectors",
        [REQUESTS] = "requests",
        [CONFLICTS] = "conflicts",
        [LAUNCHES] = "launches",
        [FLOAT_ATOMICS] = "float_atomics",
        [BARRIERS] = "barriers",
        [PER_WARP] = "per_warp",
        [TENSOR] = "tensor"};
    size_t n = strcspn(text, "(<>");
    const char *after = text + length;
    char *end = NULL;
    for (int i = READS; i <= TENSOR; i++)
        if (strlen(names[i]) == n && !strncmp(names[i], text, n))
            b->what = (enum counted)i;
    if (text[n] == '(') {
        int letters = (int)strcspn(text + n + 1, ")");
        snprintf(b->buffer, sizeof b->buffer, "%.*s", letters, text + n + 1);
    }
    const char *limit = strstr(text, b->what == TENSOR ? ">=" : "<=");
    if (limit) b->limit = strtod(limit + 2, &end);
    bool named = b->what == READS || b->what == WRITES;
    if (!b->what || end != after || named != (*b->buffer != 0))
        wrong(
            r,
            "bound=%s: use reads(x), writes(x), sectors, requests, conflicts, launches, "
            "float_atomics, barriers or per_warp, then <= and a number, or tensor>=1000",
            text);
}

/* "sectors<=1.1,reads(x)<=1.05" */
static void read_bounds(struct reader *r, struct bound *bounds, const char *text)
{
    for (int n = 0; *text && n < MAX_BOUNDS; n++) {
        size_t length = strcspn(text, ",");
        read_bound(r, &bounds[n], text, length);
        text += length + (text[length] == ',');
    }
    if (*text) wrong(r, "bound=: more than %d bounds", MAX_BOUNDS);
}

/* The grader reads only these keys; the reference reads and checks the others. */
static void
read_value(struct reader *r, struct graded_case *c, const char *field, const char *value)
{
    if (!strcmp(field, "dtype")) {
        snprintf(c->dtype, sizeof c->dtype, "%s", value);
        if (strcmp(value, "f32") && strcmp(value, "f16") && strcmp(value, "bf16"))
            wrong(r, "dtype=%s: use f32, f16 or bf16", value);
    } else if (!strcmp(field, "status")) {
        c->status = status_named(r, value);
    } else if (!strcmp(field, "bound")) {
        read_bounds(r, c->bounds, value);
    } else if (!strcmp(field, "workspace_less")) {
        c->workspace_less =
            !strcmp(value, "all") ? WITHHOLD_ALL : (uint32_t)strtoul(value, NULL, 10);
    } else if (!strcmp(field, "dry")) {
        c->dry = !strcmp(value, "1");
    } else if (!strcmp(field, "sms")) {
        c->sms = atoi(value);
        if (c->sms < 1 || c->sms > 1024)
            wrong(r, "sms=%s: use 1 to 1024 multiprocessors", value);
    } else if (!strcmp(field, "arch")) {
        c->arch = atoi(value); /* the CPU back end refuses unknown ones */
        if (c->arch < 1) wrong(r, "arch=%s: use 75, 80, 90 or another GPU's", value);
    } else if (!strcmp(field, "off")) {
        c->off_each = !strcmp(value, "each"); /* other values are the reference's */
    } else if (!strcmp(field, "workspace_below")) {
        c->workspace_below = strtoull(value, NULL, 10);
    }
}

enum { MAX_KEY = 1024 };

/* --- variants ----------------------------------------------------------------------- */

/* Copies alternative i of "C=31|32|33" to value, and the key to name. 12*~1..9 is twelve
 * alternatives. Returns their number. */
static int
alternative(char name[MAX_NAME], char *value, size_t room, const char *key, int i)
{
    int n = 0;
    size_t length = strcspn(key, "=");
    snprintf(name, MAX_NAME, "%.*s", (int)length, key);
    *value = 0;
    for (const char *s = key + length + 1;;) {
        size_t digits = strspn(s, "0123456789");
        int times = digits && s[digits] == '*' ? atoi(s) : 1;
        if (digits && s[digits] == '*') s += digits + 1;
        size_t part = strcspn(s, "|");
        if (n <= i && i < n + times) snprintf(value, room, "%.*s", (int)part, s);
        n += times;
        if (!s[part] || n > MAX_VARIANTS) return n;
        s += part + 1;
    }
}

/* Appends "T=9 S=64" for the name T/S and the value 9/64, and a space before it if there
 * is something. The reference knows the random ones: load.c. */
static void add_words(char *words, size_t room, const char *name, const char *value)
{
    for (;;) {
        size_t at = strlen(words), n = strcspn(name, "/"), m = strcspn(value, "/");
        if (!memchr(value, '~', m))
            snprintf(
                words + at, room - at, "%s%.*s=%.*s", at ? " " : "", (int)n, name, (int)m,
                value);
        if (!name[n] || !value[m]) return;
        name += n + 1, value += m + 1;
    }
}

static int count_of(const char *text, char c)
{
    int n = 0;
    for (; *text; text++)
        n += *text == c;
    return n;
}

/* A value of T/S must have two parts. The reference refuses the grader's keys here. */
static void check_together(struct reader *r, const char *name, const char *value)
{
    if (count_of(name, '/') != count_of(value, '/'))
        wrong(r, "%s=%s: as many values as names, with / between them", name, value);
}

/* Checks every alternative. The case itself gets the first, but all dtypes. */
static void read_key(struct reader *r, struct graded_case *c, const char *key)
{
    char name[MAX_NAME], value[MAX_KEY];
    const char *is = strchr(key, '=');
    if (!is || is == key || strlen(key) >= sizeof value) {
        wrong(r, "expected key=value, got '%s'", key);
        return;
    }
    int n = alternative(name, value, sizeof value, key, 0);
    for (int i = n; i-- > 0;) {
        alternative(name, value, sizeof value, key, i);
        if (!*value)
            wrong(r, "expected key=value, got '%s'", key);
        else if (strchr(name, '/'))
            check_together(r, name, value);
        else
            read_value(r, c, name, value);
    }
    if (!strcmp(name, "dtype")) {
        if (strlen(is + 1) >= sizeof c->dtype) wrong(r, "dtype%s: too many", is);
        snprintf(c->dtype, sizeof c->dtype, "%s", is + 1);
    }
    if (c->variants <= MAX_VARIANTS) c->variants *= n;
    if (c->variants > MAX_VARIANTS)
        wrong(r, "the case has more than %d variants", MAX_VARIANTS);
}

/* The last key varies fastest. */
void case_variant(
    struct graded_case *v, const struct graded_case *c, int k, char *words, size_t room)
{
    char error[512] = "", name[MAX_NAME], value[MAX_KEY];
    struct reader r = {"", 0, error, sizeof error}; /* cases_read found no error */
    int left = c->variants, rest = k;
    *v = *c;
    *words = 0;
    v->variant = k;
    if (c->variants > 1)
        snprintf(v->name, sizeof v->name, "%.*s@%d", MAX_NAME - 1, c->name, k + 1);
    for (char **key = c->keys; *key; key++) {
        int n = alternative(name, value, sizeof value, *key, 0);
        left /= n;
        alternative(name, value, sizeof value, *key, rest / left);
        rest %= left;
        read_value(&r, v, name, value); /* of T/S: none of the grader's keys */
        if (n > 1) add_words(words, room, name, value);
    }
}

bool case_has_dtype(const struct graded_case *c, const char *dtype)
{
    size_t n = strlen(dtype);
    for (const char *s = c->dtype;; s++) {
        size_t part = strcspn(s, "|");
        if (part == n && !strncmp(s, dtype, n)) return true;
        s += part;
        if (!*s) return false;
    }
}

/* --- one case ------------------------------------------------------------------------ */

static void
read_needs(struct reader *r, struct lab *lab, struct graded_case *c, char *text)
{
    size_t n = 0;
    c->needs = xalloc((strlen(text) / 2 + 2) * sizeof *c->needs);
    if (!strcmp(text, "-") || !*text) return;
    for (char *save, *s = strtok_r(text, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        s = trimmed(s);
        if (!case_find(lab, s))
            wrong(r, "%s needs '%s', which is not an earlier case", c->name, s);
        c->needs[n++] = text_of("%s", s);
    }
}

static void read_case(struct reader *r, struct lab *lab, char *line)
{
    struct graded_case c = {.dtype = "f32", .variants = 1};
    char *needs = strchr(line, ';'), *catches = needs ? strchr(needs + 1, ';') : NULL;
    char *field[4], *save, *end;
    int n = 0, keys = 0;
    if (!catches) {
        wrong(r, "a case is: name part points function key=value ... ; needs ; catches");
        return;
    }
    *needs++ = 0, *catches++ = 0;
    c.keys = xalloc((strlen(line) / 2 + 2) * sizeof *c.keys);
    for (char *s = strtok_r(line, " \t", &save); s; s = strtok_r(NULL, " \t", &save)) {
        if (n < 4)
            field[n++] = s;
        else
            read_key(r, &c, c.keys[keys++] = text_of("%s", s));
    }
    if (n < 4) {
        wrong(r, "a case starts with name, part, points and function");
        return;
    }
    copy_name(r, c.name, MAX_NAME, field[0]);
    copy_name(r, c.part, sizeof c.part, field[1]);
    copy_name(r, c.function, sizeof c.function, field[3]);
    errno = 0;
    long points = strtol(field[2], &end, 10);
    c.points = (int)points;
    if (*end || end == field[2] || errno || points < 0 || points > 100)
        wrong(
            r, "points of %s: '%s' is not a whole number from 0 to 100", c.name,
            field[2]);
    if (case_find(lab, c.name)) wrong(r, "case %s appears twice", c.name);
    c.catches = text_of("%s", trimmed(catches));
    if (!*c.catches) wrong(r, "%s does not say what it catches", c.name);
    read_needs(r, lab, &c, trimmed(needs));
    lab->cases = realloc(lab->cases, (lab->count + 1) * sizeof c);
    if (!lab->cases) fatal(EXIT_BROKEN, "out of memory");
    lab->cases[lab->count++] = c;
}

static bool shares_dtype(const struct graded_case *a, const struct graded_case *b)
{
    for (int i = 0; i < FLOAT_DTYPES; i++)
        if (case_has_dtype(a, float_dtypes[i]) && case_has_dtype(b, float_dtypes[i]))
            return true;
    return false;
}

/* Which cases check larger sizes: those with workspace_less=, or all cases of a function
 * and dtype without one. */
static void choose_larger(struct lab *lab)
{
    for (size_t i = 0; i < lab->count; i++) {
        struct graded_case *c = &lab->cases[i];
        c->larger = true;
        for (size_t k = 0; k < lab->count && !c->workspace_less; k++)
            if (lab->cases[k].workspace_less &&
                !strcmp(lab->cases[k].function, c->function) &&
                shares_dtype(c, &lab->cases[k]))
                c->larger = false;
    }
}

int cases_read(struct lab *lab, const char *path, char *error, size_t error_bytes)
{
    struct reader r = {path, 0, error, error_bytes};
    wb_error err;
    char *text = file_read(path, 1 << 20, NULL, &err), *next = text;
    int points = 0;
    *error = 0;
    lab->cases = NULL, lab->count = 0;
    if (!text) {
        snprintf(error, error_bytes, "%s", err.text);
        return -1;
    }
    for (char *line; (line = strsep(&next, "\n")) && !*error;) {
        r.line++;
        line = trimmed(line);
        if (*line && *line != '#') read_case(&r, lab, line);
    }
    free(text);
    for (size_t i = 0; i < lab->count; i++)
        points += lab->cases[i].points;
    choose_larger(lab);
    if (!*error && points != 100)
        snprintf(
            error, error_bytes, "%s: the points add up to %d, not 100", path, points);
    return *error ? -1 : 0;
}
