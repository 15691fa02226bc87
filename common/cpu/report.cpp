/* report.cpp - what the back end says on stderr: notes, deadlocks, crashes in a kernel. */
#include "scheduler.h"
#include "include/wbcpu.h"

#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

namespace wbcpu
{
void note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

void fatal(const char *format, ...)
{
    fflush(stdout);
    fputs("error: ", stderr);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

extern "C" int wbcpu_where(char *text, size_t size)
{
    worker *w = self();
    if (size) *text = 0;
    if (!w || !w->job) return 0;
    const wbcpu_launch &l = w->job->launch;
    return snprintf(
        text, size, "kernel %s (%s:%d), block (%u,%u,%u), thread (%u,%u,%u)", l.name, l.file,
        l.line, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
}

/* ---- no thread of the block can go on ---- */

static const char *op_name(int op)
{
    switch (op) {
    case WBCPU_OP_SYNC: return "__syncwarp";
    case WBCPU_OP_SHFL: return "__shfl_sync";
    case WBCPU_OP_BALLOT: return "__ballot_sync";
    case WBCPU_OP_ANY: return "__any_sync";
    case WBCPU_OP_ALL: return "__all_sync";
    case WBCPU_OP_MATCH_ANY:
    case WBCPU_OP_MATCH_ALL: return "__match_sync";
    case WBCPU_OP_CALL: return "a warp reduction or wmma operation";
    default: return "__reduce_sync";
    }
}

/* Where thread t waits: the same text for threads that wait for the same thing. */
static void describe(const worker *w, int t, char *text, size_t size)
{
    const warp *q = &w->warp_table[t / 32];
    int lane = t % 32;
    if (!(q->alive >> lane & 1))
        snprintf(text, size, "have left the kernel");
    else if (q->arrived >> lane & 1)
        snprintf(text, size, "wait at %s with mask 0x%08x", op_name(q->op[lane]), q->mask[lane]);
    else
        snprintf(text, size, "wait at __syncthreads");
}

void report_deadlock(worker *w)
{
    const wbcpu_launch &l = w->job->launch;
    fflush(stdout);
    note("%s:%d: error: deadlock in kernel %s, block (%u,%u,%u): no thread can go on", l.file,
         l.line, l.name, blockIdx.x, blockIdx.y, blockIdx.z);
    char what[80], next[80];
    for (int first = 0, t = 0; t < (int)w->threads; first = t) {
        describe(w, first, what, sizeof what);
        do
            describe(w, ++t, next, sizeof next);
        while (t < (int)w->threads && strcmp(what, next) == 0);
        note("    threads %d to %d %s", first, t - 1, what);
    }
    abort();
}

/* ---- a crash inside a kernel ---- */

void use_signal_stack()
{
    stack_t now;
    if (sigaltstack(nullptr, &now) != 0 || !(now.ss_flags & SS_DISABLE)) return;
    size_t size = 64 * 1024;
    void *m = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return;
    stack_t s = {};
    s.ss_sp = m;
    s.ss_size = size;
    sigaltstack(&s, nullptr);
}

static void on_crash(int signal)
{
    char where[512], text[600];
    if (wbcpu_where(where, sizeof where)) {
        int n = snprintf(
            text, sizeof text, "error: %s in %s\n",
            signal == SIGFPE ? "integer division by zero" : "illegal memory access", where);
        if (write(STDERR_FILENO, text, (size_t)n) < 0) { /* nothing left to try */
        }
    }
    ::signal(signal, SIG_DFL); /* the instruction is repeated and ends the program */
}

void install_crash_handler()
{
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE}) {
        struct sigaction old;
        if (sigaction(signal, nullptr, &old) != 0 || old.sa_handler != SIG_DFL) continue;
        struct sigaction a = {};
        a.sa_handler = on_crash;
        a.sa_flags = SA_ONSTACK | SA_NODEFER;
        sigaction(signal, &a, nullptr);
    }
}
}  // namespace wbcpu
