/* session.c - see session.h. */
#include "session.h"

#include "kernels.h"
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* --- opening -------------------------------------------------------------------------- */

rg_settings
session_settings(const options *o, int B, long context, long longest, long drawn)
{
    rg_settings set = rg_defaults();
    long chunk = o->chunk ? o->chunk : 8192 / B > 16 ? 8192 / B : 16;
    if (chunk > longest) chunk = longest;
    set.dtype = strcmp(o->dtype, "f32") == 0    ? RG_F32
                : strcmp(o->dtype, "bf16") == 0 ? RG_BF16
                                                : RG_AUTO;
    set.batch = B;
    set.context = (int)context;
    set.chunk = (int)chunk;
    set.max_new_tokens = drawn > 0 ? (int)drawn : 1;
    set.hf_window = o->hf_window;
    set.graph = !o->gen.no_graph;
    set.temperature = (float)o->gen.temperature;
    set.top_k = (int)o->gen.top_k;
    set.top_p = (float)o->gen.top_p;
    set.repetition_penalty = (float)o->gen.repetition_penalty;
    set.seed = o->gen.seed;
    set.stop = NULL;
    set.stop_count = o->ignore_eos ? 0 : -1;
    return set;
}

static bool is_there(const char *folder, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

int session_text(session *s, wb_error *err)
{
    const options *o = s->o;
    if (!is_there(o->gen.model, ""))
        return error_set(err, "%s: no such folder: --model names one", o->gen.model);
    if (o->tokens && o->ids) return 0;
    bool there =
        is_there(o->gen.model, "tokenizer.model") || is_there(o->gen.model, "tokenizer.json");
    if (!there && o->tokens) return 0;
    if (!there)
        return error_set(
            err,
            "%s: no tokenizer.model and no tokenizer.json: put one there, or give "
            "token ids by --tokens FILE",
            o->gen.model);
    wb_error why;
    s->codec = text_open(o->gen.model, &why);
    if (s->codec) return 0;
    return error_set(err, "%.900s%s", why.text, o->tokens ? " (--ids needs none)" : "");
}

void session_say(const session *s)
{
    if (s->o->gen.quiet) return;
    const rg_info *i = s->info;
    double MB = 1e-6;
    wb_print_kernels(stderr);
    fprintf(
        stderr,
        "model  %s: %d layers (%d with attention, window %d), %d channels (recurrent "
        "%d), %d heads of %d, %d tokens, %.2f M parameters, %s\n",
        s->o->gen.model, i->shape.layers, i->attention_layers, i->shape.window, i->shape.channels, i->shape.recurrent,
        i->shape.heads, i->shape.head_dim, i->shape.vocab, (double)i->parameters * 1e-6,
        i->dtype == RG_BF16 ? "bf16" : "f32");
    fprintf(
        stderr, "a step: %s\n",
        i->fused ? "norm and activation inside the products"
                 : "your norm or activation, called apart from the products");
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
    s->B = set->batch;
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

/* --- at work -------------------------------------------------------------------------- */

static size_t drawn_by_all(const session *s)
{
    size_t n = 0;
    for (int b = 0; b < s->B; b++)
        n += (size_t)rg_sampled(s->e, b);
    return n;
}

int session_prefill(session *s, const int *const *ids, const int *count, wb_error *err)
{
    double began = seconds_now();
    int rc = rg_prefill(s->e, ids, count, err);
    if (rc < 0) return -1;
    s->read_seconds += seconds_now() - began;
    for (int b = 0; b < s->B; b++)
        s->read += (size_t)count[b];
    s->written += drawn_by_all(s);
    return rc;
}

int session_step(session *s, int n, wb_error *err)
{
    size_t before = drawn_by_all(s);
    double began = seconds_now();
    int rc = rg_step(s->e, n, err);
    if (rc < 0) return -1;
    s->step_seconds += seconds_now() - began;
    size_t more = drawn_by_all(s) - before;
    s->written += more, s->stepped += more;
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
    if (s->read)
        fprintf(
            stderr, "read   %zu tokens in %.3f s: %.0f a second\n", s->read,
            s->read_seconds, (double)s->read / s->read_seconds);
    if (s->stepped)
        fprintf(
            stderr, "wrote  %zu tokens, after the first %.0f a second\n", s->written,
            (double)s->stepped / s->step_seconds);
    else if (s->written)
        fprintf(stderr, "wrote  %zu tokens\n", s->written);
    fprintf(
        stderr, "memory %.1f MB on the device, %.1f MB of the host at the most\n",
        (double)(i->weight_bytes + i->cache_bytes + i->buffer_bytes) * 1e-6,
        (double)used.ru_maxrss * 1024e-6);
}
