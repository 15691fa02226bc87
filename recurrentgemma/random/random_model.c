/* random_model.c - see random_model.h. */
#include "random_model.h"
#include "cast.h"
#include "cores.h"
#include "draw.h"
#include "griffin/tensors.h"
#include "json_text.h"
#include "safetensors.h"
#include "stop.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = PATH_MAX + 64 };
enum { PIECE = 1 << 18, MAX_THREADS = 32 };  // PIECE: elements that fit a cache

typedef struct shard {
    atomic_file file;
    char name[48];
    size_t begin;     // of its data
    bool open, done;  // done: under its final name
} shard;

// A tensor's place: shard and byte among its data.
typedef struct place {
    int shard;
    size_t at;
} place;

typedef struct writing {
    const random_model *m;
    const char *folder;
    griffin_tensor *tensors;
    place *places;
    int count, shards;
    size_t bytes;
    shard *shard;
    pthread_mutex_t lock;  // of the members below
    int tensor;            // the next piece to fill
    size_t element;
    int rc;
    wb_error *err;
} writing;

/* --- the plan ----------------------------------------------------------------------- */

// Tensors in order; each of the n shards gets about 1/n of all bytes.
static void divide(writing *w)
{
    size_t e = wb_dtype_size(w->m->dtype), before = 0;
    for (int i = 0; i < w->count; i++)
        w->bytes += w->tensors[i].count * e;
    size_t wanted = w->m->shards ? (size_t)w->m->shards : 1 + w->bytes / 5000000000u;
    size_t part = w->bytes / wanted + 1, filled = 0;
    w->shards = 1;
    for (int i = 0; i < w->count; i++) {
        if (i && before / part >= (size_t)w->shards && w->shards < RANDOM_SHARDS)
            w->shards++, filled = 0;
        w->places[i] = (place){w->shards - 1, filled};
        filled += w->tensors[i].count * e;
        before += w->tensors[i].count * e;
    }
}

static int begin_shard(writing *w, int s)
{
    st_dtype stored = wb_dtype_stored(w->m->dtype);
    const st_pair format = {"format", "pt"};  // transformers requires it
    char path[PATH_ROOM];
    shard *x = &w->shard[s];
    if (w->shards == 1)
        strcpy(x->name, "model.safetensors");
    else
        snprintf(
            x->name, sizeof x->name, "model-%05d-of-%05d.safetensors", s + 1, w->shards);
    snprintf(path, sizeof path, "%s/%s", w->folder, x->name);
    st_tensor *t = calloc((size_t)w->count, sizeof *t);
    size_t n = 0;
    if (!t) return error_set(w->err, "%s: no memory", path);
    for (int i = 0; i < w->count; i++) {
        const griffin_tensor *from = &w->tensors[i];
        if (w->places[i].shard != s) continue;
        t[n] = (st_tensor){.name = from->name, .dtype = stored, .ndim = from->ndim};
        memcpy(t[n++].shape, from->shape, sizeof from->shape);
    }
    int rc = st_begin(&x->file, &x->begin, path, t, n, &format, 1, w->err);
    x->open = !rc;
    free(t);
    return rc;
}

/* --- numbers ------------------------------------------------------------------------ */

static void fill(const writing *w, int i, size_t begin, size_t n, float *out)
{
    const griffin_tensor *t = &w->tensors[i];
    float deviation = t->start == START_NORMAL ? t->deviation : 0.1f;
    if (t->slot == WEIGHT_CONV)
        deviation = sqrtf(1.0f / (float)w->m->config.shape.conv_width);
    if (t->start == START_RING)
        draw_ring(out, begin, n, w->m->seed, (uint32_t)i);
    else
        draw_normal(out, begin, n, deviation, w->m->seed, (uint32_t)i);
}

// The next piece; false: all are taken, or a thread has failed.
static bool take(writing *w, int *tensor, size_t *begin, size_t *n)
{
    pthread_mutex_lock(&w->lock);
    if (stop_signal() && !w->rc) w->rc = error_set(w->err, "stopped: nothing is kept");
    bool more = !w->rc && w->tensor < w->count;
    if (more) {
        size_t left = w->tensors[w->tensor].count - w->element;
        *tensor = w->tensor, *begin = w->element, *n = left < PIECE ? left : PIECE;
        w->element += *n;
        if (*n == left) w->tensor++, w->element = 0;
    }
    pthread_mutex_unlock(&w->lock);
    return more;
}

static void *work(void *argument)
{
    writing *w = argument;
    size_t e = wb_dtype_size(w->m->dtype), begin, n;
    float *numbers = malloc(PIECE * sizeof *numbers), *cast = malloc(PIECE * e);
    int i;
    bool good = numbers && cast;
    while (good && take(w, &i, &begin, &n)) {
        const place *p = &w->places[i];
        shard *s = &w->shard[p->shard];
        fill(w, i, begin, n, numbers);
        wb_from_floats(cast, numbers, w->m->dtype, n);
        pthread_mutex_lock(&w->lock);
        if (!w->rc)
            w->rc = atomic_write_at(
                &s->file, s->begin + p->at + begin * e, cast, n * e, w->err);
        pthread_mutex_unlock(&w->lock);
    }
    if (!good) {
        pthread_mutex_lock(&w->lock);
        if (!w->rc) w->rc = error_set(w->err, "no memory for a piece of a tensor");
        pthread_mutex_unlock(&w->lock);
    }
    free(numbers);
    free(cast);
    return NULL;
}

static int fill_all(writing *w)
{
    pthread_t thread[MAX_THREADS];
    int threads = 0, wanted = cores_usable(MAX_THREADS);
    pthread_mutex_init(&w->lock, NULL);
    while (threads < wanted - 1 && !pthread_create(&thread[threads], NULL, work, w))
        threads++;
    work(w);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    pthread_mutex_destroy(&w->lock);
    return w->rc;
}

/* --- the folder --------------------------------------------------------------------- */

static int write_index(const writing *w)
{
    json_t *map = json_object();
    for (int i = 0; i < w->count; i++)
        json_object_set_new(
            map, w->tensors[i].name, json_string(w->shard[w->places[i].shard].name));
    json_t *root = json_pack(
        "{s:{s:I}, s:o}", "metadata", "total_size", (json_int_t)w->bytes, "weight_map",
        map);
    return json_save(w->folder, "model.safetensors.index.json", root, w->err);
}

// config.json comes last: without it the folder is no model.
static int finish(writing *w)
{
    for (int s = 0; s < w->shards; s++) {
        w->shard[s].open = false;
        if (atomic_commit(&w->shard[s].file, w->err)) return -1;
        w->shard[s].done = true;
    }
    if (w->shards > 1 && write_index(w)) return -1;
    return json_save(
        w->folder, "config.json",
        griffin_config_to_json(&w->m->config, wb_dtype_config_name(w->m->dtype)), w->err);
}

static void clean(writing *w)
{
    char path[PATH_ROOM];
    for (int s = 0; s < w->shards; s++) {
        snprintf(path, sizeof path, "%s/%s", w->folder, w->shard[s].name);
        if (w->shard[s].open) atomic_abort(&w->shard[s].file);
        if (w->shard[s].done) unlink(path);
    }
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", w->folder);
    unlink(path);
}

static int check_empty(const char *folder, wb_error *err)
{
    static const char *const files[] = {
        "config.json", "model.safetensors", "model.safetensors.index.json"};
    char path[PATH_ROOM];
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (access(path, F_OK) == 0)
            return error_set(
                err, "%s: exists already: remove it, or give another folder", path);
    }
    return 0;
}

int random_write(
    const random_model *m, const char *folder, random_written *out, wb_error *err)
{
    writing w = {.m = m, .folder = folder, .err = err};
    if (!m->dry && (folder_make(folder, err) || check_empty(folder, err))) return -1;
    w.tensors = griffin_tensors(&m->config.shape, &w.count);
    w.places = calloc((size_t)w.count + 1, sizeof *w.places);
    w.shard = calloc(RANDOM_SHARDS, sizeof *w.shard);
    int rc = w.tensors && w.places && w.shard ? 0 : error_set(err, "no memory");
    if (!rc) divide(&w);
    for (int s = 0; s < w.shards && !rc && !m->dry; s++)
        rc = begin_shard(&w, s);
    if (!rc && !m->dry) rc = fill_all(&w) ? -1 : finish(&w);
    if (rc && w.shard) clean(&w);
    *out = (random_written){.bytes = w.bytes, .shards = w.shards};
    for (int i = 0; i < w.count && w.tensors; i++)
        out->parameters += w.tensors[i].count;
    free(w.tensors);
    free(w.places);
    free(w.shard);
    return rc;
}
