/* flags.h - the options of a program: one table serves the command line (--name value or
 * --name=value), files of name=value lines, and --help.
 *
 *     typedef struct options { long steps; double lr; bool quiet; const char *out; } options;
 *     static const flag rows[] = {
 *         {"steps", FLAG_LONG, FLAG_AT(options, steps), 1, 1, 1e9, "2000", "of the run"},
 *         {"quiet", FLAG_SWITCH, FLAG_AT(options, quiet), 1, 0, 0, "0", "only results"},
 *         {"out", FLAG_WORD, FLAG_AT(options, out), 1, 0, 0, NULL, "folder"},
 *     };
 *     static const flag_table table = {rows, sizeof rows / sizeof *rows};
 *     flags_default(&table, &o);
 *     if (flags_parse(&table, &o, argc - 1, argv + 1, 1, &err)) ...
 */
#ifndef FLAGS_H
#define FLAGS_H
#include "file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum flag_kind {
    FLAG_TEXT,   /* char[room] */
    FLAG_WORD,   /* const char *: the word of the command line itself, of any length */
    FLAG_LIST,   /* flag_list: every --name adds a word, which may not be empty */
    FLAG_LONG,   /* long, low .. high */
    FLAG_REAL,   /* double, low .. high */
    FLAG_SWITCH, /* bool: --name, --name 0, --name 1 */
    FLAG_SEED,   /* uint64_t */
} flag_kind;

enum { FLAG_LIST_ROOM = 64 };
typedef struct flag_list {
    const char *word[FLAG_LIST_ROOM];
    int count;
} flag_list;

typedef struct flag {
    const char *name;
    flag_kind kind;
    size_t offset, room; /* of the field in the program's structure */
    int use;             /* any bits: which commands take it */
    double low, high;
    const char *start; /* default; NULL (only FLAG_WORD and FLAG_LIST): none */
    const char *help;
} flag;
#define FLAG_AT(type, field) offsetof(type, field), sizeof(((type *)0)->field)

/* A former spelling: not accepted, but suggested. */
typedef struct flag_renamed {
    const char *was, *now;
} flag_renamed;

typedef struct flag_table {
    const flag *flags;
    size_t count;
    const flag_renamed *renamed;
    size_t renamed_count;
} flag_table;

/* The option of this name that has a bit of `use`, or NULL. */
const flag *flags_find(const flag_table *t, const char *name, size_t length, int use);
/* The current name of a former one, else the most similar name; NULL: none is similar. */
const char *flags_nearest(const flag_table *t, const char *name, size_t length, int use);
/* Every field gets its default. */
void flags_default(const flag_table *t, void *options);
/* `where` names the source for the message: "--lr", or "presets/x:3: lr". */
int flags_set(
    const flag *f, void *options, const char *value, const char *where, wb_error *err);
/* How many words the option at argv[i] takes: 2 if its value is a separate word, else 1.
 * An option that the table lacks is assumed to have a value. */
int flags_words(const flag_table *t, int argc, char **argv, int i, int use);
/* Whether `word`, such as "--help", is one of the options, and not the value of one. */
bool flags_ask(const flag_table *t, int argc, char **argv, int use, const char *word);
/* argv[0] is the first option. Takes the options that have a bit of `use`, whose lists
 * start empty; for an unknown option the error suggests the nearest. */
int flags_parse(
    const flag_table *t, void *options, int argc, char **argv, int use, wb_error *err);
/* A line for each option that has a bit of `use`. */
void flags_help(const flag_table *t, int use);

#endif
