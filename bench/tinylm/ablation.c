/* ablation.c - what lab 03's kernels contribute to TinyLM: the time of a forward pass and
 * of a training step, launch by launch and as one CUDA graph.
 *
 *     build/<backend>/bench/tinylm/ablation.CODE --csv FILE [--runs N] [model and step]
 *
 * The same program is linked three times (mk/plots.mk), so the model's code is identical:
 *     naive       lab 03's first rung, separate residual addition
 *     fused       the solution, separate residual addition (separate.c)
 *     residual    the solution, with rmsnorm_residual_forward
 */
#include "../../common/progress.h"
#include "../../tinylm/from_options.h"
#include "../../tinylm/trainer.h"
#include "tools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static model m;
static trainer t;
static const char *code, *work, *launch;

static void one_step(void)
{
    trainer_step(&t);
}

static void forward_pass(void)
{
    m.calls->evaluate(&m);
}

static cudaGraphExec_t graph;
static void replay(void)
{
    CUDA_CHECK(cudaGraphLaunch(graph, m.stream));
}

static void record_forward(void)
{
    cudaGraph_t g;
    CUDA_CHECK(cudaStreamBeginCapture(m.stream, cudaStreamCaptureModeThreadLocal));
    m.calls->evaluate(&m);
    CUDA_CHECK(cudaStreamEndCapture(m.stream, &g));
    CUDA_CHECK(cudaGraphInstantiateWithFlags(&graph, g, 0));
    CUDA_CHECK(cudaGraphDestroy(g));
}

// A run has as many calls as fit in about 20 ms, at least one.
static void measure(FILE *csv, const bench_args *a, void (*call)(void))
{
    for (int i = 0; i < 3; i++)
        call();  // the first allocates, the second records
    CUDA_CHECK(cudaStreamSynchronize(m.stream));
    double one = seconds_now(), sum = 0;
    call();
    CUDA_CHECK(cudaStreamSynchronize(m.stream));
    one = seconds_now() - one;
    int calls = one < 0.02 ? (int)(0.02 / one) : 1;
    for (int run = 0; run < a->runs; run++) {
        double ms = seconds_now();
        for (int i = 0; i < calls; i++)
            call();
        CUDA_CHECK(cudaStreamSynchronize(m.stream));
        ms = 1e3 * (seconds_now() - ms) / calls;
        sum += ms;
        fprintf(
            csv, "%s,%s,%s,%s,%s,%s,%d,%.6f\n", machine_name(), a->o.preset,
            wb_dtype_name(m.config.dtype), work, launch, code, run, ms);
    }
    printf("%-8s %-6s %-9s %9.3f ms\n", work, launch, code, sum / a->runs);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    bench_args a;
    model_config c;
    model_recipe r;
    wb_error err;
    static int text[20000];
    code = strrchr(argv[0], '.') ? strrchr(argv[0], '.') + 1 : "?";
    bench_read_args(&a, argc, argv);
    bench_config(&a, &c);
    if (recipe_from_options(&r, &a.o, &err)) bench_stop(err.text);
    if (model_create(&m, &c, (int)a.o.batch, c.shape.context, r.accum, MODEL_TRAIN, &err))
        bench_stop(err.text);
    for (int i = 0; i < 20000; i++)
        text[i] = i * 7 % BENCH_VOCAB;
    FILE *csv = bench_csv(a.csv, "machine,model,dtype,work,launch,norm,run,ms");
    for (int graphs = 0; graphs < 2; graphs++) {
        model_initialise(&m, a.o.gen.seed);
        launch = graphs ? "graph" : "eager";
        trainer_open(&t, &m, &r, text, 20000, a.o.gen.seed, 0, graphs);
        work = "step";
        measure(csv, &a, one_step);
        trainer_close(&t);
        work = "forward";
        if (graphs) record_forward();
        measure(csv, &a, graphs ? replay : forward_pass);
    }
    CUDA_CHECK(cudaGraphExecDestroy(graph));
    bench_close(csv, a.csv);
    model_destroy(&m);
    return 0;
}
