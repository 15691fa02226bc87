/* paused.cpp - see paused.h. */
#include "paused.h"

#include "graph.h"
#include "include/wbcpu.h"
#include "pool.h"

#include <deque>
#include <thread>

namespace wbcpu
{
std::atomic<bool> launch_paused;

/* Where work is enqueued. A stream may be destroyed before its work has run. */
struct stream_of_work {
    cudaStream_t stream = nullptr; /* NULL: the legacy default stream */
    bool blocking = true;          /* it synchronizes with that */
    stream_of_work() = default;
    explicit stream_of_work(cudaStream_t s)
        : stream(s == cudaStreamLegacy ? nullptr : s),
          blocking(
              !stream || s == cudaStreamPerThread || !(s->flags & cudaStreamNonBlocking))
    {
    }
};
struct queued {
    stream_of_work at;
    std::shared_ptr<node> work;
};

static struct {
    worker *w;
    void *stack; /* of the kernel's thread */
    std::thread::id owner;
    std::atomic<bool> kernel; /* is paused; false while it runs */
    std::atomic<unsigned long long>
        number; /* of the launch, until its kernel has ended */
    std::shared_ptr<node> launch;
    std::mutex lock;   /* of what follows */
    stream_of_work at; /* of the kernel, or of the work from the queue that runs */
    std::deque<queued> queue;
} paused;
static thread_local bool host_waits, runs_queue;

bool must_queue()
{
    return launch_paused && !runs_queue;
}

/* A host that reads in a loop what the kernel will write waits for ever. */
[[noreturn]] static void watch()
{
    constexpr int SECONDS = 30;
    unsigned long long last = 0;
    for (int waited = 0;; waited++) {
        std::this_thread::sleep_for(std::chrono::seconds(1));
        if (paused.number != last || !last) last = paused.number, waited = 0;
        const wbcpu_launch &l = paused.w->job->launch;
        if (waited == SECONDS)
            note(
                "kernel %s (%s:%d) has waited %d s for memory that only the host can "
                "write. It continues only while the host waits for it or queries it, as in "
                "cudaDeviceSynchronize and cudaStreamQuery.",
                l.name, l.file, l.line, SECONDS);
    }
}

void pause_launch(worker *w)
{
    if (host_waits || !w->job->may_pause) return;
    paused.w = w;
    paused.owner = std::this_thread::get_id();
    paused.number = w->job->id;
    if (!launch_paused) { /* otherwise next_work has set it */
        std::lock_guard<std::mutex> hold(paused.lock);
        paused.at = stream_of_work(w->job->stream);
    }
    paused.kernel = launch_paused = true;
    static const bool watched = (std::thread(watch).detach(), true);
    (void)watched;
    wbcpu_switch(&paused.stack, w->host_stack, 0);
}

/* This thread has launched the paused kernel. */
static bool can_continue()
{
    return paused.kernel && paused.owner == std::this_thread::get_id();
}
bool keep_if_paused(std::shared_ptr<node> launch)
{
    if (!can_continue()) return false;
    paused.launch = launch;
    return true;
}

void run_after_paused(
    cudaStream_t stream, void (*run)(void *), void (*destroy)(void *), void *work)
{
    auto added = std::make_shared<node>(run, destroy, work);
    {
        std::lock_guard<std::mutex> hold(paused.lock);
        if (must_queue()) {
            paused.queue.push_back({stream_of_work(stream), added});
            return;
        }
    }
    run(work);
}

template <class Test> static bool any_work(Test test)
{
    if (!must_queue()) return false;
    std::lock_guard<std::mutex> hold(paused.lock);
    bool found = test(paused.at);
    for (const queued &q : paused.queue)
        found |= test(q.at);
    return found;
}
bool comes_after_paused(cudaStream_t stream)
{
    return any_work([b = stream_of_work(stream)](const stream_of_work &a) {
        return a.stream == b.stream ||
               (a.blocking && b.blocking && (!a.stream || !b.stream));
    });
}
/* The stream itself has such work; the legacy default stream: or one that it waits for */
static bool is_pending(cudaStream_t stream)
{
    return any_work([b = stream_of_work(stream)](const stream_of_work &a) {
        return a.stream == b.stream || (!b.stream && a.blocking);
    });
}
void wait_for_paused_event(cudaStream_t stream, cudaEvent_t event)
{
    auto nothing = [](void *) {};
    if (event->queued) run_after_paused(stream, nothing, nothing, nullptr);
}

/* The next in the queue; NULL: none, or a launch has paused again */
static std::shared_ptr<node> next_work()
{
    std::lock_guard<std::mutex> hold(paused.lock);
    if (paused.kernel) return nullptr;
    if (paused.queue.empty()) {
        launch_paused = false;
        return nullptr;
    }
    std::shared_ptr<node> first = std::move(paused.queue.front().work);
    paused.at = paused.queue.front().at;
    paused.queue.pop_front();
    return first;
}

static void continue_paused()
{
    children *made;
    {
        std::lock_guard<std::mutex> hold(get_pool()->launching);
        open_device_memory();
        paused.kernel = false;
        continue_blocks(paused.w, paused.stack);
        close_device_memory();
        made = paused.w->job->children;
    }
    if (paused.kernel) return;
    paused.number = 0;
    paused.launch.reset();
    runs_queue = true;
    run_children(made);
    while (std::shared_ptr<node> work = next_work())
        work->run(work->work);
    runs_queue = false;
}

void finish_paused_launch()
{
    if (!must_queue()) return;
    constexpr double SECONDS = 30;
    double start = (double)wbcpu_nanoseconds() * 1e-9;
    while (must_queue() && !wbcpu_self) {
        const double now = (double)wbcpu_nanoseconds() * 1e-9;
        if (can_continue()) {
            host_waits = true;
            continue_paused();
            host_waits = false;
            continue;
        }
        std::this_thread::yield();
        if (!paused.kernel) start = now; /* its thread runs it, or the queue */
        if (now - start > SECONDS)
            stop(
                nullptr,
                "a kernel waits for the host, and the host thread that launched it has "
                "not waited for it for %g s",
                SECONDS);
    }
}
void finish_paused_stream(cudaStream_t stream)
{
    if (is_pending(stream)) finish_paused_launch();
}
void finish_paused_event(cudaEvent_t event)
{
    if (event->queued) finish_paused_launch();
}
bool paused_launch_is_busy()
{
    if (must_queue() && can_continue()) continue_paused();
    return must_queue();
}
bool paused_stream_is_busy(cudaStream_t stream)
{
    return is_pending(stream) && paused_launch_is_busy() && is_pending(stream);
}
bool paused_event_is_busy(cudaEvent_t event)
{
    return event->queued && paused_launch_is_busy() && event->queued;
}
}  // namespace wbcpu
