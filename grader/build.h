/* build.h - what a lab's executable was built from, and whether that still holds. */
#ifndef BUILD_H
#define BUILD_H
#include "cases.h"

#include <jansson.h>
#include <stdbool.h>

/* What `make lab03` recorded about the executable: build/<backend>/labs/lab03.json. */
struct build {
    char *folder;  /* build/cpu, or what BUILD= says */
    char *program; /* the executable */
    char *backend, *source;
    bool own;       /* built from labs/: a pass counts. With FILE= or FROM= it does not */
    bool checked;   /* there is a second program, for check mode */
    bool trusted;   /* sources of this tree, not FILE=elsewhere */
    json_t *record; /* files, defined, missing, breaches */
    int lock;       /* held until build_close, so that it is not built again; or -1 */
};

/* Waits while the lab is being built. Not built or stale: fatal, exit code 2. */
void build_open(struct build *b, const char *folder, const struct lab *lab);
/* Fatal, exit code 2, if the executable has changed since it was built. */
void build_check(const struct build *b, const char *when);
bool build_lacks(const struct build *b, const char *function, const char *dtype);
void build_close(struct build *b);

#endif
