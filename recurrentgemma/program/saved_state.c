/* saved_state.c - see saved_state.h. */
#include "saved_state.h"
#include "file.h"
#include "hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 1 << 30, VERSION = 2 };

typedef struct file_header {
    char magic[8];
    int32_t version, length, newest, zero;
    uint64_t bytes; /* of the state, which follows the header */
    uint64_t sum;   /* of both, computed with a sum of 0 */
} file_header;

static const char magic[8] = "rgsaved";

static uint64_t checksum(const file_header *h, const void *state)
{
    file_header without = *h;
    without.sum = 0;
    return hash_words(
        hash_words(HASH_START, &without, sizeof without), state, (size_t)h->bytes);
}

static int check(const file_header *h, size_t bytes, const char *path, wb_error *err)
{
    size_t state = bytes - sizeof *h;
    if (bytes < sizeof *h || memcmp(h->magic, magic, sizeof magic))
        return error_set(err, "%s: not a state that --save-state has written", path);
    if (h->version != VERSION)
        return error_set(
            err, "%s: a state of version %d, this program has %d: save it again", path,
            h->version, VERSION);
    if (state < h->bytes)
        return error_set(
            err, "%s: cut off: %zu bytes of %zu: save it again", path, bytes,
            (size_t)h->bytes + sizeof *h);
    if (state > h->bytes || checksum(h, h + 1) != h->sum || h->length < 0)
        return error_set(
            err, "%s: the checksum is wrong: the file is damaged: save it again", path);
    return 0;
}

int saved_state_read(saved_state *f, const char *path, wb_error *err)
{
    size_t bytes;
    *f = (saved_state){.path = path, .file = file_read_any(path, MAX_BYTES, &bytes, err)};
    if (!f->file) return -1;
    const file_header *h = (const file_header *)f->file;
    if (check(h, bytes, path, err)) return -1;
    f->length = h->length, f->newest = h->newest;
    return 0;
}

int saved_state_use(saved_state *f, session *s, wb_error *err)
{
    const file_header *h = (const file_header *)f->file;
    wb_error why;
    if (rg_state_load(s->e, 0, h + 1, (size_t)h->bytes, &why))
        return error_set(err, "%s: %.700s", f->path, why.text);
    return 0;
}

void saved_state_free(saved_state *f)
{
    free(f->file);
    f->file = NULL;
}

int saved_state_write(session *s, int newest, const char *path, wb_error *err)
{
    size_t bytes = rg_state_bytes(s->e, 0);
    file_header *h = calloc(1, sizeof *h + bytes);
    if (!h) return error_set(err, "no memory for a state of %zu bytes", bytes);
    *h = (file_header){
        .version = VERSION,
        .length = rg_processed(s->e, 0),
        .newest = newest,
        .bytes = bytes};
    memcpy(h->magic, magic, sizeof magic);
    int rc = rg_state_save(s->e, 0, h + 1, err);
    h->sum = checksum(h, h + 1);
    if (!rc) rc = file_write(path, h, sizeof *h + bytes, err);
    free(h);
    if (!rc && !s->o->gen.quiet)
        fprintf(
            stderr, "state  %s: %d tokens in %.1f kB\n", path, rg_processed(s->e, 0) + 1,
            (double)(sizeof(file_header) + bytes) * 1e-3);
    return rc;
}
