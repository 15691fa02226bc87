/* decode.c - what one token of generation costs: kernels, graph launches, the host's
 * copies and waits, bytes; and its time. All but the time is counted or computed from
 * the shapes and is the same on every machine, so a test notices when a decode step changes
 * (tests/tinylm/suite_counts.sh).
 *
 *     build/<backend>/bench/tinylm/decode --csv FILE [--runs N] [options of train]
 *
 * A small model's step is bound by latency. So the report also says how
 * the matrices are shared by a GPU of 132 multiprocessors, an H200: `busiest` is what one
 * of them has to read while the others wait. Weights are random.
 */
#include "../../common/progress.h"
#include "../../tinylm/generator.h"
#include "kernels.h"
#include "step_plan.h"
#include "tools.h"

#include <stdlib.h>

enum { SMS = 132, MAX_SMEM = 227 << 10 };
enum { PROMPT = 8, WARM = 24, COUNTED = 64, TIMED = 16 };  // tokens

/* --- counted calls: the linker redirects them (--wrap in mk/plots.mk) --------------- */

static struct counts {
    long kernels, graphs, copies, waits;
} now;

static struct {
    cudaGraphExec_t exec;
    size_t kernels;
} recorded[16];
static int recordings;

/* Of the CPU back end: kernels outside of graphs count, too. */
extern unsigned long long wbcpu_launch_count(void) __attribute__((weak));

extern cudaError_t __real_cudaGraphInstantiateWithFlags(
    cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags);
extern cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
extern cudaError_t __real_cudaStreamSynchronize(cudaStream_t stream);
extern cudaError_t __real_cudaMemcpyAsync(
    void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream);
extern cudaError_t __real_cudaMemcpy2DAsync(
    void *to, size_t pitch, const void *from, size_t from_pitch, size_t width,
    size_t height, enum cudaMemcpyKind kind, cudaStream_t stream);

cudaError_t __wrap_cudaGraphInstantiateWithFlags(
    cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    cudaError_t e = __real_cudaGraphInstantiateWithFlags(exec, graph, flags);
    if (e || recordings == sizeof recorded / sizeof *recorded)
        bench_stop("more graphs than expected");
    recorded[recordings].exec = *exec;
    CUDA_CHECK(cudaGraphGetNodes(graph, NULL, &recorded[recordings++].kernels));
    return e;
}

cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    now.graphs++;
    for (int i = recordings - 1; i >= 0; i--)
        if (recorded[i].exec == exec) {
            now.kernels += (long)recorded[i].kernels;
            break;
        }
    return __real_cudaGraphLaunch(exec, stream);
}

cudaError_t __wrap_cudaStreamSynchronize(cudaStream_t stream)
{
    now.waits++;
    return __real_cudaStreamSynchronize(stream);
}

cudaError_t __wrap_cudaMemcpyAsync(
    void *to, const void *from, size_t n, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    now.copies++;
    return __real_cudaMemcpyAsync(to, from, n, kind, stream);
}

cudaError_t __wrap_cudaMemcpy2DAsync(
    void *to, size_t pitch, const void *from, size_t from_pitch, size_t width,
    size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    now.copies++;
    return __real_cudaMemcpy2DAsync(
        to, pitch, from, from_pitch, width, height, kind, stream);
}

static struct counts count(generator *g, int tokens)
{
    unsigned long long before = wbcpu_launch_count ? wbcpu_launch_count() : 0;
    now = (struct counts){0};
    generator_decode(g, tokens);
    struct counts c = now;
    if (wbcpu_launch_count) c.kernels = (long)(wbcpu_launch_count() - before);
    return c;
}

/* --- bytes -------------------------------------------------------------------------- */

typedef struct matrix {
    const char *name;
    int count, I, O, gates;
} matrix;

enum { MATRICES = 7 };

// The matrices of a step that linear_step and logits_step read.
static void matrices_of(matrix m[MATRICES], const decoder *d)
{
    const model_shape *s = &d->config.shape;
    int C = s->channels, Cr = s->recurrent, HD = s->heads * s->head_dim, A = 0;
    for (int l = 0; l < s->layers; l++)
        A += !d->layer[l].recurrent;
    int R = s->layers - A;
    const matrix all[MATRICES] = {
        {"qkv", A, C, d->qkv_width, 1},
        {"attention out", A, HD, C, 1},
        {"x and y", R, C, 2 * Cr, 1},
        {"recurrent out", R, Cr, C, 1},
        {"gate and up", s->layers, C, s->hidden, 2},
        {"down", s->layers, s->hidden, C, 1},
        {"logits", 1, C, s->vocab, 1}};
    for (int i = 0; i < MATRICES; i++)
        m[i] = all[i];
}

typedef struct bytes {
    double weights, state, busiest;
} bytes;

static bytes bytes_of(const decoder *d)
{
    const model_shape *s = &d->config.shape;
    int element = (int)wb_dtype_size(d->config.dtype);
    double e = element, C = s->channels, Cr = s->recurrent;
    matrix m[MATRICES];
    matrices_of(m, d);
    bytes b = {.weights = C * e};  // a row of the embedding
    printf(
        "%-14s %5s %11s %6s %7s %11s\n", "", "count", "I x O", "kernel", "blocks",
        "busiest, KB");
    for (int i = 0; i < MATRICES; i++) {
        const matrix *x = &m[i];
        if (x->count == 0) continue;
        step_plan p = plan_step(element, x->I, x->O, x->gates, SMS, MAX_SMEM);
        double busiest = plan_busiest(p, element, x->I, x->O, x->gates, SMS);
        b.weights += x->count * e * x->I * x->O * x->gates;
        b.busiest += x->count * busiest;
        printf(
            "%-14s %5d %5d x %3d %6s %7d %11.1f\n", x->name, x->count, x->I,
            x->O * x->gates, p.row ? "row" : "ring", p.blocks, busiest * 1e-3);
    }
    for (int l = 0; l < s->layers; l++) {
        bool recurrent = d->layer[l].recurrent;
        if (recurrent) b.weights += 2 * e * Cr * Cr / s->heads;  // both gates
        b.state += recurrent ? Cr * (2 * 4 + s->conv_width * e)
                             : 2 * e * (d->slots + 1) * s->kv_heads * s->head_dim;
    }
    return b;
}

// Functions of a step that come from labs/: they may launch other kernels.
static int kernels_of_learner(void)
{
    static const char *const of_step[] = {"rmsnorm_forward", "swiglu_forward",
                                          "geglu_forward",   "attention_decode",
                                          "rglru_step",      "sample"};
    int n = 0;
    for (size_t i = 0; i < sizeof of_step / sizeof *of_step; i++)
        n += wb_kernel_is_yours(of_step[i]);
    return n;
}

/* --- a text ------------------------------------------------------------------------- */

static void open_generator(generator *g, model *m, const bench_args *a)
{
    static int prompt[PROMPT];
    const int *const prompts[1] = {prompt};
    const int length = PROMPT;
    wb_error err;
    generator_settings set = {
        .batch = 1,
        .max_new_tokens = WARM + COUNTED + a->runs * TIMED,
        .longest_prompt = PROMPT,
        .cache = true,
        .graph = !a->o.gen.no_graph,
        .temperature = 0.8f,
        .top_p = 1,
        .repetition_penalty = 1};
    if (generator_create(g, m, &set, &err)) bench_stop(err.text);
    if (generator_start(g, prompts, &length, &a->o.gen.seed, &err)) bench_stop(err.text);
    generator_decode(g, WARM - 1);  // generator_start samples the first
}

static double median_seconds(generator *g, int runs)
{
    double *t = calloc((size_t)runs, sizeof *t);
    if (!t) bench_stop("no memory");
    for (int i = 0; i < runs; i++) {
        double began = seconds_now();
        generator_decode(g, TIMED);
        t[i] = (seconds_now() - began) / TIMED;
    }
    double median = bench_median(t, runs);
    free(t);
    return median;
}

int main(int argc, char **argv)
{
    static bench_args a;
    static model m;
    model_config c;
    generator g;
    wb_error err;
    bench_read_args(&a, argc, argv);
    bench_config(&a, &c);
    c.shape.context = a.longest;
    FILE *csv = bench_csv(
        a.csv, "machine,model,dtype,tokens,kernels,graphs,copies,waits,weight_bytes,"
               "state_bytes,busiest_bytes,yours,seconds_per_token");
    // for training: only then are there float weights to initialise
    if (model_create(&m, &c, 1, 1, 1, MODEL_TRAIN, &err)) bench_stop(err.text);
    model_initialise(&m, a.o.gen.seed);
    open_generator(&g, &m, &a);
    const char *dtype = wb_dtype_name(c.dtype);
    printf("%s, %s, %s\n", machine_name(), a.o.preset, dtype);
    struct counts n = count(&g, COUNTED);
    bytes b = bytes_of(&g.d);
    double t = median_seconds(&g, a.runs), tokens = COUNTED;
    printf(
        "%.2f MB of weights, %.3f MB of keys, values and states\n", b.weights * 1e-6,
        b.state * 1e-6);
    printf(
        "busiest of %d multiprocessors: %.1f KB of matrices; an equal share: %.1f KB\n",
        SMS, b.busiest * 1e-3, b.weights / SMS * 1e-3);
    printf(
        "per token: %.2f kernels, %.3f graphs, %.3f copies, %.3f waits\n",
        n.kernels / tokens, n.graphs / tokens, n.copies / tokens, n.waits / tokens);
    printf(
        "%.1f us per token, %.0f tokens/s, median of %d runs of %d\n", t * 1e6, 1 / t,
        a.runs, TIMED);
    fprintf(
        csv, "%s,%s,%s,%d,%ld,%ld,%ld,%ld,%.0f,%.0f,%.0f,%d,%.9f\n", machine_name(),
        a.o.preset, dtype, COUNTED, n.kernels, n.graphs, n.copies, n.waits, b.weights,
        b.state, b.busiest, kernels_of_learner(), t);
    generator_destroy(&g);
    bench_close(csv, a.csv);
    model_destroy(&m);
    return 0;
}
