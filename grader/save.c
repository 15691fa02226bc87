/* save.c - the outputs of a case as a file, so that tools/compare_backends.py can compare
 * back ends, versions and machines. */
#include "save.h"

#include "file.h"
#include "safetensors.h"
#include "util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* in the order of enum element */
static const st_dtype dtypes[] = {ST_F32, ST_F16, ST_BF16, ST_I32, ST_I64, ST_U8};

/* The elements of a view, without the gaps between its rows. */
static void *
gather(const struct case_data *d, const struct view *v, const unsigned char *result)
{
    size_t size = element_bytes(v->element);
    unsigned char *packed = xalloc(v->elements * size);
    const unsigned char *bytes = buffer_bytes(d, result, v->buffer);
    for (size_t row = 0; v->cols && row < v->rows; row++)
        memcpy(
            packed + row * v->cols * size, bytes + view_index(v, row * v->cols) * size,
            v->cols * size);
    return packed;
}

static bool is_output(const struct view *v)
{
    return v->role != ROLE_IN && v->buffer >= 0;
}

static char *path_of(const char *folder, const struct lab *lab, const char *name)
{
    return text_of("%s/%s.%s.safetensors", folder, lab->name, name);
}

void save_begin(const char *folder, const struct lab *lab)
{
    wb_error err;
    if (folder_make(folder, &err) != 0) fatal(EXIT_NOT_BUILT, "%s", err.text);
    for (size_t i = 0; i < lab->count; i++)
        for (int k = 0; k < lab->cases[i].variants; k++) {
            struct graded_case v;
            char words[8];
            case_variant(&v, &lab->cases[i], k, words, sizeof words);
            char *path = path_of(folder, lab, v.name);
            unlink(path); /* of an earlier run; this run might not write it */
            free(path);
        }
}

void save_outputs(
    const char *folder, const struct lab *lab, const char *backend,
    const struct graded_case *c, const struct case_data *d, const struct run *run)
{
    const struct result *first = &run->result[CALL_A];
    if (!first->present || first->head.status != WB_OK || !first->bytes)
        return; /* there are no outputs */
    st_tensor tensor[MAX_ARGS] = {0};
    size_t n = 0;
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        if (!is_output(v)) continue;
        st_tensor *t = &tensor[n++];
        t->name = v->name, t->dtype = dtypes[v->element], t->ndim = v->dims;
        memcpy(t->shape, v->shape, sizeof v->shape);
        t->data = gather(d, v, first->bytes);
    }
    char seed[32], *path = path_of(folder, lab, c->name);
    snprintf(seed, sizeof seed, "%#llx", (unsigned long long)d->seed);
    st_pair about[] = {{"lab", lab->name},        {"case", c->name},
                       {"function", c->function}, {"dtype", c->dtype},
                       {"backend", backend},      {"seed", seed}};
    wb_error err;
    if (st_write(path, tensor, n, about, sizeof about / sizeof *about, &err) != 0)
        fatal(EXIT_NOT_BUILT, "%s", err.text);
    for (size_t i = 0; i < n; i++)
        free((void *)tensor[i].data);
    free(path);
}
