/* watchdog.cpp - a block that runs for very long: an endless loop, or one that waits for
 * something that never happens.
 *
 * A timer of CPU time sets a flag; the block's next access to memory that is not a local
 * variable sees it and knows its line. If a whole tick passes without one, the loop has
 * none, and the interrupted instruction is in it. Where no timer is allowed (the grader's
 * sandbox, which has its own limits), the clock is read now and then. */
#include "watchdog.h"
#include "check.h"

#include <algorithm>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

namespace wbcpu::check
{
volatile bool block_expired;
static pthread_t watched;
static uint32_t block_seen;
static int ticks, allowed = 20; /* seconds of CPU time */

static const void *interrupted(void *context)
{
#if defined(__x86_64__)
    return (const void *)(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] + 1);
#else
    return (const void *)(((ucontext_t *)context)->uc_mcontext.pc + 1);
#endif
}

/* A cooperative launch gets the time of all its blocks together, up to eight. */
static int allowed_now(const worker *w)
{
    constexpr unsigned long long most = 8;
    if (!w->job->launch.cooperative) return allowed;
    return allowed * (int)std::min(w->job->blocks, most);
}

static void on_tick(int, siginfo_t *, void *context)
{
    worker *w = self();
    if (w && !pthread_equal(watched, pthread_self())) { /* of a cluster's threads */
        pthread_kill(watched, SIGVTALRM);
        return;
    }
    if (!w || blocks_begun != block_seen) {
        block_seen = blocks_begun;
        ticks = 0;
        block_expired = false;
        return;
    }
    if (++ticks < allowed_now(w)) return;
    if (block_expired) report_endless(w, interrupted(context)); /* no access since */
    block_expired = true;
}

void watch_this_thread()
{
    watched = pthread_self();
}
void start_watchdog()
{
    allowed = (int)number_from("WB_CHECK_SECONDS", (unsigned long long)allowed);
    struct sigaction a = {};
    a.sa_sigaction = on_tick;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_NODEFER;
    itimerval each = {{1, 0}, {1, 0}};
    if (sigaction(SIGVTALRM, &a, nullptr) == 0) setitimer(ITIMER_VIRTUAL, &each, nullptr);
}

void report_endless(worker *w, const void *pc)
{
    block_expired = false;
    ticks = 0;
    if (finding *f = find("infinite-loop", place_of(pc))) {
        f->message = format(
            "is still here after %d s of CPU time in one %s: does the loop end?",
            allowed_now(w), w->job->launch.cooperative ? "cooperative launch" : "block");
        f->detail = waiting_threads(w);
        f->fix =
            "look at the condition of the loop; if it waits for another thread, that "
            "thread must be able to run";
        if (!w->job->launch.cooperative)
            f->fix += ": blocks start in order, and a later one may not have started yet";
        publish(f);
    }
    abandon(w, cudaErrorLaunchTimeout);
}
}  // namespace wbcpu::check
