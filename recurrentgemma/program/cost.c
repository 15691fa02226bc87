/* cost.c - see cost.h. */
#include "cost.h"

// Tokens before its own that a token sees.
static int before(const rg_info *i)
{
    return i->shape.window - i->shape.hf_window;
}

double cost_prompt_flops(const rg_info *i, int B, long count)
{
    double C = i->shape.channels, R = i->shape.recurrent, F = i->shape.hidden, d = i->shape.head_dim,
           H = i->shape.heads;
    double n = (double)count, W = before(i);
    double recurrent = 2 * (3 * C * R + 2 * R * R / H + i->shape.conv_width * R);
    double attention = 2 * (2 * C * H * d + 2 * C * d);
    double mlp = 2 * 3 * C * F;
    // Token p sees min(p, W) + 1 keys.
    double full = n < W ? n : W;
    double keys = full * (full + 1) / 2 + (n - full) * (W + 1);
    double A = i->attention_layers, all = i->shape.layers;
    double behind = (n * (all - 1) + 1) * mlp;  // of the last layer the newest token's
    return B * (n * ((all - A) * recurrent + A * attention) + behind +
                A * 4 * H * d * keys + 2 * C * i->shape.vocab);
}

double cost_step_bytes(const rg_info *i, int B, double held)
{
    double e = i->dtype == RG_BF16 ? 2 : 4, C = i->shape.channels, V = i->shape.vocab;
    double weights = (double)i->weight_bytes + B * C * e;
    if (!i->shape.tied) weights -= V * C * e;
    double keys = (held < before(i) ? held : before(i)) + 1;
    double rings = i->attention_layers * 2 * keys * i->shape.head_dim * e;
    double states =
        (i->shape.layers - i->attention_layers) * (2 * 4.0 + i->shape.conv_width * e) * i->shape.recurrent;
    return weights + B * (rings + states + 2 * 4 * V);
}
