/* cost.c - see cost.h. */
#include "cost.h"

double cost_prompt_flops(const rg_info *i, int B, long count)
{
    const model_shape *s = &i->shape;
    double C = s->channels, Cr = s->recurrent, F = s->hidden, D = s->head_dim;
    double H = s->heads, n = (double)count, W = shape_window(s);
    double recurrent = 2 * (3 * C * Cr + 2 * Cr * Cr / H + s->conv_width * Cr);
    double attention = 2 * (2 * C * H * D + 2 * C * D);
    double mlp = 2 * 3 * C * F;
    // Token p sees min(p, W) + 1 keys.
    double full = n < W ? n : W;
    double keys = full * (full + 1) / 2 + (n - full) * (W + 1);
    double A = i->attention_layers, layers = s->layers;
    double mlps =
        (n * (layers - 1) + 1) * mlp;  // of the last layer only the newest token's
    return B * (n * ((layers - A) * recurrent + A * attention) + mlps +
                A * 4 * H * D * keys + 2 * C * s->vocab);
}

double cost_step_bytes(const rg_info *i, int B, double held)
{
    const model_shape *s = &i->shape;
    double e = i->dtype == RG_BF16 ? 2 : 4, C = s->channels, V = s->vocab;
    double weights = (double)i->weight_bytes + B * C * e;
    if (!s->tied) weights -= V * C * e;
    double W = shape_window(s), keys = (held < W ? held : W) + 1;
    double rings = i->attention_layers * 2 * keys * s->head_dim * e;
    double states =
        (s->layers - i->attention_layers) * (2 * 4.0 + s->conv_width * e) * s->recurrent;
    return weights + B * (rings + states + 2 * 4 * V);
}
