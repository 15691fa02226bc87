/* checkpoint.c - see checkpoint.h. */
#include "checkpoint.h"
#include "config_json.h"
#include "safetensors.h"
#include "tensors.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_ROOM = PATH_MAX + 64 };

static const st_dtype stored[WB_DTYPES] = {
    [WB_F32] = ST_F32, [WB_BF16] = ST_BF16, [WB_F16] = ST_F16};

/* --- config.json -------------------------------------------------------------------- */

// The dtype is the embedding's: config.json only says how the model was trained.
static int stored_dtype(model_config *c, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    st_file *f = st_open(path, err);
    if (!f) return -1;
    const st_tensor *t = st_find(f, "model.embed_tokens.weight");
    int rc = -1;
    for (int i = 0; t && i < WB_DTYPES; i++)
        if (stored[i] == t->dtype) c->dtype = (wb_dtype)i, rc = 0;
    if (rc)
        error_set(
            err,
            "%s: tensor 'model.embed_tokens.weight': is missing or not F32, BF16 or F16",
            path);
    st_close(f);
    return rc;
}

int checkpoint_config(model_config *c, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    size_t bytes;
    json_error_t je;
    *c = (model_config){0};
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *text = file_read(path, 1 << 20, &bytes, err);
    if (!text) return -1;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &je);
    int rc = root ? config_from_json(c, root, path, err)
                  : error_set(err, "%s: not valid JSON: %s", path, je.text);
    json_decref(root);
    free(text);
    return rc ? rc : stored_dtype(c, folder, err);
}

/* --- model.safetensors -------------------------------------------------------------- */

int checkpoint_load(model *m, const char *folder, wb_error *err)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    st_file *f = st_open(path, err);
    if (!f) return -1;
    int count, rc = 0;
    size_t e = wb_dtype_size(m->config.dtype);
    model_tensor *all = model_tensors(&m->config, &count, NULL, NULL);
    char *weights = calloc(m->parameters, e);
    if (!weights)
        rc = error_set(err, "%s: no memory for %zu weights", path, m->parameters);
    for (int i = 0; i < count && !rc; i++) {
        const model_tensor *t = &all[i];
        const st_tensor *s =
            st_expect(f, t->name, stored[m->config.dtype], t->ndim, t->shape, err);
        if (s)
            memcpy(weights + t->offset * e, s->data, s->bytes);
        else
            rc = -1;
    }
    if (!rc) model_upload(m, m->param, weights, m->parameters * e);
    free(weights);
    free(all);
    st_close(f);
    return rc;
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
            .dtype = stored[m->config.dtype],
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

// Writes the file unless it has this content already. Other content means that the
// weights in the folder belong to another model: they are removed first.
static int
save_with_weights(const char *folder, const char *name, json_t *root, wb_error *err)
{
    char path[PATH_ROOM];
    size_t bytes;
    char *text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (!text) return error_set(err, "%s/%s: no memory", folder, name);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *old = file_read(path, 1 << 20, &bytes, NULL);
    int rc = 0;
    if (!old || strcmp(old, text) != 0) {
        char weights[PATH_ROOM];
        snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
        unlink(weights);
        rc = file_write(path, text, strlen(text), err);
    }
    free(old);
    free(text);
    return rc;
}

// The same for the tokenizer.
static int
save_tokenizer(const tokenizer *t, const char *folder, int context, wb_error *err)
{
    tokenizer old;
    bool same =
        tokenizer_load(&old, folder, NULL) == 0 && old.kind == t->kind &&
        old.vocab == t->vocab &&
        (!t->code || !memcmp(old.code, t->code, (size_t)t->vocab * sizeof *t->code));
    tokenizer_free(&old);
    if (same) return 0;
    char weights[PATH_ROOM];
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
    unlink(weights);
    return tokenizer_save(t, folder, context, err);
}

int checkpoint_save(
    const model *m, const tokenizer *t, const char *folder, void *scratch, wb_error *err)
{
    if (folder_make(folder, err)) return -1;
    json_t *generation = json_pack("{s:b, s:f}", "do_sample", 1, "temperature", 0.8);
    if (save_with_weights(folder, "config.json", config_to_json(&m->config), err)) {
        json_decref(generation);
        return -1;
    }
    if (save_with_weights(folder, "generation_config.json", generation, err)) return -1;
    if (save_tokenizer(t, folder, m->config.shape.context, err)) return -1;
    return save_weights(m, folder, scratch, err);
}

/* --- training.safetensors ----------------------------------------------------------- */

int training_save(
    const model *m, const run_state *s, const char *folder, float *scratch, wb_error *err)
{
    char path[PATH_ROOM], best[40], best_step[40], hash[40];
    if (folder_make(folder, err)) return -1;
    snprintf(path, sizeof path, "%s/training.safetensors", folder);
    snprintf(best, sizeof best, "%.17g", s->best);
    snprintf(best_step, sizeof best_step, "%ld", s->best_step);
    snprintf(hash, sizeof hash, "%016" PRIx64, s->text_hash);
    const st_pair metadata[] = {
        {"options", s->options},
        {"best", best},
        {"best_step", best_step},
        {"text", hash}};
    const float *from[3] = {m->master ? m->master : m->param, m->adam_m, m->adam_v};
    static const char *const names[3] = {"weights", "adam_m", "adam_v"};
    st_tensor out[4];
    for (int i = 0; i < 3; i++) {
        model_download(
            m, scratch + i * m->parameters, from[i], m->parameters * sizeof(float));
        out[i] = (st_tensor){
            .name = names[i],
            .dtype = ST_F32,
            .ndim = 1,
            .shape = {m->parameters},
            .data = scratch + i * m->parameters};
    }
    out[3] = (st_tensor){
        .name = "train",
        .dtype = ST_U8,
        .ndim = 1,
        .shape = {sizeof s->train},
        .data = &s->train};
    return st_write(path, out, 4, metadata, 4, err);
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
    const char *options = st_metadata(f, "options"), *best = st_metadata(f, "best");
    const char *step = st_metadata(f, "best_step"), *text = st_metadata(f, "text");
    int rc = train ? 0 : -1;
    if (train && !(options && best && step && text))
        rc = error_set(err, "%s: not the state of a run: metadata are missing", path);
    if (!rc) {
        memcpy(&s->train, train->data, sizeof s->train);
        s->options = strdup(options);
        s->best = strtod(best, NULL), s->best_step = strtol(step, NULL, 10);
        s->text_hash = strtoull(text, NULL, 16);
    }
    st_close(f);
    return rc;
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
    if (t) {
        model_set_weights(m, w->data);
        model_upload(m, m->adam_m, a->data, a->bytes);
        model_upload(m, m->adam_v, b->data, b->bytes);
        model_upload(m, m->train, t->data, t->bytes);
    }
    st_close(f);
    return t ? 0 : -1;
}
