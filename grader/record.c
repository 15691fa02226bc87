/* record.c - see record.h */
#include "record.h"

#include "util.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *file;
static struct {
    unsigned char *bytes;
    size_t size;
} hello, opened; /* the last questions of these kinds */

void record_to(const char *path)
{
    file = path;
}

static size_t size_of(const struct talk *t)
{
    size_t n = 0;
    for (int i = 0; i < t->parts; i++)
        n += t->part[i].iov_len;
    return n;
}

static void copy_parts(unsigned char *to, const struct talk *t)
{
    for (int i = 0; i < t->parts; i++) {
        memcpy(to, t->part[i].iov_base, t->part[i].iov_len);
        to += t->part[i].iov_len;
    }
}

static void write_file(const struct talk *t)
{
    size_t size = size_of(t);
    unsigned char *call = xalloc(size);
    copy_parts(call, t);
    FILE *f = fopen(file, "we");
    bool good = f && fwrite(hello.bytes, 1, hello.size, f) == hello.size &&
                fwrite(opened.bytes, 1, opened.size, f) == opened.size &&
                fwrite(call, 1, size, f) == size;
    if (!f || fclose(f) != 0 || !good)
        fatal(EXIT_NOT_BUILT, "cannot write %s: %s", file, strerror(errno));
    free(call);
}

void record(const struct talk *t)
{
    uint32_t kind = t->question.kind;
    if (!file || t->child->limits.checked) return;
    if (kind == MSG_CALL && t->which == CALL_A) write_file(t);
    if (kind != MSG_HELLO && kind != MSG_CASE) return;
    unsigned char **to = kind == MSG_HELLO ? &hello.bytes : &opened.bytes;
    size_t size = size_of(t);
    free(*to);
    *to = xalloc(size);
    copy_parts(*to, t);
    *(kind == MSG_HELLO ? &hello.size : &opened.size) = size;
}
