/* checkpoint.c - see checkpoint.h. */
#include "checkpoint.h"
#include "config_json.h"
#include "hash.h"
#include "json_text.h"
#include "reduction.h"
#include "safetensors.h"
#include "tensors.h"
#include "weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = PATH_MAX + 64 };

/* --- config.json -------------------------------------------------------------------- */

// Parses config.json; NULL on an error. Sets path, for messages.
static json_t *read_config(char path[PATH_ROOM], const char *folder, wb_error *err)
{
    snprintf(path, PATH_ROOM, "%s/config.json", folder);
    return json_read(path, err);
}

int checkpoint_config(model_config *c, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    *c = (model_config){0};
    json_t *root = read_config(path, folder, err);
    int rc = root ? config_from_json(c, root, path, err) : -1;
    json_decref(root);
    return rc ? rc : weights_dtype(&c->dtype, c, folder, err);
}

int checkpoint_eos(eos_tokens *t, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    json_t *root = read_config(path, folder, err);
    int rc = root ? eos_from_json(t, root, path, err) : -1;
    json_decref(root);
    return rc ? rc : eos_of_generation(t, folder, err);
}

/* --- model.safetensors -------------------------------------------------------------- */

int checkpoint_load(model *m, const char *folder, wb_error *err)
{
    char *weights = weights_read(m, folder, false, err);
    if (!weights) return -1;
    model_upload(m, m->param, weights, m->parameters * wb_dtype_size(m->config.dtype));
    free(weights);
    return 0;
}

int checkpoint_initialise(model *m, const char *folder, wb_error *err)
{
    char *weights = weights_read(m, folder, true, err);
    if (!weights) return -1;
    model_set_weights(m, (const float *)weights);
    free(weights);
    return 0;
}

static int save_weights(const model *m, const char *folder, char *scratch, wb_error *err)
{
    char path[PATH_ROOM];
    int count;
    size_t e = wb_dtype_size(m->config.dtype);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    model_tensor *all = model_tensors(&m->config, &count, NULL, NULL);
    st_tensor *out = calloc((size_t)count, sizeof *out);
    int rc = out ? 0 : error_set(err, "%s: no memory", path);
    for (int i = 0; i < count && out; i++)
        out[i] = (st_tensor){
            .name = all[i].name,
            .dtype = wb_dtype_stored(m->config.dtype),
            .ndim = all[i].ndim,
            .shape = {all[i].shape[0], all[i].shape[1], all[i].shape[2]},
            .data = scratch + all[i].offset * e};
    model_download(m, scratch, m->param, m->parameters * e);
    const st_pair format = {"format", "pt"};  // transformers requires it
    if (!rc) rc = st_write(path, out, (size_t)count, &format, 1, err);
    free(out);
    free(all);
    return rc;
}

// The order does not matter: the folder holds files of the same model, so the old weights
// fit the new JSON files, and the new weights the old ones.
int checkpoint_save(
    const model *m, const tokenizer *t, const char *folder, void *scratch, wb_error *err)
{
    if (folder_make(folder, err)) return -1;
    json_t *generation = json_pack("{s:b, s:f}", "do_sample", 1, "temperature", 0.8);
    if (json_save(folder, "generation_config.json", generation, err) ||
        json_save(folder, "config.json", config_to_json(&m->config), err) ||
        tokenizer_save(t, folder, m->config.shape.context, err))
        return -1;
    return save_weights(m, folder, scratch, err);
}

/* --- training.safetensors ----------------------------------------------------------- */

enum { STATE_PAIRS = 4 };
static const char *const state_keys[STATE_PAIRS] = {
    "options", "best", "best_step", "text"};

// The metadata of a run's state; -1: one is missing.
static int state_metadata(const st_file *f, st_pair pairs[STATE_PAIRS])
{
    for (int i = 0; i < STATE_PAIRS; i++) {
        pairs[i] = (st_pair){state_keys[i], st_metadata(f, state_keys[i])};
        if (!pairs[i].value) return -1;
    }
    return 0;
}

// Of the whole state: tensors and metadata.
static void
checksum(char out[40], const st_pair *pairs, const st_tensor *const tensors[4])
{
    uint64_t h = HASH_START;
    for (int i = 0; i < STATE_PAIRS; i++)
        h = hash_words(h, pairs[i].value, strlen(pairs[i].value));
    for (int i = 0; i < 4; i++)
        h = hash_words(h, tensors[i]->data, tensors[i]->bytes);
    snprintf(out, 40, "%016" PRIx64, h);
}

int training_save(
    const model *m, const run_state *s, const char *folder, float *scratch, wb_error *err)
{
    char path[PATH_ROOM], best[40], best_step[40], hash[40], sum[40];
    if (m->ranks->rank == 0 && folder_make(folder, err)) return -1;
    snprintf(path, sizeof path, "%s/training.safetensors", folder);
    snprintf(best, sizeof best, "%.17g", s->best);
    snprintf(best_step, sizeof best_step, "%ld", s->best_step);
    snprintf(hash, sizeof hash, "%016" PRIx64, s->text_hash);
    const st_pair metadata[STATE_PAIRS + 1] = {
        {"options", s->options},
        {"best", best},
        {"best_step", best_step},
        {"text", hash},
        {"checksum", sum}};
    const float *from[3] = {m->master, m->adam_m, m->adam_v};
    static const char *const names[3] = {"weights", "adam_m", "adam_v"};
    st_tensor out[4];
    for (int i = 0; i < 3; i++) {
        float *all = scratch + i * m->parameters;
        if (from[i])
            reduction_download(m, all, from[i]);
        else
            model_download(m, all, m->param, m->parameters * sizeof *all);
        out[i] = (st_tensor){
            .name = names[i],
            .dtype = ST_F32,
            .ndim = 1,
            .shape = {m->parameters},
            .data = all,
            .bytes = m->parameters * sizeof(float)};
    }
    if (m->ranks->rank) return 0;
    out[3] = (st_tensor){
        .name = "train",
        .dtype = ST_U8,
        .ndim = 1,
        .shape = {sizeof s->train},
        .data = &s->train,
        .bytes = sizeof s->train};
    checksum(sum, metadata, (const st_tensor *[]){&out[0], &out[1], &out[2], &out[3]});
    return st_write(path, out, 4, metadata, STATE_PAIRS + 1, err);
}

// Fills *s from the metadata; a value that no training writes is an error.
static int
read_metadata(run_state *s, const st_pair *pairs, const char *path, wb_error *err)
{
    const char *best = pairs[1].value, *step = pairs[2].value, *text = pairs[3].value;
    char *end[3];
    s->best = strtod(best, &end[0]);
    s->best_step = strtol(step, &end[1], 10);
    s->text_hash = strtoull(text, &end[2], 16);
    int wrong = !*best || *end[0] || isnan(s->best)     ? 1
                : !*step || *end[1] || s->best_step < 0 ? 2
                : strlen(text) != 16 || *end[2]         ? 3
                                                        : 0;
    if (wrong)
        return error_set(
            err, "%s: metadata %s='%.40s': the file is damaged: start a new run", path,
            pairs[wrong].key, pairs[wrong].value);
    s->options = strdup(pairs[0].value);
    return s->options ? 0 : error_set(err, "%s: no memory", path);
}

int training_peek(run_state *s, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    const size_t shape = sizeof s->train;
    *s = (run_state){0};
    snprintf(path, sizeof path, "%s/training.safetensors", folder);
    if (access(path, F_OK) != 0)
        return error_set(err, "%s: no such file: there is no run to resume", path);
    st_file *f = st_open(path, err);
    if (!f) return -1;
    const st_tensor *train = st_expect(f, "train", ST_U8, 1, &shape, err);
    st_pair pairs[STATE_PAIRS];
    int rc =
        !train ? -1
        : state_metadata(f, pairs)
            ? error_set(err, "%s: not the state of a run: metadata are missing", path)
            : read_metadata(s, pairs, path, err);
    if (!rc) memcpy(&s->train, train->data, sizeof s->train);
    st_close(f);
    return rc;
}

// The tensors are those that were saved, and finite. Older versions saved no checksum.
static int check_state(const st_file *f, const st_tensor *const tensors[4], wb_error *err)
{
    char sum[40];
    st_pair pairs[STATE_PAIRS];
    const char *saved = st_metadata(f, "checksum");
    if (saved && !state_metadata(f, pairs)) {
        checksum(sum, pairs, tensors);
        if (strcmp(sum, saved) != 0)
            return error_set(
                err,
                "%s: the checksum is wrong: the file is damaged: restore it from a backup, "
                "or start a new run",
                st_path(f));
    }
    for (int i = 0; i < 3; i++)
        if (weights_check_finite(tensors[i], st_path(f), err)) return -1;
    return 0;
}

int training_load(model *m, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    const size_t train = sizeof *m->train;
    snprintf(path, sizeof path, "%s/training.safetensors", folder);
    st_file *f = st_open(path, err);
    if (!f) return -1;
    const st_tensor *w = st_expect(f, "weights", ST_F32, 1, &m->parameters, err);
    const st_tensor *a =
        w ? st_expect(f, "adam_m", ST_F32, 1, &m->parameters, err) : NULL;
    const st_tensor *b =
        a ? st_expect(f, "adam_v", ST_F32, 1, &m->parameters, err) : NULL;
    const st_tensor *t = b ? st_expect(f, "train", ST_U8, 1, &train, err) : NULL;
    int rc = t ? check_state(f, (const st_tensor *[]){w, a, b, t}, err) : -1;
    if (!rc) {
        model_set_weights(m, w->data);
        reduction_upload(m, m->adam_m, a->data);
        reduction_upload(m, m->adam_v, b->data);
        model_upload(m, m->train, t->data, t->bytes);
    }
    st_close(f);
    return rc;
}
