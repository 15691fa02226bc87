/* causes.h - the mistakes that the reference knows, and what they compute in a case. Most
 * results are right, so they are read only when one is wrong. */
#ifndef CAUSES_H
#define CAUSES_H
#include <stdbool.h>
#include <stddef.h>

struct view;

struct cause {
    char *words;
    const float *value; /* in the order of want, or a factor of want for each row */
    bool factor;        /* of each row */
    bool partial;       /* only some elements are wrong: CAUSE starts with some_ */
    bool nan; /* NaN in value is what a kernel computes: CAUSE starts with nan_ */
};

/* Those of one output. path: DIR/CASE.a.causes.safetensors; NULL, or no file: none are
 * known. */
struct causes {
    char *path;
    struct st_file *file;
    struct cause *all;
    size_t count;
    const struct view *of; /* the output that `all` is about */
};

/* Reads them, unless `c` has those of this output. */
void causes_read(struct causes *c, const struct view *output);
void causes_free(struct causes *c);

#endif
