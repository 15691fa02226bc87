/* dry.cpp - dry runs: launches at real sizes, without their memory and time (wbcpu.h).
 *
 * Each buffer has a range of addresses of its own, far from all others: an index that
 * overflows 32 bits ends in inaccessible addresses. Pages that are only read stay the
 * system's page of zeros. A page that is written becomes memory in a signal handler, so
 * that no kernel gets more than a limit.
 *
 * The launching thread runs some blocks of a kernel, each for a limited time. A block
 * that exceeds a limit is given up in a signal handler. The worker's stacks are then
 * useless, so it is replaced. */
#include "dry.h"

#include "include/wbcpu.h"
#include "scheduler.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

namespace wbcpu
{
constexpr size_t reach = (size_t)32 << 30;                /* 2^32 elements of 8 bytes */
constexpr size_t chunk = 64 << 10;                        /* becomes writable at a time */
constexpr int launch_chunks = 4096, all_chunks = 12288;   /* of a launch, of a dry run */
constexpr double block_seconds = 0.03, all_seconds = 0.5; /* CPU time */
constexpr unsigned long long step = 64; /* blocks between two looks at `enough` */

struct range {
    char *mapping, *first, *last, *start; /* first, last: of the accessible pages */
};
constexpr int max_ranges = 64;
static range ranges[max_ranges];
static std::atomic<int> range_count;

static int mode = WBCPU_DRY_OFF;
static int (*enough)(void);
static bool ran_all, stopped; /* since wbcpu_dry: all blocks; stopped: one was given up */
static int chunks, chunks_before;
static double seconds_left; /* of WBCPU_DRY_ALL */
static size_t most_bytes;   /* written, if all blocks are like those that ran */
static bool some_end_works; /* a kernel whose late blocks write something */
static bool sample_given_up;
static volatile bool given_up;

bool is_dry()
{
    return mode != WBCPU_DRY_OFF;
}

/* --- memory ------------------------------------------------------------------------- */

bool dry_malloc(void **p, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (bytes + page - 1) / page * page;
    int n = range_count;
    if (n == max_ranges || bytes > (size_t)1 << 42) return false;
    void *m = mmap(
        nullptr, pages + 2 * reach, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) return false;
    char *first = static_cast<char *>(m) + reach;
    madvise(first, pages, MADV_NOHUGEPAGE); /* one write would cost 2 MB */
    if (mprotect(first, pages, PROT_READ) != 0) {
        munmap(m, pages + 2 * reach);
        return false;
    }
    char *start = first + pages - (bytes + 255) / 256 * 256; /* ends at the page's end */
    ranges[n] = {static_cast<char *>(m), first, first + pages, start};
    range_count = n + 1;
    *p = start;
    return true;
}

bool dry_free(void *p)
{
    int n = range_count;
    for (int i = 0; i < n; i++) {
        range r = ranges[i];
        if (r.start != p) continue;
        range_count = n - 1;
        ranges[i] = ranges[n - 1];
        munmap(r.mapping, (size_t)(r.last - r.mapping) + reach);
        return true;
    }
    return false;
}

bool in_dry_memory(const void *p)
{
    for (int i = 0; i < range_count; i++)
        if (p >= ranges[i].mapping && p < ranges[i].last + reach) return true;
    return false;
}

/* --- giving up ---------------------------------------------------------------------- */

/* In a signal handler, on its stack: continues after the switch in run_blocks. */
static void give_up()
{
    void *unused;
    given_up = stopped = true;
    ran_all = false;
    wbcpu_switch(&unused, self()->host_stack, 0);
}

static uintptr_t interrupted_stack(void *context)
{
#if defined(__x86_64__)
    return (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RSP];
#else
    return (uintptr_t)((ucontext_t *)context)->uc_mcontext.sp;
#endif
}

/* Before the first thread of a block runs, and after the last one, there is no switch to
 * return from. The watchdog asks again soon. */
static void on_late(int, siginfo_t *, void *context)
{
    worker *w = self();
    if (!w || !is_dry()) return;
    if (interrupted_stack(context) - (uintptr_t)w->stacks < stacks_bytes(w)) give_up();
}

extern "C" int wbcpu_dry_fault(const void *address)
{
    char *p = static_cast<char *>(const_cast<void *>(address));
    for (int i = 0; i < range_count; i++) {
        const range &r = ranges[i];
        if (p < r.first || p >= r.last) continue;
        if (self() && (chunks - chunks_before >= launch_chunks || chunks >= all_chunks))
            give_up();
        char *from = r.first + (size_t)(p - r.first) / chunk * chunk;
        chunks++;
        return mprotect(
                   from, std::min(chunk, (size_t)(r.last - from)),
                   PROT_READ | PROT_WRITE) == 0;
    }
    return 0;
}

static double cpu_seconds(clockid_t clock)
{
    timespec t;
    return clock_gettime(clock, &t) ? 0 : (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Sends a signal to the thread that made it once that has run for too long. */
struct watchdog {
    std::mutex lock;
    std::condition_variable changed;
    pthread_t watched = pthread_self();
    clockid_t clock = {};
    double until = 0; /* CPU time of the thread; 0: not watching */
    bool over = false;
    std::thread thread;

    watchdog()
    {
        struct sigaction a = {};
        a.sa_sigaction = on_late;
        a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigaction(SIGVTALRM, &a, nullptr);
        pthread_getcpuclockid(watched, &clock);
        thread = std::thread([this] { watch(); });
    }
    ~watchdog()
    {
        {
            std::lock_guard<std::mutex> hold(lock);
            over = true;
        }
        changed.notify_one();
        thread.join();
    }
    void watch()
    {
        std::unique_lock<std::mutex> hold(lock);
        while (
            !changed.wait_for(hold, std::chrono::milliseconds(5), [&] { return over; }))
            if (until > 0 && cpu_seconds(clock) > until) pthread_kill(watched, SIGVTALRM);
    }
    void allow(double seconds)
    {
        std::lock_guard<std::mutex> hold(lock);
        until = seconds > 0 ? cpu_seconds(clock) + seconds : 0;
    }
};

/* --- launches ----------------------------------------------------------------------- */

/* Runs the blocks [from, to) of a job. */
static void run_some(
    job *j, worker **w, unsigned long long from, unsigned long long to,
    void (*run)(void *, worker *))
{
    j->first = from;
    j->blocks = to;
    j->chunk = to - from;
    given_up = false;
    run(j, *w);
    if (!given_up) return;
    sigset_t both; /* the handler that gave up has not returned */
    sigemptyset(&both);
    sigaddset(&both, SIGSEGV);
    sigaddset(&both, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &both, nullptr);
    delete_worker(*w);
    *w = new_worker();
}

/* The blocks of n to run: two late ones, the first and the last two, the first one of the
 * last cluster, the ends of the first row of the grid, and some in between. Returns their
 * number. */
static int pick(
    unsigned long long blocks[16], unsigned long long n, unsigned long long row,
    unsigned cluster)
{
    int count = 0;
    if (n <= 12) {
        for (; count < (int)n; count++)
            blocks[count] = n - 1 - (unsigned long long)count;
        return count;
    }
    for (unsigned long long b :
         {n - 1 - n / 16, n - 1 - n / 8, n - 1, 0ull, n - 2, 1ull, n / 2, n - n / 4,
          n / 4, row - 1, row % n, n - cluster}) {
        if (std::find(blocks, blocks + count, b) == blocks + count) blocks[count++] = b;
    }
    return count;
}

void dry_launch(job *j, worker **w, void (*run)(void *, worker *))
{
    watchdog dog;
    unsigned long long n = j->blocks, list[16];
    chunks_before = chunks;
    if (mode == WBCPU_DRY_SAMPLE) {
        int count = pick(list, n, j->launch.grid.x, j->launch.cluster_blocks());
        if ((unsigned long long)count < n) ran_all = false;
        int most = 0;
        for (int i = 0; i < count; i++) {
            int before = chunks;
            dog.allow(block_seconds);
            run_some(j, w, list[i], list[i] + 1, run);
            most = std::max(most, chunks - before);
            if (given_up) sample_given_up = true;
            if (i < 2 && chunks > before) some_end_works = true;
        }
        if (n <= 64) some_end_works = true; /* not one of many equal blocks */
        most_bytes += most * n * chunk;
        return;
    }
    double start = cpu_seconds(dog.clock);
    dog.allow(seconds_left);
    for (unsigned long long b = 0; b < n && ran_all && !enough(); b += step) {
        if (seconds_left <= 0) ran_all = false;
        run_some(j, w, b, std::min(b + step, n), run);
    }
    seconds_left -= cpu_seconds(dog.clock) - start;
}

extern "C" void wbcpu_dry(int new_mode, int (*is_enough)(void))
{
    mode = new_mode;
    enough = is_enough;
    ran_all = true;
    stopped = false;
    seconds_left = all_seconds;
    if (mode == WBCPU_DRY_OFF) chunks = 0;
    if (mode == WBCPU_DRY_SAMPLE)
        most_bytes = 0, some_end_works = sample_given_up = false;
}
extern "C" int wbcpu_dry_complete(void)
{
    return stopped ? -1 : ran_all;
}
/* Half, because a block can touch a chunk that another one has touched. */
extern "C" int wbcpu_dry_short(size_t bytes)
{
    return !sample_given_up && (most_bytes < bytes / 2 || !some_end_works);
}
}  // namespace wbcpu
