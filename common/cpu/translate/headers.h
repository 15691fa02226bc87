/* headers.h - the headers that a source includes. */
#ifndef HEADERS_H
#define HEADERS_H

#include "tokens.h"

/* Where #include "..." looks, after the includer's folder. */
void add_include_dir(const char *folder);
/* Where translations are written, and under which name: OUT.1.h, OUT.2.h, ... OUT has no
 * folder. They belong to one source: no name in a source decides what is written. */
void set_output(const char *outdir, const char *out);

/* Translates the headers that s includes, and what they include. Writes the translations,
 * and makes the #include lines of s name them. */
void translate_headers(struct source *s);
/* All rules, in their order. */
void rewrite(struct source *s);
/* Writes s to a new file in place of an old one. */
void write_source(const struct source *s, const char *path);

/* Writes a rule for make: object depends on input and on all headers. */
void write_dependencies(const char *path, const char *object, const char *input);
/* 1 if make reads the name as it is written; else says why not. */
int is_make_name(const char *path);

/* Removes the translations of this run, or those that an earlier run has left. */
void remove_translations(void);

#endif
