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
/* 1 if an #include line can have the name; for make: and if no character is special there. */
int is_usable_name(const char *path);
extern int for_make; /* set by -d */

/* --- missing.c ---------------------------------------------------------------------- */

/* The number of the header that is generated in place of a toolkit's header which the back
 * end does not have; 0: it has that header, or the name is not the toolkit's. */
int missing_header(const char *name, int *translations);
/* Call it for each file of a source before it is rewritten. */
void note_used_names(const struct source *s);
void write_missing_headers(void);

/* --- modules.c ---------------------------------------------------------------------- */

extern int module_mode; /* set by --module */
void register_kernels(struct source *s);

/* --- headers.c again ---------------------------------------------------------------- */

/* Writes OUT.number.h. */
void write_translation(int number, const char *text);
/* Removes the translations of this run, or those that an earlier run has left. */
void remove_translations(void);

#endif
