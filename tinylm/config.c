/* config.c - see config.h: names, and which sizes are valid. */
#include "config.h"
#include "griffin/config.h"

#include <math.h>
#include <string.h>

static const char *const archs[MODEL_ARCHS] = {
    [MODEL_LLAMA] = "llama", [MODEL_GRIFFIN] = "griffin"};

const char *model_arch_name(model_arch arch)
{
    return archs[arch];
}

bool model_arch_parse(const char *name, model_arch *arch)
{
    for (int i = 0; i < MODEL_ARCHS; i++) {
        if (strcmp(name, archs[i]) != 0) continue;
        *arch = (model_arch)i;
        return true;
    }
    return false;
}

/* --- sizes -------------------------------------------------------------------------- */

const char *model_lab05_refuses(const model_config *c)
{
    int head_dim = c->shape.head_dim;
    if (head_dim >= 16 && head_dim <= 256 && head_dim % 8 == 0) return NULL;
    return "lab 05 takes heads of 16 to 256 channels, a multiple of 8";
}

int model_choose_attention(model_config *c, const char *how, wb_error *err)
{
    bool gemm = strcmp(how, "gemm") == 0, lab05 = strcmp(how, "lab05") == 0;
    if (!gemm && !lab05 && strcmp(how, "auto") != 0)
        return error_set(err, "--attention %s: give lab05, gemm or auto", how);
    bool unfit = c->arch == MODEL_LLAMA && model_lab05_refuses(c);
    c->gemm_attention = gemm || (!lab05 && unfit);
    return 0;
}

static int check_griffin(const model_config *c, wb_error *err)
{
    if (griffin_check(&c->shape, err)) return -1;
    if (!c->shape.tied)
        return error_set(err, "the output matrix of griffin is the embedding: tied = 1");
    return 0;
}

static int check_attention(const model_config *c, wb_error *err)
{
    const char *why = model_lab05_refuses(c);
    if (c->arch == MODEL_GRIFFIN && c->gemm_attention)
        return error_set(
            err, "griffin's attention has a window: --attention gemm has none");
    if (!why || c->gemm_attention) return 0;
    return error_set(
        err, "a head of %d channels (channels / heads): %s", c->shape.head_dim, why);
}

int model_check(const model_config *c, wb_error *err)
{
    const model_shape *s = &c->shape;
    if (s->layers < 1 || s->channels < 1 || s->heads < 1 || s->hidden < 1 ||
        s->context < 1)
        return error_set(
            err,
            "the model has %d layers, %d channels, %d heads, %d hidden, context %d: "
            "each must be at least 1",
            s->layers, s->channels, s->heads, s->hidden, s->context);
    if (s->kv_heads < 1 || s->heads % s->kv_heads)
        return error_set(
            err, "%d key/value heads do not divide %d heads", s->kv_heads, s->heads);
    if (s->head_dim < 2 || s->head_dim % 2)
        return error_set(
            err, "a head of %d channels: RoPE needs an even number (channels / heads)",
            s->head_dim);
    if (s->vocab < 1) return error_set(err, "a vocabulary of %d tokens", s->vocab);
    if (!(s->eps > 0) || !(s->rope_base > 1))
        return error_set(
            err, "rms_norm_eps %g must be above 0 and rope_theta %g above 1", s->eps,
            s->rope_base);
    if (c->arch == MODEL_GRIFFIN && check_griffin(c, err)) return -1;
    // Counted in int: a row of each GEMM, and the elements of a matrix.
    double widest = fmax(2.0 * s->hidden, (s->heads + 2.0 * s->kv_heads) * s->head_dim);
    widest = fmax(widest, fmax(s->vocab + 64.0, s->context));
    if (widest * s->channels > 2e9 || s->layers > 10000)
        return error_set(
            err, "the model is too large: a matrix of %.3g elements",
            widest * s->channels);
    return check_attention(c, err);
}
