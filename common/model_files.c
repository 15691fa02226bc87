/* model_files.c - see model_files.h. */
#include "model_files.h"
#include "json_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = PATH_MAX + 256 };
enum { MAX_BYTES = 64 << 20 };  // of an index

/* --- the index ---------------------------------------------------------------------- */

// A file of the same folder: no path, not hidden.
static bool plain_name(const char *name)
{
    return name && *name && *name != '.' && !strchr(name, '/') && strlen(name) <= 200;
}

static int add_shard(shard_index *x, const char *shard)
{
    for (int i = 0; i < x->shards; i++)
        if (strcmp(x->shard[i], shard) == 0) return 0;
    const char **more = realloc(x->shard, ((size_t)x->shards + 1) * sizeof *more);
    if (!more) return -1;
    x->shard = more;
    x->shard[x->shards++] = shard;
    return 0;
}

static int read_index(shard_index *x, const char *name, wb_error *err)
{
    json_t *map = json_object_get(x->root, "weight_map"), *shard;
    const char *tensor;
    if (!json_is_object(map) || json_object_size(map) == 0)
        return error_set(
            err, "%s: weight_map is not an object of tensors and their files", name);
    json_object_foreach(map, tensor, shard) {
        if (!plain_name(json_string_value(shard)))
            return error_set(
                err, "%s: tensor '%.200s': its file is not in this folder", name, tensor);
        if (add_shard(x, json_string_value(shard)))
            return error_set(err, "%s: no memory", name);
    }
    return 0;
}

int shard_index_parse(
    shard_index *x, const char *json, size_t bytes, const char *name, wb_error *err)
{
    *x = (shard_index){.root = json_parse(json, bytes, name, err)};
    if (!x->root) return -1;
    if (read_index(x, name, err) == 0) return 0;
    shard_index_free(x);
    return -1;
}

const char *shard_index_find(const shard_index *x, const char *tensor)
{
    json_t *map = json_object_get(x->root, "weight_map");
    return json_string_value(json_object_get(map, tensor));
}

void shard_index_free(shard_index *x)
{
    json_decref(x->root);
    free(x->shard);
    *x = (shard_index){0};
}

/* --- the files ---------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    const model_tensor_at *x = a, *y = b;
    return strcmp(x->tensor->name, y->tensor->name);
}

model_tensor_at *model_files_find(const model_files *m, const char *name)
{
    const st_tensor key = {.name = name};
    const model_tensor_at wanted = {.tensor = &key};
    if (m->count == 0) return NULL;
    return bsearch(&wanted, m->all, m->count, sizeof *m->all, by_name);
}

static int collect(model_files *m, wb_error *err)
{
    size_t count = 0;
    for (int i = 0; i < m->files; i++)
        count += st_count(m->file[i]);
    m->all = calloc(count + 1, sizeof *m->all);
    if (!m->all) return error_set(err, "no memory for the names of %zu tensors", count);
    for (int i = 0; i < m->files; i++)
        for (size_t k = 0; k < st_count(m->file[i]); k++)
            m->all[m->count++] =
                (model_tensor_at){.tensor = st_at(m->file[i], k), .file = m->file[i]};
    qsort(m->all, m->count, sizeof *m->all, by_name);
    for (size_t i = 1; i < m->count; i++)
        if (by_name(&m->all[i - 1], &m->all[i]) == 0)
            return error_set(
                err, "tensor '%.200s' is both in %.300s and in %.300s",
                m->all[i].tensor->name, st_path(m->all[i - 1].file),
                st_path(m->all[i].file));
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// The index and the shards must agree.
static int
compare(const model_files *m, const shard_index *x, const char *path, wb_error *err)
{
    const char *tensor;
    json_t *shard;
    json_object_foreach(json_object_get(x->root, "weight_map"), tensor, shard) {
        const char *name = json_string_value(shard);
        const model_tensor_at *at = model_files_find(m, tensor);
        if (!at || strcmp(base_name(st_path(at->file)), name) != 0)
            return error_set(
                err, "%s: tensor '%.200s' should be in '%s', but is not", path, tensor,
                name);
    }
    for (size_t i = 0; i < m->count; i++)
        if (!shard_index_find(x, m->all[i].tensor->name))
            return error_set(
                err, "%s: does not list tensor '%.200s', which is in '%s'", path,
                m->all[i].tensor->name, base_name(st_path(m->all[i].file)));
    return 0;
}

static int open_file(model_files *m, const char *path, wb_error *err)
{
    m->file[m->files] = st_open(path, err);
    return m->file[m->files] ? m->files++, 0 : -1;
}

static int
open_shards(model_files *m, const char *folder, const char *path, wb_error *err)
{
    size_t bytes;
    shard_index x = {0};
    wb_error why;
    char *text = file_read(path, MAX_BYTES, &bytes, err);
    int rc = text ? shard_index_parse(&x, text, bytes, path, err) : -1;
    if (!rc && !(m->file = calloc((size_t)x.shards, sizeof *m->file)))
        rc = error_set(err, "%s: no memory", path);
    for (int i = 0; i < x.shards && !rc; i++) {
        char shard[PATH_ROOM];
        snprintf(shard, sizeof shard, "%s/%s", folder, x.shard[i]);
        if (open_file(m, shard, &why))
            rc = error_set(
                err, "%.700s (a shard that %s names; get that file again)", why.text,
                base_name(path));
    }
    if (!rc) rc = collect(m, err);
    if (!rc) rc = compare(m, &x, path, err);
    shard_index_free(&x);
    free(text);
    return rc;
}

int model_files_open(model_files *m, const char *folder, wb_error *err)
{
    char path[PATH_ROOM], index[PATH_ROOM + 16];
    *m = (model_files){0};
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    snprintf(index, sizeof index, "%s.index.json", path);
    int rc = -1;
    if (access(path, F_OK) == 0) {
        m->file = calloc(1, sizeof *m->file);
        rc = m->file ? open_file(m, path, err) : error_set(err, "%s: no memory", path);
        if (!rc) rc = collect(m, err);
    } else if (access(index, F_OK) == 0) {
        rc = open_shards(m, folder, index, err);
    } else {
        error_set(
            err,
            "%s: holds no model.safetensors, and no model.safetensors.index.json: give "
            "the folder of a Hugging Face model",
            folder);
    }
    if (rc) model_files_close(m);
    return rc;
}

void model_files_close(model_files *m)
{
    for (int i = 0; i < m->files; i++)
        st_close(m->file[i]);
    free(m->file);
    free(m->all);
    *m = (model_files){0};
}
