/* flags.c - see flags.h. */
#include "flags.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *full, const char *name, size_t length)
{
    return strlen(full) == length && memcmp(full, name, length) == 0;
}

const flag *flags_find(const flag_table *t, const char *name, size_t length, int use)
{
    for (size_t i = 0; i < t->count; i++) {
        const flag *f = &t->flags[i];
        if (f->use & use && is_name(f->name, name, length)) return f;
    }
    return NULL;
}

/* --- suggestions -------------------------------------------------------------------- */

enum { LONGEST_NAME = 40 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

// The least number of insertions, deletions, replacements and swaps of neighbours from b
// to a.
static int edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    int d[LONGEST_NAME + 1][LONGEST_NAME + 1];
    if (n > LONGEST_NAME || m > LONGEST_NAME) return LONGEST_NAME;
    for (size_t i = 0; i <= n; i++)
        for (size_t j = 0; j <= m; j++) {
            d[i][j] = i == 0 ? (int)j : (int)i;
            if (i == 0 || j == 0) continue;
            d[i][j] = least(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = least(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

const char *flags_nearest(const flag_table *t, const char *name, size_t length, int use)
{
    for (size_t i = 0; i < t->renamed_count; i++) {
        const flag_renamed *r = &t->renamed[i];
        if (is_name(r->was, name, length) && flags_find(t, r->now, strlen(r->now), use))
            return r->now;
    }
    const char *best = NULL;
    int nearest = 2 + (int)length / 3;  // at this distance two names are different words
    for (size_t i = 0; i < t->count; i++) {
        const char *candidate = t->flags[i].name;
        if (!(t->flags[i].use & use)) continue;
        int distance = edit_distance(name, length, candidate, strlen(candidate));
        if (distance < nearest) nearest = distance, best = candidate;
    }
    return best;
}

/* --- values ------------------------------------------------------------------------- */

// NULL, the default: an empty list.
static int add_word(flag_list *list, const char *word, const char *where, wb_error *err)
{
    if (!word) return list->count = 0;
    if (!*word) return error_set(err, "%s is empty: give it a value", where);
    if (list->count == FLAG_LIST_ROOM)
        return error_set(err, "%s: given more than %d times", where, FLAG_LIST_ROOM);
    list->word[list->count++] = word;
    return 0;
}

int flags_set(
    const flag *p, void *options, const char *value, const char *where, wb_error *err)
{
    char *field = (char *)options + p->offset, *end;
    errno = 0;
    if (p->kind == FLAG_TEXT) {
        if (strlen(value) >= p->room)
            return error_set(err, "%s: longer than %zu bytes", where, p->room - 1);
        strcpy(field, value);
        return 0;
    }
    if (p->kind == FLAG_WORD) {
        *(const char **)field = value;
        return 0;
    }
    if (p->kind == FLAG_LIST) return add_word((flag_list *)field, value, where, err);
    if (p->kind == FLAG_SWITCH) {
        bool yes = strcmp(value, "1") == 0, no = strcmp(value, "0") == 0;
        if (!yes && !no) return error_set(err, "%s: '%.40s' is not 0 or 1", where, value);
        *(bool *)field = yes;
        return 0;
    }
    if (p->kind == FLAG_SEED) {
        unsigned long long n = strtoull(value, &end, 0);
        if (!isdigit((unsigned char)*value) || *end || errno)
            return error_set(
                err, "%s: '%.40s' is not a seed (0 .. 2^64-1)", where, value);
        *(uint64_t *)field = n;
        return 0;
    }
    bool whole = p->kind == FLAG_LONG;
    double x = whole ? (double)strtol(value, &end, 10) : strtod(value, &end);
    if (end == value || *end || errno || !(x >= p->low && x <= p->high))
        return error_set(
            err, "%s: '%.40s' is not a%s number from %g to %g", where, value,
            whole ? " whole" : "", p->low, p->high);
    if (whole)
        *(long *)field = (long)x;
    else
        *(double *)field = x;
    return 0;
}

void flags_default(const flag_table *t, void *options)
{
    wb_error err;
    for (size_t i = 0; i < t->count; i++)
        if (flags_set(&t->flags[i], options, t->flags[i].start, t->flags[i].name, &err)) {
            fprintf(stderr, "%s\n", err.text);
            abort();  // the table is wrong
        }
}

/* --- command line ------------------------------------------------------------------- */

static int
unknown(const flag_table *t, const char *word, size_t length, int use, wb_error *err)
{
    const char *near = flags_nearest(t, word + 2, length, use);
    int shown = (int)length + 2 < 100 ? (int)length + 2 : 100;
    if (near)
        error_set(err, "unknown option %.*s; did you mean --%s?", shown, word, near);
    else
        error_set(err, "unknown option %.*s (see --help)", shown, word);
    return 0;
}

static bool is_option(const char *word)
{
    return strncmp(word, "--", 2) == 0;
}

int flags_words(const flag_table *t, int argc, char **argv, int i, int use)
{
    const char *next = i + 1 < argc ? argv[i + 1] : NULL;
    if (!is_option(argv[i]) || strchr(argv[i], '=') || !next) return 1;
    const flag *p = flags_find(t, argv[i] + 2, strlen(argv[i] + 2), use);
    bool takes = !p || p->kind != FLAG_SWITCH || !strcmp(next, "0") || !strcmp(next, "1");
    return takes ? 2 : 1;
}

bool flags_ask(const flag_table *t, int argc, char **argv, int use, const char *word)
{
    for (int i = 0; i < argc; i += flags_words(t, argc, argv, i, use))
        if (strcmp(argv[i], word) == 0) return true;
    return false;
}

// The option at argv[i]: its entry, its value, and how many words it took (0: error).
static int split(
    const flag_table *t, int argc, char **argv, int i, int use, const flag **p,
    const char **value, wb_error *err)
{
    const char *word = argv[i];
    if (!is_option(word)) {
        error_set(
            err, "'%.100s' is not an option (options start with --; see --help)", word);
        return 0;
    }
    const char *equal = strchr(word, '=');
    size_t length = equal ? (size_t)(equal - word - 2) : strlen(word + 2);
    *p = flags_find(t, word + 2, length, use);
    if (!*p) return unknown(t, word, length, use, err);
    if (equal) return *value = equal + 1, 1;
    int words = flags_words(t, argc, argv, i, use);
    if (words == 2) return *value = argv[i + 1], 2;
    if ((*p)->kind == FLAG_SWITCH) return *value = "1", 1;
    error_set(err, "%.100s needs a value (see --help)", word);
    return 0;
}

int flags_parse(
    const flag_table *t, void *options, int argc, char **argv, int use, wb_error *err)
{
    const flag *p = NULL;
    const char *value = NULL;
    for (size_t i = 0; i < t->count; i++)
        if (t->flags[i].kind == FLAG_LIST && t->flags[i].use & use)
            ((flag_list *)((char *)options + t->flags[i].offset))->count = 0;
    for (int i = 0, words; i < argc; i += words) {
        words = split(t, argc, argv, i, use, &p, &value, err);
        if (!words) return -1;
        char where[64];
        snprintf(where, sizeof where, "--%s", p->name);
        if (flags_set(p, options, value, where, err)) return -1;
    }
    return 0;
}

enum { HELP_COLUMN = 25, HELP_WIDTH = 90 };

// Words from HELP_COLUMN on, continued on lines of their own.
static void print_wrapped(const char *text)
{
    int at = HELP_COLUMN;
    for (const char *word = text; *word;) {
        int length = (int)strcspn(word, " ");
        if (at > HELP_COLUMN && at + 1 + length > HELP_WIDTH) {
            printf("\n%*s", HELP_COLUMN, "");
            at = HELP_COLUMN;
        } else if (at > HELP_COLUMN) {
            printf(" ");
            at++;
        }
        printf("%.*s", length, word);
        at += length, word += length;
        while (*word == ' ')
            word++;
    }
    printf("\n");
}

void flags_help(const flag_table *t, int use)
{
    for (size_t i = 0; i < t->count; i++) {
        const flag *p = &t->flags[i];
        char name[40], help[400];
        if (!(p->use & use)) continue;
        const char *start = p->start ? p->start : "";
        bool off = p->kind == FLAG_SWITCH && strcmp(start, "0") == 0;
        bool text = p->kind == FLAG_TEXT || p->kind == FLAG_WORD || p->kind == FLAG_LIST;
        const char *value = off                      ? ""
                            : p->kind == FLAG_SWITCH ? " 0|1"
                            : text                   ? " TEXT"
                                                     : " N";
        snprintf(name, sizeof name, "--%s%s", p->name, value);
        bool shown = *start && !off;
        snprintf(
            help, sizeof help, "%s%s%s%s", p->help, shown ? " [" : "", shown ? start : "",
            shown ? "]" : "");
        printf("  %-22s ", name);
        print_wrapped(help);
    }
}
