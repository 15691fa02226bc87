/* pool.cpp - the workers' threads, their tasks, and work of the host that they share. */
#include "pool.h"
#include "check/host_hooks.h"
#include "include/wbcpu.h"

#include <chrono>
#include <pthread.h>
#include <sched.h>

namespace wbcpu
{
static pool *the_pool;
static std::mutex pool_lock;
static thread_local bool in_task; /* this CPU thread runs wbcpu_parallel */

unsigned long long number_from(const char *variable, unsigned long long otherwise)
{
    const char *text = getenv(variable);
    if (!text || !*text) return otherwise;
    char *end;
    unsigned long long n = strtoull(text, &end, 0);
    if (*end) refuse("%s=%s: not a number", variable, text);
    return n;
}

int worker_count()
{
    if (check::enabled) return 1; /* so that reports repeat */
    static int count = [] {
        cpu_set_t cores; /* those that this process may use */
        int n = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
        n = (int)number_from("WB_THREADS", (unsigned long long)n);
        if (n < 1 || n > 1024)
            refuse("WB_THREADS=%s: use 1 to 1024 threads", getenv("WB_THREADS"));
        return n;
    }();
    return count;
}

/* Waking a sleeping thread takes tens of microseconds, as long as a small kernel runs. A
 * waiting thread therefore spins first: usually the next launch follows immediately. */
template <class Ready> static void spin_until(Ready ready)
{
    constexpr int SPINS = 64;
    const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds(200);
    do {
        for (int i = 0; i < SPINS; i++) {
            if (ready()) return;
#if defined(__x86_64__)
            __builtin_ia32_pause();
#elif defined(__aarch64__)
            asm volatile("yield");
#endif
        }
    } while (std::chrono::steady_clock::now() < until);
}

static void worker_main(pool *p, worker *w)
{
    use_signal_stack();
    unsigned long long seen = 0;
    for (;;) {
        spin_until([&] { return p->round != seen; });
        std::unique_lock<std::mutex> hold(p->lock);
        p->work.wait(hold, [&] { return p->stop || p->round != seen; });
        if (p->stop) return;
        seen = p->round;
        task run = p->run;
        void *context = p->context;
        if (!run) continue; /* too late: the round is over */
        p->busy++;
        hold.unlock();
        run(context, w);
        hold.lock();
        if (--p->busy == 0) p->done.notify_one();
    }
}

/* Runs at exit, so that leak checkers find nothing, but not if a kernel called exit. */
static void stop_pool()
{
    pool *p = the_pool;
    if (!p || wbcpu_self || in_task || !p->launching.try_lock()) return;
    the_pool = nullptr;
    {
        std::lock_guard<std::mutex> hold(p->lock);
        p->stop = true;
    }
    p->work.notify_all();
    for (std::thread &t : p->threads)
        t.join();
    for (worker *w : p->workers)
        delete_worker(w);
    p->launching.unlock();
    delete p;
}

/* Threads do not survive a fork: the child creates its own at its first launch. */
static void forget_pool()
{
    the_pool = nullptr;
}

pool *get_pool()
{
    if (the_pool) return the_pool;
    std::lock_guard<std::mutex> hold(pool_lock);
    if (the_pool) return the_pool;
    static bool first = true;
    if (first) {
        read_shuffle();
        emulated(); /* an invalid WBCPU_ARCH ends the program here */
        install_crash_handler();
        atexit(stop_pool);
        pthread_atfork(nullptr, nullptr, forget_pool);
        first = false;
    }
    pool *p = new pool;
    for (int i = 0; i < worker_count(); i++)
        p->workers.push_back(new_worker());
    for (int i = 1; i < worker_count(); i++)
        p->threads.emplace_back(worker_main, p, p->workers[(size_t)i]);
    use_signal_stack();
    the_pool = p;
    return p;
}

void run_on_workers(pool *p, bool all, task run, void *context)
{
    if (all) {
        std::lock_guard<std::mutex> hold(p->lock);
        p->run = run;
        p->context = context;
        p->round++;
        p->work.notify_all();
    }
    run(context, p->workers[0]);
    if (all) { /* wait for the workers that joined; late ones find no task */
        std::unique_lock<std::mutex> hold(p->lock);
        p->run = nullptr;
        hold.unlock();
        spin_until([&] { return p->busy == 0; });
        hold.lock();
        p->done.wait(hold, [&] { return p->busy == 0; });
    }
}

/* --- host work ---------------------------------------------------------------------- */

struct host_work {
    void (*function)(void *, int);
    void *context;
    int count;
    std::atomic<int> next{0};
};
static void run_host_work(void *context, worker *)
{
    host_work *p = static_cast<host_work *>(context);
    in_task = true;
    for (int i; (i = p->next.fetch_add(1, std::memory_order_relaxed)) < p->count;)
        p->function(p->context, i);
    in_task = false;
}
extern "C" void wbcpu_parallel(int n, void (*function)(void *, int), void *context)
{
    if (wbcpu_self || in_task) {
        for (int i = 0; i < n; i++)
            function(context, i);
        return;
    }
    pool *p = get_pool();
    std::lock_guard<std::mutex> hold(p->launching);
    open_device_memory();
    host_work all;
    all.function = function;
    all.context = context;
    all.count = n;
    run_on_workers(p, n > 1, run_host_work, &all);
    close_device_memory();
}
}  // namespace wbcpu
