/* from_options.c - see from_options.h. */
#include "from_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// Sizes that the options leave open.
static long or_else(long given, long otherwise)
{
    return given ? given : otherwise;
}

static void griffin_shape(model_shape *s, const options *o)
{
    s->recurrent = (int)or_else(o->recurrent, o->channels);
    s->conv_width = (int)o->conv_width;
    s->window = (int)or_else(o->window, (o->context + 1) / 2);
    s->hf_window = o->hf_window;
    s->scaled = true;
    s->softcap = (float)o->softcap;
    snprintf(s->blocks, sizeof s->blocks, "%s", o->blocks);
}

int config_from_options(model_config *c, const options *o, int vocab, wb_error *err)
{
    model_arch arch;
    if (!model_arch_parse(o->arch, &arch))
        return error_set(err, "--arch %s: give llama or griffin", o->arch);
    if (!o->head_dim && o->channels % o->heads)
        return error_set(
            err, "--heads %ld does not divide --channels %ld", o->heads, o->channels);
    bool griffin = arch == MODEL_GRIFFIN;
    long hidden = griffin ? 3 * o->channels : (8 * o->channels / 3 + 7) / 8 * 8;
    int head_dim = (int)or_else(o->head_dim, o->channels / o->heads);
    *c = (model_config){.arch = arch};
    c->shape = (model_shape){
        .layers = (int)o->layers,
        .channels = (int)o->channels,
        .heads = (int)o->heads,
        .kv_heads = (int)or_else(o->kv_heads, griffin ? 1 : o->heads),
        .head_dim = head_dim,
        .rotated = griffin ? head_dim / 2 : head_dim,
        .hidden = (int)or_else(o->hidden, hidden),
        .vocab = vocab,
        .context = (int)o->context,
        .eps = (float)o->eps,
        .rope_base = (float)o->rope_base,
        .tied = o->tied};
    if (griffin) griffin_shape(&c->shape, o);
    if (!wb_dtype_parse(o->dtype, &c->dtype))
        return error_set(err, "--dtype %s: give f32, bf16 or f16", o->dtype);
    if (model_choose_attention(c, o->attention, err)) return -1;
    return model_check(c, err);
}

void options_from_config(options *o, const model_config *c)
{
    const model_shape *s = &c->shape;
    snprintf(o->arch, sizeof o->arch, "%s", model_arch_name(c->arch));
    snprintf(o->dtype, sizeof o->dtype, "%s", wb_dtype_name(c->dtype));
    o->layers = s->layers, o->channels = s->channels, o->hidden = s->hidden;
    o->heads = s->heads, o->head_dim = s->head_dim, o->kv_heads = s->kv_heads;
    o->context = s->context, o->tied = s->tied;
    o->eps = (double)s->eps, o->rope_base = (double)s->rope_base;
    if (c->arch != MODEL_GRIFFIN) return;
    snprintf(o->blocks, sizeof o->blocks, "%s", s->blocks);
    o->recurrent = s->recurrent, o->conv_width = s->conv_width, o->window = s->window;
    o->softcap = (double)s->softcap, o->hf_window = s->hf_window;
}

// At most x: multiplying by a power of two is exact.
static float power_of_two(double x)
{
    return ldexpf(1, ilogb(x));
}

int recipe_from_options(model_recipe *r, const options *o, wb_error *err)
{
    static const char *const kinds[WB_SCHEDULES] = {
        [WB_SCHEDULE_CONSTANT] = "constant",
        [WB_SCHEDULE_LINEAR] = "linear",
        [WB_SCHEDULE_COSINE] = "cosine"};
    int kind = 0;
    while (kind < WB_SCHEDULES && strcmp(o->schedule, kinds[kind]) != 0)
        kind++;
    if (kind == WB_SCHEDULES)
        return error_set(
            err, "--schedule %s: give cosine, linear or constant", o->schedule);
    bool scaled = strcmp(o->dtype, "f16") == 0;
    *r = (model_recipe){
        .schedule =
            {.kind = (wb_schedule_kind)kind,
             .warmup = (int)o->warmup,
             .steps = (int)o->steps,
             .max_lr = (float)o->lr,
             .min_lr = (float)o->min_lr},
        .accum = (int)o->accum,
        .loss_scale = scaled ? power_of_two(o->loss_scale) : 1,
        .growth = scaled ? (int)o->growth : 0,
        .dropout = (float)o->dropout,
        .beta1 = (float)o->beta1,
        .beta2 = (float)o->beta2,
        .adam_eps = (float)o->adam_eps,
        .decay = (float)o->decay,
        .clip = (float)o->clip};
    return 0;
}
