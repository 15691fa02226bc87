/* session.c - see session.h. */
#include "session.h"

#include "kernels.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- opening ------------------------------------------------------------------------ */

rg_settings session_settings(
    const options *o, int batch, long context, long longest, long max_new_tokens)
{
    rg_settings set = rg_defaults();
    long chunk = o->chunk ? o->chunk : 8192 / batch > 16 ? 8192 / batch : 16;
    if (chunk > longest) chunk = longest;
    set.dtype = strcmp(o->dtype, "f32") == 0    ? RG_F32
                : strcmp(o->dtype, "bf16") == 0 ? RG_BF16
                                                : RG_AUTO;
    set.batch = batch;
    set.context = (int)context;
    set.chunk = (int)chunk;
    set.max_new_tokens = max_new_tokens > 0 ? (int)max_new_tokens : 1;
    set.hf_window = o->hf_window;
    set.whole_window = o->load_state || o->save_state;
    set.graph = !o->gen.no_graph;
    set.temperature = (float)o->gen.temperature;
    set.top_k = (int)o->gen.top_k;
    set.top_p = (float)o->gen.top_p;
    set.min_p = (float)o->gen.min_p;
    set.repetition_penalty = (float)o->gen.repetition_penalty;
    set.seed = o->gen.seed;
    set.stop = NULL;
    set.stop_count = o->gen.ignore_eos ? 0 : -1;
    return set;
}

static bool exists(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

int session_text(session *s, wb_error *err)
{
    const options *o = s->o;
    if (!exists(o->gen.model, ""))
        return error_set(
            err, "%s: no such folder: give --model a model folder", o->gen.model);
    bool text = !o->tokens && !options_continue(o);  // to encode
    if (!text && o->ids) return 0;
    bool found =
        exists(o->gen.model, "tokenizer.model") || exists(o->gen.model, "tokenizer.json");
    if (!found && !text && !o->gen.stop.count) return 0;
    if (!found)
        return error_set(
            err,
            "%s: no tokenizer.model and no tokenizer.json: copy one there, or give "
            "token ids with --tokens FILE",
            o->gen.model);
    wb_error why;
    s->codec = text_open(o->gen.model, &why);
    if (s->codec) return 0;
    return error_set(err, "%.900s%s", why.text, text ? "" : " (--ids needs none)");
}

void session_say(const session *s)
{
    wb_say_kernels(stderr, s->o->gen.kernels, s->o->gen.quiet);
    if (s->o->gen.quiet) return;
    const rg_info *i = s->info;
    const model_shape *m = &i->shape;
    double MB = 1e-6;
    fprintf(
        stderr,
        "model  %s: %d layers (%d with attention, window %d), %d channels (recurrent "
        "%d), %d heads of %d, %d tokens, %.2f M parameters, %s\n",
        s->o->gen.model, m->layers, i->attention_layers, m->window, m->channels,
        m->recurrent, m->heads, m->head_dim, m->vocab, (double)i->parameters * 1e-6,
        i->dtype == RG_BF16 ? "bf16" : "f32");
    fprintf(
        stderr, "a step: %s\n",
        i->fused ? "norm and activation run inside the GEMMs"
                 : "your norm or activation runs as a kernel of its own");
    fprintf(
        stderr,
        "memory weights %.1f MB, states and caches %.1f MB, buffers %.1f MB; "
        "loaded in %.2f s\n",
        (double)i->weight_bytes * MB, (double)i->cache_bytes * MB,
        (double)i->buffer_bytes * MB, i->load_seconds);
}

int session_model(session *s, const rg_settings *set, wb_error *err)
{
    s->e = rg_open(s->o->gen.model, set, err);
    if (!s->e) return -1;
    s->info = rg_describe(s->e);
    s->batch = set->batch;
    if (s->codec && text_vocab(s->codec) > s->info->shape.vocab)
        return error_set(
            err,
            "%s: the tokenizer has %d tokens, the model %d: they do not belong "
            "together",
            s->o->gen.model, text_vocab(s->codec), s->info->shape.vocab);
    return 0;
}

void session_close(session *s)
{
    rg_close(s->e);
    text_close(s->codec);
    s->e = NULL, s->codec = NULL;
}

/* --- at work ------------------------------------------------------------------------ */

static size_t sampled_by_all(const session *s)
{
    size_t n = 0;
    for (int b = 0; b < s->batch; b++)
        n += (size_t)rg_sampled(s->e, b);
    return n;
}

int session_prefill(session *s, const int *const *ids, const int *count, wb_error *err)
{
    double began = seconds_now();
    int rc = rg_prefill(s->e, ids, count, err);
    if (rc < 0) return -1;
    s->prefill_seconds += seconds_now() - began;
    for (int b = 0; b < s->batch; b++)
        s->prefilled += (size_t)count[b];
    s->sampled += sampled_by_all(s);
    return rc;
}

int session_step(session *s, int n, wb_error *err)
{
    size_t before = sampled_by_all(s);
    double began = seconds_now();
    int rc = rg_step(s->e, n, err);
    if (rc < 0) return -1;
    s->step_seconds += seconds_now() - began;
    size_t more = sampled_by_all(s) - before;
    s->sampled += more, s->stepped += more;
    return rc;
}

int session_pace(int n, double seconds)
{
    if (seconds < 0.020 && n < 256) return 2 * n;
    return seconds > 0.050 && n > 1 ? n / 2 : n;
}

void session_summary(const session *s)
{
    if (s->o->gen.quiet || !s->info) return;
    const rg_info *i = s->info;
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    if (s->prefilled)
        fprintf(
            stderr, "prefill %zu tokens in %.3f s: %.0f tokens/s\n", s->prefilled,
            s->prefill_seconds, (double)s->prefilled / s->prefill_seconds);
    if (s->stepped)
        fprintf(
            stderr, "decode  %zu tokens, %.0f tokens/s after the first\n", s->sampled,
            (double)s->stepped / s->step_seconds);
    else if (s->sampled)
        fprintf(stderr, "decode  %zu tokens\n", s->sampled);
    fprintf(
        stderr, "memory  %.1f MB on the device, at most %.1f MB on the host\n",
        (double)(i->weight_bytes + i->cache_bytes + i->buffer_bytes) * 1e-6,
        (double)used.ru_maxrss * 1024e-6);
}
