/* loss_scale.c - f16: a step whose gradients overflow changes no weight and halves the loss
 * scale; enough good steps double it. For both architectures. */
#include "small.h"

#include <math.h>

#define OPTIONS                                                                          \
    "--dtype f16 --layers 3 --channels 32 --heads 2 --hidden 40 --context 12 "           \
    "--batch 2 --accum 2 --growth 2 --loss-scale 1.2e18 --warmup 0 --arch "
enum { VOCAB = 30 };

static int failed;

static void check(bool good, const char *arch, const char *what)
{
    printf("%s - f16, %s: %s\n", good ? "ok" : "not ok", arch, what);
    failed |= !good;
}

// Everything that a step may change: param, master, adam_m and adam_v follow each other.
static char *snapshot(const model *m)
{
    size_t bytes = (size_t)((char *)m->grad - (char *)m->param);
    char *copy = malloc(bytes);
    if (!copy) fail("no memory");
    model_download(m, copy, m->param, bytes);
    return copy;
}

static bool unchanged(const model *m, const char *before)
{
    char *now = snapshot(m);
    bool same = memcmp(now, before, (size_t)((char *)m->grad - (char *)m->param)) == 0;
    free(now);
    return same;
}

static bool no_gradients(const model *m)
{
    float *g = malloc(m->parameters * sizeof *g);
    if (!g) fail("no memory");
    model_download(m, g, m->grad, m->parameters * sizeof *g);
    bool zero = true;
    for (size_t i = 0; i < m->parameters; i++)
        zero &= g[i] == 0;
    free(g);
    return zero;
}

static wb_train one_step(model *m, const model_recipe *r)
{
    wb_train state;
    m->calls->step(m, r);
    model_download(m, &state, m->train, sizeof state);
    return state;
}

static void check_arch(const char *arch)
{
    model m;
    model_recipe r;
    char line[400];
    int token[96];
    snprintf(line, sizeof line, "%s%s", OPTIONS, arch);
    small_model_line(&m, &r, VOCAB, line);
    model_initialise(&m, 5);
    for (int i = 0; i < 96; i++)
        token[i] = i * i % VOCAB;
    model_upload(&m, m.token, token, 48 * sizeof *token);
    model_upload(&m, m.target, token + 48, 48 * sizeof *token);
    wb_train state = {.seed = 1, .loss_scale = r.loss_scale, .good = 1, .updates = 7};
    model_upload(&m, m.train, &state, sizeof state);
    check(r.loss_scale == 0x1p60f, arch, "the scale starts as a power of two");

    char *before = snapshot(&m);
    state = one_step(&m, &r);
    check(!isfinite(state.grad_norm), arch, "a loss scale of 2^60 overflows");
    check(unchanged(&m, before), arch, "weights and moments keep their bits then");
    check(no_gradients(&m), arch, "the gradients are gone");
    check(
        state.loss_scale == 0x1p59f && state.good == 0 && state.updates == 7 &&
            state.step == 1,
        arch, "the scale is halved, the step counts as skipped");

    while (!isfinite(state.grad_norm) && state.step < 99) {
        if (!unchanged(&m, before)) break;
        state = one_step(&m, &r);
    }
    check(
        state.updates == 8 && state.good == 1 && state.loss_scale >= 1 &&
            state.loss_scale == ldexpf(1, 61 - (int)state.step),
        arch, "halved step by step until one is good");
    check(!unchanged(&m, before), arch, "which changes the weights");
    float low = state.loss_scale;
    state = one_step(&m, &r);
    check(
        state.loss_scale == 2 * low && state.good == 0 && state.updates == 9, arch,
        "two good steps double it");
    free(before);
    model_destroy(&m);
}

int main(void)
{
    check_arch("llama");
    check_arch("griffin");
    return failed;
}
