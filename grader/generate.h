/* generate.h - runs the Python reference, which makes the data of a lab's cases. */
#ifndef GENERATE_H
#define GENERATE_H
#include "cases.h"

#include <stdbool.h>
#include <stdint.h>

enum { DEFAULT_SEED = 0x5eed };

/* Which data: its seed, and who may see it. */
struct wanted_data {
    uint64_t seed;
    bool random;  /* take a random seed, and another one if the reference refuses */
    bool private; /* not cached in the tree, unless it is of the default seed */
    const char *pattern; /* -k, or NULL */
    const char *folder;  /* --data: the caller made it; or NULL */
    bool first;          /* only the first variant of each case */
};

/* The folder with the tensors of the lab's cases; free() it. Sets the random seed. */
char *data_folder(const struct lab *lab, struct wanted_data *w);

#endif
