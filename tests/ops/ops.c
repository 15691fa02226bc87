/* ops.c - runs the given ops on stored inputs and compares with stored expected outputs.
 *
 *     ops DIR [PATTERN]     DIR is what tests/ops/make_data.py wrote
 *
 * Every case runs three times: twice directly and once as a replayed graph. The first run
 * must agree with the reference within the tolerances, and the others must give the same
 * bits. No run may change anything that is not an output: inputs, gaps between rows, and
 * the red zones around each buffer.
 */
#include "adapters.h"
#include "safetensors.h"
#include <cuda_runtime_api.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

enum { RED_ZONE = 512, MAX_BUFFERS = 16, FIRST = 0, SECOND, REPLAYED, RUNS };
#define POISON 0xFF /* NaN in every float type */

struct buffer {
    char name[64];
    st_dtype dtype;
    size_t bytes; /* without the red zones; the arrays below include them */
    char *device;
    char *before;  /* the contents before a run */
    char *after;   /* after this run */
    char *first;   /* after the first run */
    char *covered; /* 1 for each byte that is part of an output */
};

struct argument {
    char name[64];
    int buffer; /* -1: the argument is NULL */
    size_t offset, elements, row, stride;
    bool written;
};

struct call {
    st_file *in, *want;
    json_t *json;
    const struct adapter *adapter;
    struct buffer buffers[MAX_BUFFERS + 1]; /* the last one is the workspace */
    struct argument args[MAX_BUFFERS + 16];
    int buffer_count, arg_count;
    size_t workspace_bytes;
    bool has_workspace;
    cudaStream_t stream;
};

static void bail_out(const char *what, const char *name)
{
    printf("Bail out! %s: %s\n", name, what);
    exit(2);
}

#define CHECK_CUDA(call) check_cuda((call), #call)
static void check_cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) bail_out(cudaGetErrorString(error), what);
}

/* --- what the adapters call (grader/harness.h) -------------------------------------- */

enum dtype dtype(const struct call *c)
{
    const char *name = json_string_value(json_object_get(c->json, "dtype"));
    return strcmp(name, "f32") == 0   ? DTYPE_F32
           : strcmp(name, "f16") == 0 ? DTYPE_F16
                                      : DTYPE_BF16;
}

void *arg(const struct call *c, const char *name)
{
    for (int i = 0; i < c->arg_count; i++) {
        const struct argument *a = &c->args[i];
        if (strcmp(a->name, name) != 0) continue;
        if (a->buffer < 0) return NULL;
        const struct buffer *b = &c->buffers[a->buffer];
        return b->device + RED_ZONE + a->offset * st_dtype_size(b->dtype);
    }
    bail_out("the case has no such argument", name);
    return NULL;
}

static double scalar(const struct call *c, const char *name)
{
    json_t *value = json_object_get(json_object_get(c->json, "scalars"), name);
    if (!json_is_number(value)) bail_out("the case has no such number", name);
    return json_number_value(value);
}
int size(const struct call *c, const char *name)
{
    return (int)scalar(c, name);
}
float number(const struct call *c, const char *name)
{
    return (float)scalar(c, name);
}
cudaStream_t stream(const struct call *c)
{
    return c->stream;
}
void *workspace(const struct call *c)
{
    return c->has_workspace ? c->buffers[c->buffer_count].device + RED_ZONE : NULL;
}
size_t workspace_bytes(const struct call *c)
{
    return c->workspace_bytes;
}

/* --- loading a case ----------------------------------------------------------------- */

static void make_buffer(struct buffer *b, const void *values)
{
    size_t whole = b->bytes + 2 * RED_ZONE;
    void *device = NULL;
    CHECK_CUDA(cudaMalloc(&device, whole));
    b->device = device;
    b->before = malloc(whole);
    b->after = malloc(whole);
    b->first = malloc(whole);
    b->covered = calloc(whole, 1);
    if (!b->before || !b->after || !b->first || !b->covered)
        bail_out("out of memory", b->name);
    memset(b->before, POISON, whole);
    if (values) memcpy(b->before + RED_ZONE, values, b->bytes);
}

static void read_buffers(struct call *c)
{
    json_t *list = json_object_get(c->json, "buffers"), *item;
    size_t i;
    json_array_foreach(list, i, item) {
        struct buffer *b = &c->buffers[c->buffer_count++];
        snprintf(
            b->name, sizeof b->name, "%s",
            json_string_value(json_object_get(item, "name")));
        st_dtype_parse(json_string_value(json_object_get(item, "dtype")), &b->dtype);
        size_t elements = (size_t)json_integer_value(json_object_get(item, "elements"));
        b->bytes = elements * st_dtype_size(b->dtype);
        const st_tensor *t = st_find(c->in, b->name);
        make_buffer(b, t ? t->data : NULL);
    }
}

static void read_argument(struct call *c, json_t *item)
{
    struct argument *a = &c->args[c->arg_count++];
    snprintf(
        a->name, sizeof a->name, "%s", json_string_value(json_object_get(item, "name")));
    a->buffer = -1;
    if (json_is_true(json_object_get(item, "null"))) return;
    const char *buffer = json_string_value(json_object_get(item, "buffer"));
    for (int i = 0; i < c->buffer_count; i++)
        if (strcmp(c->buffers[i].name, buffer) == 0) a->buffer = i;
    a->offset = (size_t)json_integer_value(json_object_get(item, "offset"));
    a->stride = (size_t)json_integer_value(json_object_get(item, "stride"));
    a->written = strcmp(json_string_value(json_object_get(item, "role")), "in") != 0;
    a->elements = 1;
    json_t *n;
    size_t i;
    json_array_foreach(json_object_get(item, "shape"), i, n) {
        a->row = (size_t)json_integer_value(n);
        a->elements *= a->row;
    }
    struct buffer *b = &c->buffers[a->buffer];
    size_t bytes = st_dtype_size(b->dtype);
    for (i = 0; a->written && i < a->elements; i++) {
        size_t at = a->offset + i / a->row * a->stride + i % a->row;
        memset(b->covered + RED_ZONE + at * bytes, 1, bytes);
    }
}

static void open_case(struct call *c, const char *dir, const char *name)
{
    char path[4096];
    wb_error error;
    snprintf(path, sizeof path, "%s/%s.a.in.safetensors", dir, name);
    if (!(c->in = st_open(path, &error))) bail_out(error.text, path);
    snprintf(path, sizeof path, "%s/%s.a.want.safetensors", dir, name);
    if (!(c->want = st_open(path, &error))) bail_out(error.text, path);
    c->json = json_loads(st_metadata(c->in, "call"), 0, NULL);
    if (!c->json) bail_out("the metadata \"call\" is not JSON", path);
    const char *function = json_string_value(json_object_get(c->json, "function"));
    for (c->adapter = adapters; strcmp(c->adapter->function, function) != 0; c->adapter++)
        if (!c->adapter[1].function)
            bail_out("no adapter in tests/ops/adapters.c", function);
    read_buffers(c);
    json_t *item;
    size_t i;
    json_array_foreach(json_object_get(c->json, "args"), i, item)
        read_argument(c, item);
    CHECK_CUDA(cudaStreamCreate(&c->stream));
    if (c->adapter->workspace) {
        struct buffer *b = &c->buffers[c->buffer_count];
        c->has_workspace = true;
        c->workspace_bytes = b->bytes = c->adapter->workspace(c);
        b->dtype = ST_U8;
        make_buffer(b, NULL);
        memset(b->covered + RED_ZONE, 1, b->bytes);
    }
}

static int all_buffers(const struct call *c)
{
    return c->buffer_count + (c->has_workspace ? 1 : 0);
}

static void close_case(struct call *c)
{
    for (int i = 0; i < all_buffers(c); i++) {
        struct buffer *b = &c->buffers[i];
        cudaFree(b->device);
        free(b->before), free(b->after), free(b->first), free(b->covered);
    }
    cudaStreamDestroy(c->stream);
    json_decref(c->json);
    st_close(c->in);
    st_close(c->want);
}

/* --- running ------------------------------------------------------------------------ */

static wb_status run_captured(struct call *c)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CHECK_CUDA(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
    wb_status status = c->adapter->run(c);
    CHECK_CUDA(cudaStreamEndCapture(c->stream, &graph));
    if (status != WB_OK) return status;
    CHECK_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CHECK_CUDA(cudaGraphLaunch(exec, c->stream));
    CHECK_CUDA(cudaStreamSynchronize(c->stream));
    CHECK_CUDA(cudaGraphExecDestroy(exec));
    CHECK_CUDA(cudaGraphDestroy(graph));
    return WB_OK;
}

static wb_status run(struct call *c, int which)
{
    for (int i = 0; i < all_buffers(c); i++) {
        struct buffer *b = &c->buffers[i];
        CHECK_CUDA(cudaMemcpy(
            b->device, b->before, b->bytes + 2 * RED_ZONE, cudaMemcpyHostToDevice));
    }
    CHECK_CUDA(cudaDeviceSynchronize());
    wb_status status = which == REPLAYED ? run_captured(c) : c->adapter->run(c);
    CHECK_CUDA(cudaStreamSynchronize(c->stream));
    CHECK_CUDA(cudaDeviceSynchronize());
    for (int i = 0; i < all_buffers(c); i++) {
        struct buffer *b = &c->buffers[i];
        CHECK_CUDA(cudaMemcpy(
            b->after, b->device, b->bytes + 2 * RED_ZONE, cudaMemcpyDeviceToHost));
    }
    return status;
}

/* --- checking ----------------------------------------------------------------------- */

static double value_at(const struct buffer *b, size_t i)
{
    const char *p = b->after + RED_ZONE + i * st_dtype_size(b->dtype);
    float f;
    uint16_t h;
    int32_t n;
    switch (b->dtype) {
    case ST_F32:
        memcpy(&f, p, 4);
        return f;
    case ST_I32:
        memcpy(&n, p, 4);
        return n;
    case ST_BF16: {
        memcpy(&h, p, 2);
        uint32_t bits = (uint32_t)h << 16;
        memcpy(&f, &bits, 4);
        return f;
    }
    default:
        break;
    }
    memcpy(&h, p, 2); /* f16 */
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double v = exponent == 31  ? (mantissa ? NAN : INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(mantissa + 1024, exponent - 25);
    return h & 0x8000 ? -v : v;
}

static int wrong_values(const struct call *c, const char *name)
{
    int wrong = 0;
    for (int i = 0; i < c->arg_count; i++) {
        const struct argument *a = &c->args[i];
        const st_tensor *want = st_find(c->want, a->name);
        if (!want) continue;
        char tolerance_name[80];
        snprintf(tolerance_name, sizeof tolerance_name, "%s.tol", a->name);
        const double *y = want->data;
        const float *tolerance = st_find(c->want, tolerance_name)->data;
        for (size_t j = 0; j < a->elements; j++) {
            size_t at = a->offset + j / a->row * a->stride + j % a->row;
            double got = value_at(&c->buffers[a->buffer], at);
            if (fabs(got - y[j]) <= tolerance[j]) continue;
            if (wrong++ == 0)
                printf(
                    "# %s: %s[%zu] is %.9g, expected %.9g +- %.2g\n", name, a->name, j,
                    got, y[j], tolerance[j]);
        }
    }
    return wrong;
}

static int changed_bytes(const struct call *c, const char *name)
{
    int bytes = 0;
    for (int i = 0; i < all_buffers(c); i++) {
        const struct buffer *b = &c->buffers[i];
        for (size_t j = 0; j < b->bytes + 2 * RED_ZONE; j++)
            if (!b->covered[j] && b->after[j] != b->before[j] && bytes++ == 0)
                printf(
                    "# %s: byte %td of %s has changed\n", name, (ptrdiff_t)j - RED_ZONE,
                    b->name[0] ? b->name : "the workspace");
    }
    return bytes;
}

static int differs(const struct call *c)
{
    for (int i = 0; i < c->buffer_count; i++)
        if (memcmp(
                c->buffers[i].first, c->buffers[i].after,
                c->buffers[i].bytes + 2 * RED_ZONE))
            return 1;
    return 0;
}

static void test_case(const char *dir, const char *name)
{
    static const char *const how[] = {"", "second run: ", "replayed: "};
    struct call c;
    memset(&c, 0, sizeof c);
    open_case(&c, dir, name);
    int ok = 1;
    for (int which = FIRST; which < RUNS && ok; which++) {
        wb_status status = run(&c, which);
        if (status != WB_OK)
            printf("# %s: %s%s\n", name, how[which], wb_status_name(status));
        ok = status == WB_OK && changed_bytes(&c, name) == 0;
        if (ok && which == FIRST) {
            ok = wrong_values(&c, name) == 0;
            for (int i = 0; i < c.buffer_count; i++)
                memcpy(
                    c.buffers[i].first, c.buffers[i].after,
                    c.buffers[i].bytes + 2 * RED_ZONE);
        } else if (ok && differs(&c)) {
            printf("# %s: %sthe bits differ\n", name, how[which]);
            ok = 0;
        }
    }
    tap(ok, "%s", name);
    close_case(&c);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(
            stderr,
            "usage: ops DIR [PATTERN] (DIR is written by tests/ops/make_data.py)\n");
        return 2;
    }
    char path[4096], name[256];
    snprintf(path, sizeof path, "%s/names", argv[1]);
    FILE *names = fopen(path, "r");
    if (!names) {
        fprintf(stderr, "cannot open %s: run tests/ops/make_data.py %s\n", path, argv[1]);
        return 2;
    }
    while (fscanf(names, "%255s", name) == 1)
        if (argc < 3 || strstr(name, argv[2])) test_case(argv[1], name);
    fclose(names);
    test_refusals();
    free_state();
    return tap_done();
}
