/* headers.h - the headers that a source includes. */
#ifndef HEADERS_H
#define HEADERS_H

#include "tokens.h"

/* Where #include "..." looks, after the includer's folder. */
void add_include_dir(const char *folder);
/* Translations are written to outdir as OUT.1.h, OUT.2.h, ...; OUT is a name without a
 * folder. The names in a source do not decide which files are written. */
void set_output(const char *outdir, const char *out);

/* Translates the headers that s includes, and what they include. Writes the translations,
 * and makes the #include lines of s name them. */
void translate_headers(struct source *s);
/* All rules, in their order. */
extern int check_mode; /* set by --check */
void rewrite(struct source *s);
/* Writes s to a new file in place of an old one. */
void write_source(const struct source *s, const char *path);

/* Writes a rule for make: object depends on input and on all headers. */
void write_dependencies(const char *path, const char *object, const char *input);
/* 1 if the name has no character that is special to make. */
int is_make_name(const char *path);

/* Removes the translations of this run, or those that an earlier run has left. */
void remove_translations(void);

#endif
