/* report.cpp - messages on stderr, or to a harness: notes, deadlocks, crashes in a kernel. */
#include "check/host_hooks.h"
#include "include/wbcpu.h"
#include "scheduler.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wbcpu
{
static void say(const char *prefix, const char *format, va_list args)
{
    fflush(stdout);
    fputs(prefix, stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
}
void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", format, args);
    va_end(args);
}

static void (*on_error)(const char *text, const void *address);

extern "C" void wbcpu_on_error(void (*function)(const char *text, const void *address))
{
    on_error = function;
}
[[noreturn]] static void end_program(const char *text, const void *address)
{
    if (on_error)
        on_error(text, address);
    else
        note("error: %s", text);
    abort();
}
void stop(const void *address, const char *format, ...)
{
    char text[500];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    end_program(text, address);
}
void refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("error: ", format, args);
    exit(1);
}

extern "C" int wbcpu_where(char *text, size_t size)
{
    worker *w = self();
    if (size) *text = 0;
    if (!w || !w->job) return 0;
    const wbcpu_launch &l = w->job->launch;
    uint3 t = threadIdx;
    char others[80] = "";
    if (w->whole_block) { /* w->thread is the first of a step (blocks.h) */
        t = index_of(w->thread, blockDim);
        snprintf(
            others, sizeof others, " to (%u,%u,%u); WB_SHUFFLE=1 finds which",
            t.x + block_step - 1, t.y, t.z);
    }
    return snprintf(
        text, size, "kernel %s (%s:%d), block (%u,%u,%u), thread%s (%u,%u,%u)%s", l.name,
        l.file, l.line, blockIdx.x, blockIdx.y, blockIdx.z, *others ? "s" : "", t.x, t.y,
        t.z, others);
}

/* --- deadlock ----------------------------------------------------------------------- */

const char *op_name(int op)
{
    switch (op) {
    case WBCPU_OP_SYNC:
        return "__syncwarp";
    case WBCPU_OP_SHFL:
        return "__shfl_sync";
    case WBCPU_OP_BALLOT:
        return "__ballot_sync";
    case WBCPU_OP_ANY:
        return "__any_sync";
    case WBCPU_OP_ALL:
        return "__all_sync";
    case WBCPU_OP_MATCH_ANY:
    case WBCPU_OP_MATCH_ALL:
        return "__match_sync";
    case WBCPU_OP_CALL:
        return "a warp reduction or wmma operation";
    default:
        return op >= WBCPU_OP_LOOP ? op_name(WBCPU_OP_CALL) : "__reduce_sync";
    }
}

extern "C" [[noreturn]] void wbcpu_stop_missing(unsigned mask, unsigned missing)
{
    char where[300];
    wbcpu_where(where, sizeof where);
    stop(
        nullptr,
        "deadlock in %s: a warp operation with mask 0x%08x waits for lanes 0x%08x, which an "
        "`if` leaves out",
        where, mask, missing);
}

/* What thread t waits for. Threads that wait for the same thing get equal texts. */
static void describe(const worker *w, int t, char *text, size_t size)
{
    const warp *q = &w->warp_table[t / 32];
    int lane = t % 32;
    if (!(q->alive >> lane & 1))
        snprintf(text, size, "have exited the kernel");
    else if (q->arrived >> lane & 1)
        snprintf(
            text, size, "wait at %s with mask 0x%08x", op_name(q->op[lane]),
            q->mask[lane]);
    else if (q->parked >> lane & 1)
        describe_condition(w, t, text + snprintf(text, size, "wait at "), size - 8);
    else
        snprintf(text, size, "wait at __syncthreads");
}

void report_deadlock(worker *w)
{
    check::deadlocked(w);
    const wbcpu_launch &l = w->job->launch;
    char text[500], what[120], next[120];
    int n = snprintf(
        text, sizeof text, "deadlock in kernel %s (%s:%d), block (%u,%u,%u)", l.name,
        l.file, l.line, blockIdx.x, blockIdx.y, blockIdx.z);
    note(
        "%s:%d: error: deadlock in kernel %s, block (%u,%u,%u): no thread can continue",
        l.file, l.line, l.name, blockIdx.x, blockIdx.y, blockIdx.z);
    for (int first = 0, t = 0; t < (int)w->threads; first = t) {
        describe(w, first, what, sizeof what);
        do
            describe(w, ++t, next, sizeof next);
        while (t < (int)w->threads && strcmp(what, next) == 0);
        note("    threads %d to %d %s", first, t - 1, what);
        if (n < (int)sizeof text / 2) /* the first ones are enough */
            n += snprintf(
                text + n, sizeof text - (size_t)n, "%s threads %d to %d %s",
                first ? "," : ":", first, t - 1, what);
    }
    if (on_error) on_error(text, nullptr);
    abort();
}

/* --- a crash inside a kernel -------------------------------------------------------- */

void use_signal_stack()
{
    stack_t now;
    if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
    size_t size = 64 * 1024;
    void *m =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return;
    stack_t s = {};
    s.ss_sp = m;
    s.ss_size = size;
    sigaltstack(&s, nullptr);
}

static const char *kind_of_crash(int signal, const void *address)
{
    const worker *w = self();
    const char *stacks = w->stacks, *p = static_cast<const char *>(address);
    if (signal == SIGFPE) return "integer division by zero";
    if (p >= stacks && p < stacks + w->stack_bytes * (size_t)w->fibers)
        return "stack overflow (use less local memory or set WB_STACK_KB=256)";
    return "illegal memory access";
}

static void on_crash(int signal, siginfo_t *info, void *)
{
    char where[512], text[800];
    if (wbcpu_where(where, sizeof where)) {
        int n = snprintf(
            text, sizeof text, "error: %s in %s\n", kind_of_crash(signal, info->si_addr),
            where);
        if (refused_bytes) /* its pointer may be the one that the kernel got */
            n += snprintf(
                text + n, sizeof text - (size_t)n,
                "    an allocation of %zu bytes failed earlier: out of memory\n",
                refused_bytes);
        if (write(STDERR_FILENO, text, (size_t)n) < 0) { /* nothing else to try */
        }
    } else {
        check::host_crashed(info->si_addr);
    }
    ::signal(signal, SIG_DFL); /* the instruction runs again and ends the program */
}

void install_crash_handler()
{
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE}) {
        struct sigaction old;
        if (sigaction(signal, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) continue;
        struct sigaction a = {};
        a.sa_sigaction = on_crash;
        a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(signal, &a, nullptr);
    }
}
}  // namespace wbcpu
