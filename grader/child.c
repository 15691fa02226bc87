/* child.c - the lab executable as a child process: starts it, opens a case, asks for the
 * calls, closes the case. talk.c has the conversation. */
#include "child.h"

#include "talk.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct child *child_new(
    const char *program, bool device, struct child_limits limits, struct under *under)
{
    struct child *c = xalloc(sizeof *c);
    c->process.program = text_of("%s", program);
    c->process.device = device;
    c->process.memory = limits.memory;
    c->process.maps = limits.checked;
    c->process.under = under;
    c->limits = limits;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return c;
}

static bool start(struct child *c, struct run *run)
{
    struct talk t = {.child = c, .run = run, .want = MSG_HELLO};
    c->used = false;
    process_start(&c->process);
    talk_begin(&t, MSG_HELLO, 0);
    bool started = converse(&t);
    bool grade_over = c->limits.deadline > 0 && now() > c->limits.deadline;
    if (run->ending == TIMED_OUT && !grade_over)
        snprintf(
            run->text, sizeof run->text,
            "does not start: does code run before main (a static constructor)?");
    else if (run->ending != RAN && !grade_over && c->process.under)
        under_failed(c->process.under, run->text);
    c->cpu_before = started ? process_cpu(&c->process) : 0;
    return started;
}

static struct wire_case make_case(const struct graded_case *g, const struct case_data *d)
{
    struct wire_case w = {
        .dtype = (int32_t)d->dtype,
        .workspace_less = g->workspace_less,
        .dry = d->dry,
        .larger = g->larger};
    const char *key;
    json_t *value;
    memcpy(w.function, d->function, sizeof w.function);
    for (int b = 0; b < d->buffers; b++) {
        struct wire_buffer *to = &w.buffer[w.buffers++];
        memcpy(to->name, d->buffer[b].name, sizeof to->name);
        to->bytes = d->buffer[b].bytes;
        to->filled = d->buffer[b].filled;
        to->element = (uint32_t)element_bytes(d->buffer[b].element);
    }
    for (int i = 0; i < d->views; i++) {
        struct wire_arg *to = &w.arg[w.args++];
        memcpy(to->name, d->view[i].name, sizeof to->name);
        to->buffer = d->view[i].buffer;
        to->offset = d->view[i].offset * element_bytes(d->view[i].element);
        if (!d->dry || d->view[i].role != ROLE_OUT || !d->view[i].elements) continue;
        to->element = (uint32_t)element_bytes(d->view[i].element);
        to->last = view_index(&d->view[i], d->view[i].elements - 1) * to->element;
    }
    json_object_foreach(d->scalars, key, value) {
        struct wire_scalar *to = &w.scalar[w.scalars++];
        snprintf(to->name, sizeof to->name, "%s", key);
        to->value = json_is_null(value) ? NAN : json_number_value(value);  // see dump.py
    }
    return w;
}

bool child_open(
    struct child *c, const struct graded_case *g, const struct case_data *d,
    struct run *run)
{
    struct wire_case w = make_case(g, d);
    if (c->process.sms != g->sms || c->process.arch != g->arch)
        child_stop(c); /* code may cache them */
    c->process.sms = g->sms;
    c->process.arch = g->arch;
    for (;;) {
        struct talk t = {.child = c, .run = run, .d = d, .want = MSG_READY};
        bool fresh = !c->process.pid;
        if (fresh && !start(c, run)) return false;
        c->cpu_before = process_cpu(&c->process);
        talk_begin(&t, MSG_CASE, sizeof w);
        talk_add(&t, &w, sizeof w);
        if (converse(&t)) return true;
        if (run->ending != BROKE || fresh) return false;
        run->ending = RAN; /* perhaps the code of an earlier case was the reason */
    }
}

bool child_call(
    struct child *c, const struct case_data *d, struct wire_call call,
    const unsigned char *const bytes[], struct run *run)
{
    struct talk t = {
        .child = c, .run = run, .d = d, .want = MSG_RESULT, .which = call.which};
    size_t n = sizeof call;
    for (int b = 0; b < d->buffers; b++)
        if (d->buffer[b].filled) n += d->buffer[b].bytes;
    run->call = call.which;
    talk_begin(&t, MSG_CALL, n);
    talk_add(&t, &call, sizeof call);
    for (int b = 0; b < d->buffers; b++)
        if (d->buffer[b].filled) talk_add(&t, bytes[b], d->buffer[b].bytes);
    if (!converse(&t)) return false;
    if (run->result[call.which].head.cuda_error && !c->limits.checked)
        child_stop(c); /* after a CUDA error nothing works in that process */
    return true;
}

bool child_report(struct child *c, const struct case_data *d, struct run *run)
{
    struct talk t = {.child = c, .run = run, .d = d, .want = MSG_REPORT};
    talk_begin(&t, MSG_REPORT, 0);
    return converse(&t);
}

bool child_close(struct child *c, const struct case_data *d, struct run *run)
{
    struct talk t = {.child = c, .run = run, .d = d, .want = MSG_DONE};
    if (!c->process.pid) return true;
    talk_begin(&t, MSG_END, 0);
    if (!converse(&t)) return false;
    run->cpu_seconds = child_cpu(c, run);
    return true;
}

double child_cpu(const struct child *c, const struct run *run)
{
    return run->cpu_seconds + process_cpu(&c->process) - c->cpu_before;
}

void child_stop(struct child *c)
{
    process_end(&c->process);
}

void child_free(struct child *c)
{
    process_end(&c->process);
    free(c->process.program);
    free(c);
}

void run_free(struct run *run)
{
    for (uint32_t i = 0; i < CALLS; i++)
        if (!run->result[i].shared) free(run->result[i].bytes);
    free(run->output);
    free(run->report);
}
