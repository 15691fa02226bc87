/* load.h - one variant of a case, with its data and what the report calls it. */
#ifndef LOAD_H
#define LOAD_H
#include "report.h"

struct title {
    char shape[96];  /* "16x1000 f32": of the first output */
    char words[256]; /* "C=516 inplace=1": what distinguishes this variant, or "" */
};

/* How many variants of case i to grade. */
int variants_of(const struct report *r, size_t i);
/* Loads the data of variant k of case i from the folder `data`: sets A and B (2), or A (1).
 * Returns false after a finding, if the data is damaged. Either way data_free(d). */
bool load_variant(
    struct report *r, const char *data, int sets, size_t i, int k, struct graded_case *v,
    struct case_data *d, struct title *t);

#endif
