/* pool.cpp - the workers: one CPU thread per core, which run the blocks of a launch.
 *
 * The launching thread is worker 0; the others sleep until there is work. A worker takes
 * a chunk of consecutive blocks at a time. As on a GPU, blocks start in order, but
 * nothing is guaranteed about which blocks run at the same time.
 */
#include "check/host_hooks.h"
#include "dry.h"
#include "include/wbcpu.h"
#include "scheduler.h"
#include "stream.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string>
#include <thread>
#include <vector>

namespace wbcpu
{
/* Each worker calls task(context, worker) once. */
typedef void (*task)(void *context, worker *w);

struct pool {
    std::vector<worker *> workers; /* [0] belongs to the launching thread */
    std::vector<std::thread> threads;
    std::mutex launching; /* held during a launch: one at a time */
    std::mutex lock;      /* guards the members below */
    std::condition_variable work, done;
    task run = nullptr;
    void *context = nullptr;
    /* Written under the lock; read without it by threads that spin before they sleep. A
     * worker joins each round of work at most once. */
    std::atomic<unsigned long long> round{0};
    std::atomic<int> busy{0};
    bool stop = false;
};

static pool *the_pool;
static std::mutex pool_lock;
static std::atomic<unsigned long long> launch_count; /* written with `launching` held */
static std::atomic<uint64_t> shuffle_seed;
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

static pool *get_pool()
{
    if (the_pool) return the_pool;
    std::lock_guard<std::mutex> hold(pool_lock);
    if (the_pool) return the_pool;
    static bool first = true;
    if (first) {
        if (!shuffle_seed) shuffle_seed = number_from("WB_SHUFFLE", 0);
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

/* Runs the task on all workers, or only on the first, and waits. */
static void run_on_workers(pool *p, bool all, task run, void *context)
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

/* --- blocks ------------------------------------------------------------------------- */

/* In a seeded order the i-th block to run is (stride * i + offset) mod blocks. */
static unsigned long long gcd(unsigned long long a, unsigned long long b)
{
    return b ? gcd(b, a % b) : a;
}
static void seed_order(job *j, uint64_t seed)
{
    j->seed = seed;
    unsigned long long n = j->blocks, x = seed * 0x9E3779B97F4A7C15u;
    j->offset = (x >> 17) % n;
    j->stride = (x >> 29) % n;
    while (gcd(j->stride, n) != 1)
        j->stride++;
}
static unsigned long long shuffled(const job *j, unsigned long long i)
{
    unsigned __int128 place = (unsigned __int128)j->stride * i + j->offset;
    return (unsigned long long)(place % j->blocks);
}

bool next_block(worker *w)
{
    job *j = w->job;
    w->yields = 0;
    check::end_block(w);
    if (j->stopped) return false;
    if (w->async) async_block_ends(w);
    if (w->gang) {
        if (!next_of_gang(w)) return false;
    } else if (++w->block >= w->last_block) {
        if (w->last_block == j->blocks) return false;
        w->block =
            j->alone ? j->first : j->next.fetch_add(j->chunk, std::memory_order_relaxed);
        if (w->block >= j->blocks) return false;
        w->last_block = w->block + j->chunk < j->blocks ? w->block + j->chunk : j->blocks;
    }
    unsigned long long b = j->seed && !w->gang ? shuffled(j, w->block) : w->block;
    blockIdx.x = (unsigned)(b % j->launch.grid.x);
    b /= j->launch.grid.x;
    blockIdx.y = (unsigned)(b % j->launch.grid.y);
    blockIdx.z = (unsigned)(b / j->launch.grid.y);
    threadIdx = uint3{0, 0, 0};
    w->thread = 0;
    w->sequential = true;
    w->whole_block = false;
    if (__builtin_expect(shared_poisoned, 0)) poison_shared(j);
    check::begin_block(w);
    if (check::enabled && w->gang && !begin_together(w)) return false;
    if (__builtin_expect(w->shuffled, 0)) begin_shuffled_block(w);
    return true;
}

void run_blocks_of(job *j, worker *w, unsigned long long from, unsigned long long to)
{
    wbcpu_self = w;
    const cudaError_t of_host = exchange_last_error(cudaSuccess);
    w->job = j;
    w->threads = j->threads;
    w->shuffled = j->seed != 0;
    w->atomics = 0;
    w->block = from - 1;
    w->last_block = to;
    blockDim = j->launch.block;
    gridDim = j->launch.grid;
    if (shared_poisoned) begin_shared(j);
    if (next_block(w)) wbcpu_switch(&w->host_stack, idle_fiber(w), 0);
    if (shared_poisoned && !j->stopped) check_shared(j);
    exchange_last_error(of_host);
    wbcpu_self = nullptr;
}
static void run_blocks(void *context, worker *w)
{
    run_blocks_of(static_cast<job *>(context), w, 0, 0);
}

/* --- launches ----------------------------------------------------------------------- */

static size_t dynamic_limit = 48 * 1024;

size_t dynamic_shared_limit()
{
    return dynamic_limit;
}

extern "C" cudaError_t
cudaFuncSetAttribute(const void *, enum cudaFuncAttribute attr, int value)
{
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > emulated().shared_optin) return fail(cudaErrorInvalidValue);
    if ((size_t)value > dynamic_limit) dynamic_limit = (size_t)value;
    return cudaSuccess;
}

static cudaError_t
refuse_launch(const wbcpu_launch *l, const std::string &what, const char *fix)
{
    if (check::enabled)
        check::launch_failed(*l, what.c_str(), fix);
    else
        note(
            "%s:%d: launch of %s failed: %s; %s", l->file, l->line, l->name, what.c_str(),
            fix);
    return cudaErrorInvalidValue; /* as in toolkit 13 */
}
static std::string shape(const char *name, dim3 d)
{
    char text[80];
    snprintf(text, sizeof text, "%s (%u,%u,%u)", name, d.x, d.y, d.z);
    return text;
}
static std::string bytes_of(const wbcpu_launch *l)
{
    return std::to_string(l->shared_bytes) + " bytes of dynamic shared memory";
}

/* In check mode a cooperative launch needs about 5 KB of memory per thread and 0.7 MB per
 * block. */
constexpr unsigned long long most_blocks = 512, most_threads = 160 * 1024;
static cudaError_t refuse_together(const wbcpu_launch *l)
{
    char what[200], fix[200];
    snprintf(
        what, sizeof what,
        "%s with %u threads per block is too large for a cooperative launch",
        shape("grid", l->grid).c_str(), l->block.x * l->block.y * l->block.z);
    snprintf(
        fix, sizeof fix,
        "check mode runs at most %llu blocks and %llu threads together: use fewer "
        "blocks, each with a loop over its part of the data",
        most_blocks, most_threads);
    refuse_launch(l, what, fix);
    return cudaErrorCooperativeLaunchTooLarge;
}

static cudaError_t check_launch(const wbcpu_launch *l)
{
    const dim3 g = l->grid, b = l->block;
    unsigned long long threads = (unsigned long long)b.x * b.y * b.z;
    unsigned long long blocks = (unsigned long long)g.x * g.y * g.z;
    if (sticky_error()) return sticky_error();
    if (cudaError_t e = stream_error(l->stream)) return e;
    if (threads == 0 || threads > max_threads || b.x > 1024 || b.y > 1024 || b.z > 64)
        return refuse_launch(
            l, shape("block", b) + " has " + std::to_string(threads) + " threads",
            threads > max_threads && blocks - 1 < max_threads
                ? "use 1 to 1024, z at most 64 (are grid and block swapped?)"
                : "use 1 to 1024, z at most 64");
    if (!g.x || !g.y || !g.z || g.x > INT_MAX || g.y > 65535 || g.z > 65535)
        return refuse_launch(
            l, shape("grid", g),
            "use 1 to 2147483647 blocks in x, 1 to 65535 in y and z");
    if (l->cluster > max_cluster || g.x % l->cluster)
        return refuse_launch(
            l, shape("grid", g) + " in clusters of " + std::to_string(l->cluster),
            "use at most 16 blocks, and a multiple of them in x");
    if (l->cooperative && l->cluster > 1 && check::enabled)
        return refuse_launch(
            l, "a cooperative launch in clusters",
            "check mode supports one of the two: launch it without clusters");
    if (l->cooperative && check::enabled &&
        (blocks > most_blocks || threads * blocks > most_threads))
        return refuse_together(l);
    const architecture &a = emulated();
    if (l->shared_bytes > (size_t)a.shared_optin) {
        char fix[80];
        snprintf(
            fix, sizeof fix, "a block can have at most %d on sm_%d", a.shared_optin,
            a.capability);
        return refuse_launch(l, bytes_of(l), fix);
    }
    if (l->shared_bytes > dynamic_limit)
        return refuse_launch(
            l, bytes_of(l) + " exceed the limit of " + std::to_string(dynamic_limit),
            "above 48 KB first call cudaFuncSetAttribute(kernel, "
            "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
    return cudaSuccess;
}

/* Where the launch is valid; otherwise it is the last error. */
static bool accepts(const wbcpu_launch *l)
{
    return fail(check_launch(l)) == cudaSuccess;
}
bool accept_launch(wbcpu_launch *l)
{
    if (wbcpu_self && fail(check_child(l))) return false;
    return accepts(l) && check::accept_launch(l);
}

/* Returns what the kernel has launched. */
static children *run_grid(const wbcpu_launch *l)
{
    pool *p = get_pool();
    std::lock_guard<std::mutex> hold(p->launching);
    job j;
    j.launch = *l;
    j.threads = l->block.x * l->block.y * l->block.z;
    j.blocks = (unsigned long long)l->grid.x * l->grid.y * l->grid.z;
    size_t workers = p->workers.size();
    j.alone = workers == 1 || j.blocks == 1 || is_dry();
    j.first = 0;
    j.chunk = j.blocks;
    if (!j.alone) { /* small chunks, so that all workers finish together */
        j.chunk = j.blocks / (workers * 8);
        j.chunk = j.chunk < 1 ? 1 : j.chunk > 1024 ? 1024 : j.chunk;
    }
    j.id = launch_count.load(std::memory_order_relaxed) + 1;
    launch_count.store(j.id, std::memory_order_relaxed);
    j.next.store(0, std::memory_order_relaxed);
    j.seed = 0;
    j.depth = launch_depth();
    j.helpers = no_helpers();
    if (shuffle_seed && !check::enabled) seed_order(&j, shuffle_seed);
    open_device_memory();
    check::begin_kernel(*l);
    check::begin_launch(j);
    bool ran = true;
    if ((l->cluster > 1 || runs_together(j)) && !is_dry())
        ran = run_gangs(&j, p->workers[0], run_blocks);
    else if (is_dry())
        dry_launch(&j, &p->workers[0], run_blocks);
    else
        run_on_workers(p, !j.alone, run_blocks, &j);
    join_helpers(&j);
    check::end_launch();
    check::end_kernel();
    close_device_memory();
    if (!ran) fail(refuse_together(l));
    if (unsigned most = j.most_threads) {
        fail(refuse_launch(
            l, "blocks of " + std::to_string(j.threads) + " threads",
            ("__launch_bounds__ allows " + std::to_string(most)).c_str()));
    }
    return j.children;
}

void run_launch(const wbcpu_launch *l)
{
    if (accepts(l)) run_children(run_grid(l));
}

extern "C" void wbcpu_refuse_launch(unsigned most)
{
    self()->job->most_threads = most;
}

extern "C" void wbcpu_set_shuffle(uint64_t seed)
{
    check::run_everything();
    get_pool(); /* reads WB_SHUFFLE */
    shuffle_seed = seed;
}
extern "C" unsigned long long wbcpu_launch_count()
{
    check::run_everything();
    return launch_count;
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
