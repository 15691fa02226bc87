/* harness.c - main() of a lab executable: makes the calls that the grader asks for.
 *
 * For each case it allocates the buffers (harness_buffers.c). For each call it receives the
 * bytes of the inputs, calls the launcher (harness_calls.c), and sends everything back as
 * raw bytes. It knows neither the expected values nor which calls follow. The program runs
 * inside the sandbox that grader/process.c sets up.
 *
 * An adapter (grader/adapters) passes a case's arguments to the launcher that it is for. A
 * dry case records the launches of a large case without running them (harness_dry.c).
 */
#include "harness_backend.h"
#include "harness_buffers.h"
#include "harness_calls.h"
#include "harness_check.h"
#include "harness_crash.h"
#include "harness_dry.h"
#include "harness_space.h"
#include "harness_wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct call current; /* the signal handler needs it too */

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
    c->has_workspace = a->workspace != NULL;
    if (c->wire->dry) dry_begin();
    alloc_buffers(c);
    send_header(MSG_BEGIN, 0);
    guard(c, 1);
    c->in_launcher = 1;
    struct wire_ready ready = {.workspace = a->workspace ? a->workspace(c) : 0};
    if (a->workspace && c->wire->larger)
        space_falls(ready.falls, sizeof ready.falls, c, a, c->wire);
    c->in_launcher = 0;
    alloc_workspace(c, ready.workspace);
    send_header(MSG_READY, sizeof ready);
    write_all(&ready, sizeof ready);
}

static void close_case(struct call *c)
{
    free_buffers(c);
    check_leave_freed();
    dry_end();
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
        take(current.inputs, current.input_bytes, &header);
        make_call(&current, a, &call);
    }
    close_case(&current);
    send_header(MSG_DONE, 0);
}

/* --- crashes ------------------------------------------------------------------------ */

static void send_crash(struct wire_crash *crash)
{
    crash->in_launcher = current.in_launcher;
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
