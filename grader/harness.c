/* harness.c - main() of a lab executable: makes the calls that the grader asks for.
 *
 * For each case it allocates the buffers, each between two red zones. For each call it
 * fills them with the bytes that it receives, calls the launcher, and sends everything
 * back as raw bytes. It knows neither the expected values nor which calls follow. The
 * program runs inside the sandbox that grader/process.c sets up.
 */
#include "harness.h"
#include "harness_check.h"
#include "harness_crash.h"
#include "harness_dry.h"
#include "harness_space.h"
#include "harness_wire.h"

#include <cuda_runtime_api.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only the CPU back end has this header. It lets the harness change the order of threads,
 * count launches, and keep host code of a launcher away from device memory. */
#if defined(__has_include) && __has_include(<wbcpu.h>)
#include <wbcpu.h>
#define CPU_BACKEND 1
#else
#define CPU_BACKEND 0
#endif

struct call {
    struct wire_case *wire;
    unsigned char *base[MAX_BUFFERS]; /* device; the buffer starts RED_ZONE bytes later,
                                         at a multiple of 256, unless it is shifted */
    unsigned char *work;              /* device; the workspace, between red zones too */
    size_t work_bytes;                /* what the workspace function says */
    cudaStream_t stream;
    int host_code;     /* some buffers are in host memory: base is too */
    int has_workspace; /* the function takes one, which may be NULL */
};

static struct call current; /* the signal handler needs it too */
static volatile sig_atomic_t in_launcher;
static unsigned char *staging; /* host; a buffer with its red zones, or a result */
static size_t staging_bytes;
static unsigned char *inputs; /* host; what the current CALL brought */
static size_t input_bytes;

static void cuda(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) broken(what, cudaGetErrorString(error));
}

/* --- what an adapter calls ---------------------------------------------------------- */

enum dtype dtype(const struct call *c)
{
    return (enum dtype)c->wire->dtype;
}

void *arg(const struct call *c, const char *name)
{
    for (uint32_t i = 0; i < c->wire->args; i++) {
        const struct wire_arg *a = &c->wire->arg[i];
        if (strcmp(a->name, name)) continue;
        return a->buffer < 0 ? NULL : c->base[a->buffer] + RED_ZONE + a->offset;
    }
    broken("the adapter asks for an argument that the case does not have", name);
}

static double scalar(const struct call *c, const char *name)
{
    for (uint32_t i = 0; i < c->wire->scalars; i++)
        if (!strcmp(c->wire->scalar[i].name, name)) return c->wire->scalar[i].value;
    broken("the adapter asks for a size or scalar that the case does not have", name);
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
    return workspace_bytes(c) ? c->work + RED_ZONE : NULL;
}

size_t workspace_bytes(const struct call *c)
{
    uint32_t less = c->wire->workspace_less;
    return less == WITHHOLD_ALL || less > c->work_bytes ? 0 : c->work_bytes - less;
}

/* --- buffers ------------------------------------------------------------------------ */

static void fill(unsigned char *p, size_t bytes, uint16_t pattern)
{
    memcpy(p, &pattern, bytes < 2 ? bytes : 2); /* little-endian, as the grader's are */
    for (size_t done = 2; done < bytes; done *= 2)
        memcpy(p + done, p, done < bytes - done ? done : bytes - done);
}

/* on: host code cannot touch device memory, and a launcher cannot copy from it. The harness
 * itself copies with the guard off: the back end would otherwise change the protection for
 * every copy. */
static void guard(int on)
{
#if CPU_BACKEND
    wbcpu_guard(!on ? 0 : current.host_code ? 1 : 2);
#else
    (void)on;
#endif
}

static void need_staging(size_t bytes)
{
    if (bytes <= staging_bytes) return;
    free(staging);
    staging = malloc(bytes);
    staging_bytes = bytes;
    if (!staging) broken("not enough host memory for the buffers of the case", NULL);
}

static unsigned char *
alloc_with_red_zones(size_t bytes, const char *name, unsigned element)
{
    void *p;
    size_t whole = bytes + 2 * RED_ZONE + MAX_ELEMENT;
    if (current.wire->dry) return dry_alloc(bytes) - RED_ZONE; /* it has no red zones */
    need_staging(bytes + 2 * RED_ZONE);
    if (in_host_memory(name)) {
        p = aligned_alloc(256, (whole + 255) / 256 * 256);
        if (!p) broken("not enough host memory for the buffers of the case", NULL);
        return p;
    }
    cuda(cudaMalloc(&p, whole), "not enough device memory for the case");
    check_name(p, bytes, name, element);
    return p;
}

/* Writes the initial contents of a buffer: data or a fill pattern, and its red zones. */
static void refill(unsigned char *base, size_t bytes, const void *data, uint16_t filling)
{
    fill(staging, RED_ZONE, FILL_RED_ZONE);
    if (data)
        memcpy(staging + RED_ZONE, data, bytes);
    else
        fill(staging + RED_ZONE, bytes, filling);
    fill(staging + RED_ZONE + bytes, RED_ZONE, FILL_RED_ZONE);
    cuda(
        cudaMemcpy(base, staging, bytes + 2 * RED_ZONE, cudaMemcpyDefault),
        "cannot fill a buffer");
    if (!data) check_unwritten(base + RED_ZONE, bytes);
}

/* A copy from pageable host memory may still be in flight when cudaMemcpy returns, and
 * the stream of the call does not wait for it. So this function does. */
static void refill_all(struct call *c)
{
    const unsigned char *data = inputs;
    guard(0);
    for (uint32_t i = 0; i < c->wire->buffers; i++) {
        const struct wire_buffer *b = &c->wire->buffer[i];
        refill(c->base[i], b->bytes, b->filled ? data : NULL, FILL_POISON);
        if (b->filled) data += b->bytes;
    }
    refill(c->work, c->work_bytes, NULL, FILL_WORKSPACE);
    cuda(cudaDeviceSynchronize(), "cannot fill the buffers");
    guard(1);
}

static void read_back(unsigned char *to, const unsigned char *from, size_t bytes)
{
    cuda(cudaMemcpy(to, from, bytes, cudaMemcpyDefault), "cannot read a buffer back");
}

/* Is what lies at `zone` as refill() has written it? The pattern has two bytes. */
static int zone_kept(const unsigned char *zone)
{
    static const uint16_t pattern = FILL_RED_ZONE;
    return !memcmp(zone, &pattern, 2) && !memcmp(zone, zone + 2, RED_ZONE - 2);
}

/* A buffer between its red zones lies at `at`: leaves them out if they are as they were.
 * Returns where the next one goes. */
static unsigned char *
pack(unsigned char *at, size_t bytes, struct wire_result *r, uint32_t bit)
{
    if (!zone_kept(at) || !zone_kept(at + RED_ZONE + bytes))
        return at + bytes + 2 * RED_ZONE;
    memmove(at, at + RED_ZONE, bytes);
    r->kept |= 1u << bit;
    return at + bytes;
}

static size_t result_bytes(const struct call *c)
{
    size_t n = sizeof(struct wire_header) + sizeof(struct wire_result) + 2 * RED_ZONE;
    for (uint32_t i = 0; i < c->wire->buffers; i++)
        n += c->wire->buffer[i].bytes + 2 * RED_ZONE;
    return n;
}

/* One write: each would wake the grader. */
static void send_result(struct call *c, struct wire_result *r)
{
    struct wire_header header;
    uint32_t n = c->wire->buffers;
    int head_alone = r->cuda_error || c->wire->dry; /* no reading after an error */
    need_staging(head_alone ? sizeof header + sizeof *r : result_bytes(c));
    unsigned char *payload = staging + sizeof header, *at = payload + sizeof *r;
    if (!head_alone) {
        guard(0);
        for (uint32_t i = 0; i < n; i++) {
            read_back(at, c->base[i], c->wire->buffer[i].bytes + 2 * RED_ZONE);
            at = pack(at, c->wire->buffer[i].bytes, r, i);
        }
        read_back(at, c->work, RED_ZONE);
        read_back(at + RED_ZONE, c->work + RED_ZONE + c->work_bytes, RED_ZONE);
        at = pack(at, 0, r, n);
    }
    header = make_header(MSG_RESULT, (size_t)(at - payload));
    memcpy(staging, &header, sizeof header);
    memcpy(payload, r, sizeof *r);
    write_all(staging, (size_t)(at - staging));
}

/* --- calls -------------------------------------------------------------------------- */

/* Kernels, and copies within device memory, which are work on the device as well */
static uint64_t launches(void)
{
#if CPU_BACKEND
    return wbcpu_launch_count() + wbcpu_copy_count();
#else
    return 0;
#endif
}

static void set_error(struct wire_result *r, cudaError_t error)
{
    const char *name = cudaGetErrorName(error);
    r->cuda_error = (int32_t)error;
    if (CPU_BACKEND && !strncmp(name, "unrecognized", 12))
        snprintf(
            r->cuda_message, sizeof r->cuda_message,
            "memory of the CPU back end is overwritten: an index far outside of a shared "
            "or local array?");
    else if (error != cudaSuccess)
        snprintf(
            r->cuda_message, sizeof r->cuda_message, "%s: %s", name,
            cudaGetErrorString(error));
}

/* Waits for all work, on whatever stream it was enqueued. */
static cudaError_t wait_for_all(void)
{
    in_launcher = 2;
    cudaError_t error = cudaDeviceSynchronize();
    in_launcher = 0;
    return error == cudaSuccess ? cudaGetLastError() : error;
}

static void plain_call(struct call *c, const struct adapter *a, struct wire_result *r)
{
    refill_all(c);
    cudaGetLastError(); /* clears errors of earlier calls */
    check_written_earlier(c, c->wire);
    uint64_t before = launches();
    in_launcher = 1;
    r->status = (int32_t)a->run(c);
    if (c->host_code)
        cudaGetLastError(); /* it has told in its status that a launch failed */
    set_error(r, wait_for_all());
    r->launches = CPU_BACKEND ? launches() - before : UINT64_MAX;
}

/* Captures the call in a CUDA graph, refills the buffers, and replays the graph. Work on
 * another stream is not in the graph, so its results are lost. A launcher that does more
 * than enqueue work cannot be captured. */
static void captured_call(struct call *c, const struct adapter *a, struct wire_result *r)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    size_t nodes = 0;
    refill_all(c);
    cudaGetLastError();
    cuda(
        cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal),
        "cannot begin to capture a graph");
    in_launcher = 1;
    r->status = (int32_t)a->run(c);
    in_launcher = 0;
    cudaError_t error = cudaStreamEndCapture(c->stream, &graph);
    if (error == cudaSuccess) error = wait_for_all();
    if (error == cudaSuccess) error = cudaGraphGetNodes(graph, NULL, &nodes);
    if (error == cudaSuccess) error = cudaGraphInstantiate(&exec, graph, 0);
    if (error == cudaSuccess) {
        refill_all(c);
        error = cudaGraphLaunch(exec, c->stream);
    }
    if (error == cudaSuccess) error = wait_for_all();
    if (exec) cudaGraphExecDestroy(exec);
    if (graph) cudaGraphDestroy(graph);
    set_error(r, error);
    r->captured = (uint32_t)nodes;
    r->launches = UINT64_MAX;
}

/* If some blocks of each kernel leave the end of an output unwritten, all of them run:
 * only what none of them writes is unwritten. If that takes too long, the blocks that ran
 * may show that they are too few. */
static void dry_call(struct call *c, const struct adapter *a, struct wire_result *r)
{
    unsigned char *start[MAX_BUFFERS];
    uint64_t before = launches();
    if (!dry_possible()) {
        r->unwritten = DRY_SKIPPED;
        return;
    }
    for (uint32_t i = 0; i < c->wire->buffers; i++)
        start[i] = c->base[i] + RED_ZONE;
    dry_fill(c->wire, start, inputs);
    dry_mark(c->wire, start);
    cudaGetLastError();
    for (int search = 0; search < 2; search++) {
        in_launcher = 1;
        r->status = (int32_t)a->run(c);
        set_error(r, wait_for_all());
        r->unwritten = r->status || r->cuda_error ? 0 : dry_unwritten();
        if (!r->unwritten || search || dry_complete() < 0 || !dry_search()) break;
    }
    if (r->unwritten && dry_complete() <= 0) {
        const struct wire_arg *arg = &c->wire->arg[r->unwritten - 1];
        if (!dry_short(c->wire->buffer[arg->buffer].bytes)) r->unwritten = 0;
    }
    r->launches = CPU_BACKEND ? launches() - before : UINT64_MAX;
}

static void one_call(struct call *c, const struct adapter *a, const struct wire_call *w)
{
    struct wire_result r = {.which = w->which};
    uint32_t b = w->which >= CALL_SHIFTED ? shifted_buffer(w->which) : MAX_BUFFERS;
    int shifted = b < c->wire->buffers;
    uint32_t bytes = shifted ? shifted_bytes(w->which, c->wire->buffer[b].element) : 0;
#if CPU_BACKEND
    wbcpu_set_shuffle(w->order);
#endif
    if (shifted) c->base[b] += bytes;
    if (c->wire->dry)
        dry_call(c, a, &r);
    else if (w->which == CALL_CAPTURED)
        captured_call(c, a, &r);
    else
        plain_call(c, a, &r);
    fflush(NULL); /* output of the kernels belongs to this case */
    send_result(c, &r);
    if (shifted) c->base[b] -= bytes;
}

/* --- one case ----------------------------------------------------------------------- */

static const struct adapter *find_adapter(const char *function)
{
    const struct adapter *a = adapters;
    while (a->function && strcmp(a->function, function))
        a++;
    if (!a->function) broken("there is no adapter for the function", function);
    return a;
}

static void open_case(struct call *c, const struct adapter *a)
{
    static const size_t MOST = (size_t)1 << 40; /* more than any device has */
    input_bytes = 0;
    c->host_code = 0;
    c->has_workspace = a->workspace != NULL;
    if (c->wire->dry) dry_begin();
    for (uint32_t i = 0; i < c->wire->buffers; i++) {
        const struct wire_buffer *b = &c->wire->buffer[i];
        c->host_code |= in_host_memory(b->name);
        c->base[i] = alloc_with_red_zones(b->bytes, b->name, b->element);
        if (b->filled) input_bytes += b->bytes;
    }
    inputs = malloc(input_bytes + 1);
    if (!inputs) broken("not enough host memory for the data of the case", NULL);
    send_header(MSG_BEGIN, 0);
    guard(1);
    in_launcher = 1;
    struct wire_ready ready = {.workspace = a->workspace ? a->workspace(c) : 0};
    if (a->workspace && c->wire->larger)
        space_falls(ready.falls, sizeof ready.falls, c, a, c->wire);
    in_launcher = 0;
    if (ready.workspace > MOST)
        broken("the workspace function asks for more than any device has", NULL);
    c->work_bytes = ready.workspace;
    c->work = alloc_with_red_zones(c->work_bytes, "workspace", 0);
    send_header(MSG_READY, sizeof ready);
    write_all(&ready, sizeof ready);
}

static void close_case(struct call *c)
{
    size_t before = c->wire->dry ? RED_ZONE : 0;
    for (uint32_t i = 0; i < c->wire->buffers; i++)
        in_host_memory(c->wire->buffer[i].name) ? free(c->base[i])
                                                : (void)cudaFree(c->base[i] + before);
    cudaFree(c->work + before);
    check_leave_freed();
    dry_end();
    free(inputs);
    inputs = NULL;
    c->wire = NULL;
}

/* Empty unless the program was built in check mode. */
static void send_check_report(void)
{
    char *text = check_report();
    size_t bytes = text ? strlen(text) : 0;
    send_header(MSG_REPORT, bytes);
    write_all(text, bytes);
    free(text);
}

static void serve(struct wire_case *wire)
{
    struct wire_header header;
    struct wire_call call;
    const struct adapter *a = find_adapter(wire->function);
    current.wire = wire;
    open_case(&current, a);
    for (;;) {
        if (!next_message(&header)) exit(0);
        if (header.kind == MSG_END) break;
        if (header.kind == MSG_REPORT) {
            send_check_report();
            continue;
        }
        take(&call, sizeof call, &(struct wire_header){.bytes = sizeof call});
        header.bytes -= sizeof call;
        take(inputs, input_bytes, &header);
        one_call(&current, a, &call);
    }
    close_case(&current);
    send_header(MSG_DONE, 0);
}

/* --- crashes ------------------------------------------------------------------------ */

static void send_crash(struct wire_crash *crash)
{
    crash->in_launcher = in_launcher;
    crash->no_workspace = current.has_workspace && !current.work_bytes;
    for (uint32_t i = 0; current.wire && i < current.wire->buffers; i++) {
        int64_t offset =
            (int64_t)(crash->address - (uintptr_t)current.base[i]) - RED_ZONE;
        int64_t bytes = (int64_t)current.wire->buffer[i].bytes;
        int64_t near = current.wire->dry ? DRY_REACH : RED_ZONE;
        if (offset < -near || offset >= bytes + near) continue;
        crash->buffer = (int32_t)i;
        crash->offset = offset;
        crash->in_device = 1;
    }
    send_header(MSG_CRASH, sizeof *crash);
    write_all(crash, sizeof *crash);
}

int main(void)
{
    struct wire_header header;
    catch_crashes(send_crash);
#if CPU_BACKEND
    wbcpu_poison_shared(FILL_SHARED, FILL_RED_ZONE);
#endif
    setvbuf(stdout, NULL, _IOLBF, 0); /* so that a crash loses no output */
    if (!next_message(&header) || header.kind != MSG_HELLO) {
        fprintf(stderr, "run ./grade: it starts this program and sends it the cases\n");
        return 2;
    }
    cuda(
        cudaStreamCreateWithFlags(&current.stream, cudaStreamNonBlocking),
        "the device does not respond");
    send_header(MSG_HELLO, 0);
    while (next_message(&header)) {
        struct wire_case wire;
        take(&wire, sizeof wire, &header);
        serve(&wire);
    }
    return 0;
}
