/* start.c - the initial weights of a griffin model, and which of them have weight decay. */
#include "../../tinylm/tensors.h"
#include "small.h"

#include <math.h>

static int failed;

static void check(bool good, const char *what, const char *name)
{
    printf("%s - %s%s%s\n", good ? "ok" : "not ok", what, *name ? ": " : "", name);
    failed |= !good;
}

static bool ends(const char *name, const char *with)
{
    size_t n = strlen(name), k = strlen(with);
    return n >= k && strcmp(name + n - k, with) == 0;
}

// The deviation that a weight must start with; 0: all zeros; -1: a_param.
static double expected(const model_config *c, const char *name)
{
    double C = c->shape.channels, F = c->shape.hidden, Cr = c->shape.recurrent,
           L = c->shape.layers;
    double HD = (double)c->shape.heads * c->shape.head_dim;
    if (ends(name, "recurrent_param")) return -1;
    if (strstr(name, "bias") || strstr(name, "norm")) return 0;
    if (ends(name, "conv_1d.weight")) return sqrt(0.01 / c->shape.conv_width);
    if (strstr(name, "gate_weight")) return 1 / sqrt(Cr / c->shape.heads);
    if (ends(name, "linear_out.weight")) return sqrt(2 / L / Cr);
    if (ends(name, "o_proj.weight")) return sqrt(2 / L / HD);
    if (ends(name, "down_proj.weight")) return sqrt(2 / L / F);
    return 1 / sqrt(C);
}

// a at a recurrence gate of 1/8: between 0.9 and 0.999, its square evenly spread.
static bool on_the_ring(const float *a_param, size_t n)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) {
        double a = 1 / (1 + exp(a_param[i]));  // exp(-softplus)
        if (!(a >= 0.9 && a <= 0.9990001)) return false;
        mean += a * a / (double)n;
    }
    return fabs(mean - (0.81 + 0.998001) / 2) < 0.02;
}

static void check_weight(const model *m, const model_tensor *t, const float *w)
{
    double want = expected(&m->config, t->name), squares = 0;
    bool decays = strstr(t->name, "weight") && !strstr(t->name, "norm") &&
                  !ends(t->name, "conv_1d.weight");
    bool in_range = t->offset + t->count <= m->decayed;
    for (size_t i = 0; i < t->count; i++)
        squares += (double)w[t->offset + i] * w[t->offset + i];
    double deviation = sqrt(squares / (double)t->count);
    bool good = want < 0 ? on_the_ring(w + t->offset, t->count)
                         : fabs(deviation - want) <= want * 5 / sqrt((double)t->count);
    if (!good || decays != in_range || (!decays && t->offset < m->decayed))
        check(false, decays ? "a matrix" : "no matrix", t->name);
}

int main(void)
{
    model m;
    model_recipe r;
    int count;
    small_model_line(
        &m, &r, 65,
        "--arch griffin --layers 3 --channels 96 --heads 4 --recurrent 480 --hidden 80 "
        "--context 8 --batch 1");
    model_initialise(&m, 3);
    float *w = malloc(m.parameters * sizeof *w);
    if (!w) fail("no memory");
    model_download(&m, w, m.param, m.parameters * sizeof *w);
    model_tensor *all = model_tensors(&m.config, &count, NULL, NULL);
    for (int i = 0; i < count; i++)
        check_weight(&m, &all[i], w);
    check(!failed, "griffin: every weight starts as it should, matrices decay", "");
    check(m.embedding_scale == 9.8125f, "the embedding's scale is sqrt(96) as bf16", "");
    check(
        m.norm_offset == 1 && m.config.shape.rotated == 12 && m.window == 4,
        "the constants", "");
    free(all);
    free(w);
    model_destroy(&m);
    return failed;
}
