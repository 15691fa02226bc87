/* kernels.cu - the main program of the kernel benchmarks: see kernels.h.
 *
 *     build/<backend>/bench/rmsnorm.solution [--json FILE]
 *     ... --once [TEXT...]    calls each function once, with the CPU's shapes, untimed
 *     ... --large [TEXT...]   the same with the GPU's shapes, all data zero
 *
 * TEXT: only rows whose function, type and shape contain one, as in "forward bf16".
 */
#include "kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_CHECK(call)                                                                 \
    do {                                                                                 \
        cudaError_t e_ = (call);                                                         \
        if (e_ != cudaSuccess) {                                                         \
            fprintf(                                                                     \
                stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,                    \
                cudaGetErrorString(e_));                                                 \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

enum {
    MIN_CALLS = 30,
    MAX_CALLS = 200,
    MAX_TENSORS = 64,
};

const char *const bench_type_name[3] = {"f32", "f16", "bf16"};
const size_t bench_type_size[3] = {4, 2, 2};
int bench_on_gpu, bench_once;

static bool once, zeros; /* --once or --large; --large */
static char **only;      /* TEXT..., NULL: all rows */
static const char *gpu;
static const char *code; /* the implementation: the program's name after the last dot */
static FILE *json;
static double copy_bandwidth; /* GB/s, counting bytes read and bytes written */
static uint4 *flush;          /* read before each call */
static size_t flush_length;   /* uint4s */
static unsigned *unused;      /* where reads could go: keeps them from being removed */
static void *tensors[MAX_TENSORS];
static int tensor_count;

/* --- data --------------------------------------------------------------------------- */

// Of --once and --large, where all launches are those of the functions
static void *made_by_host(enum bench_type type, size_t elements)
{
    size_t bytes = elements * bench_type_size[type];
    char *p = (char *)bench_bytes(bytes), *host = (char *)calloc(bytes ? bytes : 1, 1);
    for (size_t i = 0; !zeros && i < elements; i++) {
        uint32_t r[4];
        wb_random(r, 0x5eed + tensor_count, (uint32_t)i, 0, 0, 0);
        float f = (float)r[0] / 2147483648.0f - 1.0f;
        if (type == BENCH_F32) ((float *)host)[i] = f;
        if (type == BENCH_F16) ((wb_f16 *)host)[i] = (wb_f16)f;
        if (type == BENCH_BF16) ((wb_bf16 *)host)[i] = (wb_bf16)f;
    }
    CUDA_CHECK(cudaMemcpy(p, host, bytes, cudaMemcpyHostToDevice));
    free(host);
    return p;
}

template <typename E> static __global__ void fill(E *p, size_t n, uint64_t seed)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint32_t r[4];
        wb_random(r, seed, (uint32_t)i, (uint32_t)(i >> 32), 0, 0);
        p[i] = (E)((float)r[0] / 2147483648.0f - 1.0f);
    }
}

void *bench_bytes(size_t bytes)
{
    if (tensor_count == MAX_TENSORS) {
        fprintf(
            stderr, "bench: more than %d tensors: increase MAX_TENSORS\n", MAX_TENSORS);
        exit(1);
    }
    void *p = NULL;
    CUDA_CHECK(cudaMalloc(&p, bytes ? bytes : 1));
    return tensors[tensor_count++] = p;
}

void *bench_tensor(enum bench_type type, size_t elements)
{
    if (once) return made_by_host(type, elements);
    void *p = bench_bytes(elements * bench_type_size[type]);
    uint64_t seed = 0x5eed + tensor_count;
    int blocks = bench_on_gpu ? 1024 : 8;
    if (type == BENCH_F32) fill<<<blocks, 256>>>((float *)p, elements, seed);
    if (type == BENCH_F16) fill<<<blocks, 256>>>((wb_f16 *)p, elements, seed);
    if (type == BENCH_BF16) fill<<<blocks, 256>>>((wb_bf16 *)p, elements, seed);
    CUDA_CHECK(cudaDeviceSynchronize());
    return p;
}

void bench_free_all(void)
{
    while (tensor_count)
        CUDA_CHECK(cudaFree(tensors[--tensor_count]));
}

/* --- time --------------------------------------------------------------------------- */

static __global__ void read_all(const uint4 *p, size_t n, unsigned *unused)
{
    unsigned any = 0;
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        uint4 v = p[i];
        any |= v.x | v.y | v.z | v.w;
    }
    if (any) *unused = any;  // the buffer is zero
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

struct timing {
    float median, min; /* ms */
    int calls;
};

static void
measure(float *ms, int calls, wb_status (*call)(const void *context), const void *context)
{
    static cudaEvent_t start[MAX_CALLS], stop[MAX_CALLS];
    for (int i = 0; i < calls; i++) {
        if (!start[i]) {
            CUDA_CHECK(cudaEventCreate(&start[i]));
            CUDA_CHECK(cudaEventCreate(&stop[i]));
        }
        // The read also takes longer than enqueueing the call: the GPU never waits for
        // the host.
        read_all<<<bench_on_gpu ? 2048 : 1, 256>>>(flush, flush_length, unused);
        CUDA_CHECK(cudaEventRecord(start[i], NULL));
        WB_CHECK(call(context));
        CUDA_CHECK(cudaEventRecord(stop[i], NULL));
    }
    CUDA_CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < calls; i++)
        CUDA_CHECK(cudaEventElapsedTime(&ms[i], start[i], stop[i]));
}

static struct timing time_of(wb_status (*call)(const void *context), const void *context)
{
    float ms[MAX_CALLS];
    measure(ms, 3, call, context);  // warm-up
    float about = ms[2] > 1e-3f ? ms[2] : 1e-3f;
    int calls = (int)(40.0f / about);  // about 40 ms of the call itself
    calls = calls < MIN_CALLS ? MIN_CALLS : calls > MAX_CALLS ? MAX_CALLS : calls;
    measure(ms, calls, call, context);
    qsort(ms, calls, sizeof *ms, by_value);
    return (struct timing){ms[calls / 2], ms[0], calls};
}

struct copy {
    void *to, *from;
    size_t bytes;
};

static wb_status copy(const void *context)
{
    const struct copy *c = (const struct copy *)context;
    cudaError_t e =
        cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDeviceToDevice, NULL);
    return e == cudaSuccess ? WB_OK : WB_BAD_CUDA;
}

static void measure_copy(void)
{
    size_t bytes = bench_on_gpu ? (size_t)1 << 30 : (size_t)1 << 26;
    struct copy c = {bench_bytes(bytes), bench_bytes(bytes), bytes};
    CUDA_CHECK(cudaMemset(c.from, 1, bytes));
    struct timing t = time_of(copy, &c);
    copy_bandwidth = 2.0 * bytes / t.median / 1e6;
    bench_free_all();
}

/* --- report ------------------------------------------------------------------------- */

static bool chosen(const char *row)
{
    bool any = !only || !*only;
    for (char **text = only; !any && *text; text++)
        any = strstr(row, *text);
    return any;
}

// Calls the function. false: it is not to be timed. If it returned WB_UNSUPPORTED or
// WB_TODO, that is its line in the report.
static int available(
    const char *function, enum bench_type type, const char *shape,
    wb_status (*call)(const void *context), const void *context)
{
    char row[160];
    snprintf(row, sizeof row, "%s %s %s", function, bench_type_name[type], shape);
    if (!chosen(row)) return 0;
    wb_status status = call(context);
    CUDA_CHECK(cudaDeviceSynchronize());
    int has_function = status != WB_UNSUPPORTED && status != WB_TODO;
    if (!has_function || once)
        printf(
            "%-26s %-4s %-12s %s\n", function, bench_type_name[type], shape,
            wb_status_name(status));
    return has_function && !once;
}

static void report(
    const char *function, enum bench_type type, const char *shape, struct timing t,
    const char *text, const char *figures)
{
    printf(
        "%-26s %-4s %-12s %9.4f ms %9.4f min %s\n", function, bench_type_name[type],
        shape, t.median, t.min, text);
    fflush(stdout);
    if (!json) return;
    fprintf(
        json,
        "{\"device\":\"%s\",\"function\":\"%s\",\"code\":\"%s\",\"dtype\":\"%s\","
        "\"shape\":\"%s\",\"ms\":%.5f,\"least_ms\":%.5f,\"calls\":%d,"
        "\"copy_GBs\":%.1f,%s}\n",
        gpu, function, code, bench_type_name[type], shape, t.median, t.min, t.calls,
        copy_bandwidth, figures);
}

void bench_row(
    const char *function, enum bench_type type, const char *shape, double bytes,
    wb_status (*call)(const void *context), const void *context)
{
    char text[96], figures[128];
    if (!available(function, type, shape, call, context)) return;
    struct timing t = time_of(call, context);
    double speed = bytes / t.median / 1e6, fraction = speed / copy_bandwidth;
    snprintf(text, sizeof text, "%8.1f GB/s %6.3f of copy", speed, fraction);
    snprintf(
        figures, sizeof figures, "\"bytes\":%.0f,\"GBs\":%.1f,\"of_copy\":%.4f", bytes,
        speed, fraction);
    report(function, type, shape, t, text, figures);
}

void bench_flops(
    const char *function, enum bench_type type, const char *shape, double flops,
    wb_status (*call)(const void *context), const void *context)
{
    char text[96], figures[128];
    if (!available(function, type, shape, call, context)) return;
    struct timing t = time_of(call, context);
    double speed = flops / t.median / 1e9;
    snprintf(text, sizeof text, "%8.1f TFLOP/s", speed);
    snprintf(figures, sizeof figures, "\"flops\":%.0f,\"TFLOPs\":%.1f", flops, speed);
    report(function, type, shape, t, text, figures);
}

int main(int argc, char **argv)
{
    code = strrchr(argv[0], '.') ? strrchr(argv[0], '.') + 1 : "?";
    once = argc > 1 && (!strcmp(argv[1], "--once") || !strcmp(argv[1], "--large"));
    if (once) {
        bench_on_gpu = zeros = !strcmp(argv[1], "--large");
        bench_once = !bench_on_gpu;
        only = argv + 2;
        bench_op();
        return 0;
    }
    if (argc == 3 && !strcmp(argv[1], "--json")) {
        json = fopen(argv[2], "a");
        if (!json) {
            fprintf(stderr, "bench: cannot write %s\n", argv[2]);
            return 1;
        }
    } else if (argc != 1) {
        fprintf(
            stderr, "usage: %s [--json FILE | --once [TEXT...] | --large [TEXT...]]\n",
            argv[0]);
        return 1;
    }
    cudaDeviceProp device;
    CUDA_CHECK(cudaGetDeviceProperties(&device, 0));
    gpu = device.name;
    bench_on_gpu = !device.integrated;
    flush_length = (size_t)device.l2CacheSize * 5 / sizeof *flush;
    CUDA_CHECK(cudaMalloc(&flush, flush_length * sizeof *flush + 1));
    CUDA_CHECK(cudaMemset(flush, 0, flush_length * sizeof *flush));
    CUDA_CHECK(cudaMalloc(&unused, sizeof *unused));
    measure_copy();
    printf("%s on %s, copy %.1f GB/s\n", code, device.name, copy_bandwidth);
    bench_op();
    if (json && fclose(json)) {
        fprintf(stderr, "bench: cannot write all of %s: disk full?\n", argv[2]);
        return 1;
    }
    return 0;
}
