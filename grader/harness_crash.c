/* harness_crash.c - what a lab executable does when the learner's code crashes. */
#include "harness_crash.h"

#include "harness_backend.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

static void (*send_crash)(struct wire_crash *crash);

/* text: what the back end says, or "" */
static void report(int number, int kind, const void *address, const char *text)
{
    static atomic_flag reporting = ATOMIC_FLAG_INIT;
    while (atomic_flag_test_and_set(&reporting))
        pause();
    struct wire_crash crash = {
        .signal = kind, .buffer = -1, .address = (uint64_t)(uintptr_t)address};
    snprintf(crash.text, sizeof crash.text, "%s", text);
#if CPU_BACKEND
    crash.in_device = wbcpu_in_device_memory(address);
    wbcpu_where(crash.kernel, sizeof crash.kernel);
#endif
    send_crash(&crash);
    signal(number, SIG_DFL); /* as it would have died */
    raise(number);
}

static void crashed(int number, siginfo_t *info, void *context)
{
    /* x86 raises this, without an address, for a misaligned access by an aligned
       instruction */
    int kind = number == SIGSEGV && info->si_code == SI_KERNEL ? SIGBUS : number;
    (void)context;
#if CPU_BACKEND
    if (number == SIGSEGV && wbcpu_dry_fault(info->si_addr)) return;
#endif
    report(number, kind, info->si_addr, "");
}

#if CPU_BACKEND
static void back_end_error(const char *text, const void *address)
{
    fflush(NULL);
    report(SIGABRT, SIGABRT, address, text);
}
#endif

void catch_crashes(void (*send)(struct wire_crash *crash))
{
    static char alternate[64 * 1024]; /* the usual stack may have overflowed */
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof alternate};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_sigaction = crashed};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    send_crash = send;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
#if CPU_BACKEND
    wbcpu_on_error(back_end_error);
#endif
}
