/* test_recurrentgemma_kernels.c - the kernels of RecurrentGemma, one by one, on values
 * from inside a model: each gets its input as computed in float64 and must give the next
 * value. Absolute tolerance 1e-5.
 */
#include "recurrentgemma/tiny.h"

#include "attention.h"
#include "kvcache.h"
#include "ops.h"
#include "rglru.h"
#include "rmsnorm.h"
#include "rope.h"
#include "swiglu.h"

#define OK(call) cr_assert_eq(call, WB_OK, "%s", #call)
enum { T = LONG, C = CHANNELS, H = HEADS, D = HEAD, M = BLOCK, N = T * C };
static const double TOLERANCE = 1e-5;
static const float EPS = 1e-6f;

static wb_blas *blas;
static void *space;
static const size_t SPACE = 1 << 22;

static void start(void)
{
    tiny_open();
    OK(wb_blas_create(&blas));
    space = tiny_device(NULL, SPACE / sizeof(float));
}

static void end(void)
{
    tiny_close();
    wb_blas_destroy(blas);
}

static float *make(size_t n)
{
    return tiny_device(NULL, n);
}

/* x (T,I) times a matrix of a layer's temporal block; bias: it has one */
static float *times(const float *x, int layer, const char *what, int I, int O, bool bias)
{
    char name[96];
    snprintf(name, sizeof name, "temporal_block.%s.weight", what);
    const float *w = weight(layer, name);
    snprintf(name, sizeof name, "temporal_block.%s.bias", what);
    float *y = make((size_t)T * O);
    OK(matmul_forward_f32(
        y, x, w, bias ? weight(layer, name) : NULL, NULL, T, I, O, blas, NULL));
    return y;
}

/* the input of a layer: hidden (layers+2,T,C) */
static const float *hidden(int layer)
{
    return (const float *)expected("long.hidden") + (size_t)layer * N;
}

static void norm_of(int layer, const char *tap)
{
    float *out = make(N);
    OK(rmsnorm_forward_f32(
        out, NULL, tiny_device(hidden(layer), N),
        weight(layer, "temporal_pre_norm.weight"), T, C, EPS, 1, NULL));
    near(out, expected(tap), N, TOLERANCE, tap);
}

/* Before the sigmoid: the fixture has the gates after it. */
static float *inverse(const char *tap)
{
    const float *g = expected(tap);
    float x[N];
    for (int i = 0; i < N; i++)
        x[i] = (float)log(g[i] / (1.0 - g[i]));
    return tiny_device(x, N);
}

static float *gelu(const float *y)
{
    float ones[N], *out = make(N);
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    OK(geglu_forward_f32(out, y, tiny_device(ones, N), T, C, C, NULL));
    return out;
}

/* h gelu(y), which the fixture does not have */
static void gated(float *to)
{
    const float *h = expected("tap.0.scan_out"), *y = expected("tap.0.gelu_y");
    for (int i = 0; i < N; i++)
        to[i] = h[i] * y[i];
}

TestSuite(kernels, .init = start, .fini = end);

Test(kernels, recurrent_branches)
{
    norm_of(0, "tap.0.norm");
    const float *u = fixture("tap.0.norm");
    near(
        times(u, 0, "linear_x", C, C, true), expected("tap.0.linear_x"), N, TOLERANCE,
        "linear_x");
    near(
        gelu(times(u, 0, "linear_y", C, C, true)), expected("tap.0.gelu_y"), N, TOLERANCE,
        "gelu_y");
}

static float *lru(const char *part)
{
    char name[96];
    snprintf(name, sizeof name, "temporal_block.%s", part);
    return weight(0, name);
}

Test(kernels, convolution_and_gates)
{
    float *c = make(N), *px = make(N), *pa = make(N);
    OK(conv1d_forward_f32(
        c, NULL, fixture("tap.0.linear_x"), lru("conv_1d.weight"), lru("conv_1d.bias"),
        NULL, NULL, 1, T, C, CONV_WIDTH, C, NULL));
    near(c, expected("tap.0.conv"), N, TOLERANCE, "conv");
    OK(block_linear_forward_f32(
        px, pa, fixture("tap.0.conv"), lru("rg_lru.input_gate_weight"),
        lru("rg_lru.input_gate_bias"), lru("rg_lru.recurrent_gate_weight"),
        lru("rg_lru.recurrent_gate_bias"), T, H, M, NULL));
    float gate[N];
    const char *gates[] = {"tap.0.gate_x", "tap.0.gate_a"};
    for (int g = 0; g < 2; g++) {
        back(gate, g ? pa : px, sizeof gate);
        for (int i = 0; i < N; i++)
            gate[i] = 1 / (1 + expf(-gate[i]));
        double d = farthest(gate, expected(gates[g]), N);
        cr_expect(d <= TOLERANCE, "%s: off by %g", gates[g], d);
    }
}

Test(kernels, decay_and_input_of_the_scan)
{
    float *a = make(N), *z = make(N), *px = inverse("tap.0.gate_x"),
          *pa = inverse("tap.0.gate_a"), *ap = lru("rg_lru.recurrent_param");
    OK(rglru_gates_forward_f32(
        a, z, fixture("tap.0.conv"), px, pa, ap, NULL, 1, T, C, NULL));
    near(z, expected("tap.0.scan_in"), N, TOLERANCE, "scan_in");
    const float zero[CHANNELS] = {0};
    near(a, zero, C, 0, "a of a document's first token");
    near(a + C, (const float *)expected("tap.0.a") + C, N - C, TOLERANCE, "a");
    float ones[N], open[N];  // with c = 1 and the input gate open, z is the multiplier
    for (int i = 0; i < N; i++)
        ones[i] = 1, open[i] = 40;
    OK(rglru_gates_forward_f32(
        a, z, tiny_device(ones, N), tiny_device(open, N), pa, ap, NULL, 1, T, C, NULL));
    near(z, expected("tap.0.mult"), N, TOLERANCE, "mult");
}

Test(kernels, scan_and_output)
{
    float *h = make(N), *out = make(N), product[N];
    OK(linear_scan_forward_f32(
        h, NULL, fixture("tap.0.a"), fixture("tap.0.scan_in"), NULL, 1, T, C, space,
        SPACE, NULL));
    near(h, expected("tap.0.scan_out"), N, TOLERANCE, "scan_out");
    gated(product);
    const float *y = times(fixture("tap.0.norm"), 0, "linear_y", C, C, true);
    OK(rglru_forward_f32(
        out, h, NULL, fixture("tap.0.conv"), inverse("tap.0.gate_x"),
        inverse("tap.0.gate_a"), y, lru("rg_lru.recurrent_param"), NULL, NULL, 1, T, C, C,
        space, SPACE, NULL));
    near(h, expected("tap.0.scan_out"), N, TOLERANCE, "scan_out of the fused pass");
    near(out, product, N, TOLERANCE, "scan_out * gelu_y");
    near(
        times(tiny_device(product, N), 0, "linear_out", C, C, true),
        expected("tap.0.out"), N, TOLERANCE, "out");
}

Test(kernels, recurrent_block_token_by_token)
{
    float *x = fixture("tap.0.linear_x"), *out = make(N), product[N];
    float *y = times(fixture("tap.0.norm"), 0, "linear_y", C, C, true);
    float *ring = make(CONV_WIDTH * C),
          *state = make(C);  // NaN: position 0 reads neither
    float *w = lru("conv_1d.weight"), *b = lru("conv_1d.bias"),
          *wx = lru("rg_lru.input_gate_weight"), *bx = lru("rg_lru.input_gate_bias"),
          *wa = lru("rg_lru.recurrent_gate_weight"),
          *ba = lru("rg_lru.recurrent_gate_bias"), *ap = lru("rg_lru.recurrent_param");
    for (int t = 0; t < T; t++) {
        int *pos = (int *)tiny_device(&t, 1);
        OK(rglru_step_f32(
            out + t * C, ring, state, x + t * C, y + t * C, w, b, wx, bx, wa, ba, ap, pos,
            1, H, M, CONV_WIDTH, C, NULL));
    }
    gated(product);
    near(out, product, N, TOLERANCE, "scan_out * gelu_y");
}

/* --- attention ---------------------------------------------------------------------- */

static float *angles(void)
{
    float *cis = make((size_t)T * ROTATED);
    OK(rope_table_f32(cis, T, ROTATED, 10000, NULL));
    return cis;
}

static void attend(float *out, const float *v)
{
    OK(attention_forward_f32(
        out, NULL, fixture("tap.2.q_rot"), fixture("tap.2.k_rot"), v, NULL, 1, T, T, H, 1,
        D, H * D, D, WINDOW, 0.25f, space, SPACE, NULL));
}

Test(kernels, queries_keys_values)
{
    norm_of(2, "tap.2.norm");
    const float *u = fixture("tap.2.norm"), *cis = angles();
    float *q = times(u, 2, "q_proj", C, H * D, false),
          *k = times(u, 2, "k_proj", C, D, false);
    OK(rope_forward_f32(q, q, cis, NULL, 1, T, H, D, ROTATED, H * D, NULL));
    OK(rope_forward_f32(k, k, cis, NULL, 1, T, 1, D, ROTATED, D, NULL));
    near(q, expected("tap.2.q_rot"), T * H * D, TOLERANCE, "q_rot");
    near(k, expected("tap.2.k_rot"), T * D, TOLERANCE, "k_rot");
    near(times(u, 2, "v_proj", C, D, false), expected("tap.2.v"), T * D, TOLERANCE, "v");
}

/* With ones on the diagonal as values, attention gives its weights: D keys at a time. */
Test(kernels, weights_of_attention)
{
    const float *want = expected("tap.2.probs");  // (H,T,T)
    float got[T * HEADS * HEAD], *out = make((size_t)T * H * D);
    for (int first = 0; first < T; first += D) {
        float v[T * HEAD] = {0};
        for (int d = 0; d < D && first + d < T; d++)
            v[(first + d) * D + d] = 1;
        attend(out, tiny_device(v, T * D));
        back(got, out, sizeof got);
        for (int t = 0; t < T; t++)
            for (int h = 0; h < H; h++)
                for (int d = 0; d < D && first + d < T; d++) {
                    float p = want[((size_t)h * T + t) * T + first + d];
                    cr_assert_float_eq(got[(t * H + h) * D + d], p, TOLERANCE);
                }
    }
}

Test(kernels, attention_and_output)
{
    float *out = make((size_t)T * H * D);
    attend(out, fixture("tap.2.v"));
    near(out, expected("tap.2.attn"), T * H * D, TOLERANCE, "attn");
    near(
        times(fixture("tap.2.attn"), 2, "o_proj", H * D, C, true), expected("tap.2.out"),
        N, TOLERANCE, "out");
}

Test(kernels, attention_token_by_token)
{
    const float *u = fixture("tap.2.norm"), *cis = angles(), *v = fixture("tap.2.v");
    float *q = times(u, 2, "q_proj", C, H * D, false),
          *k = times(u, 2, "k_proj", C, D, false), *out = make((size_t)T * H * D);
    float *keys = make(WINDOW * D), *values = make(WINDOW * D);
    for (int t = 0; t < T; t++)
        OK(attention_decode_f32(
            out + t * H * D, keys, values, q + t * H * D, k + t * D, v + t * D, cis,
            (int *)tiny_device(&t, 1), 1, WINDOW, H, 1, D, ROTATED, H * D, D, 0.25f,
            space, SPACE, NULL));
    near(out, expected("tap.2.attn"), T * H * D, TOLERANCE, "attn");
}
