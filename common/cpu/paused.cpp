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

static struct {
    worker *w;
    void *stack; /* of the kernel's thread */
    std::thread::id owner;
    std::shared_ptr<node> launch;
    std::mutex lock;
    std::deque<std::shared_ptr<node>> queue;
} paused;
static thread_local bool host_waits;

void pause_launch(worker *w)
{
    if (host_waits || !w->job->may_pause) return;
    paused.w = w;
    paused.owner = std::this_thread::get_id();
    launch_paused = true;
    wbcpu_switch(&paused.stack, w->host_stack, 0);
}

void keep_paused(std::shared_ptr<node> launch)
{
    paused.launch = launch;
}

void run_after_paused(void (*run)(void *), void (*destroy)(void *), void *work)
{
    auto added = std::make_shared<node>(run, destroy, work);
    {
        std::lock_guard<std::mutex> hold(paused.lock);
        if (launch_paused) {
            paused.queue.push_back(added);
            return;
        }
    }
    run(work);
}

/* The next in the queue; NULL: none, or a launch has paused again */
static std::shared_ptr<node> next_work()
{
    std::lock_guard<std::mutex> hold(paused.lock);
    if (launch_paused || paused.queue.empty()) return nullptr;
    std::shared_ptr<node> first = std::move(paused.queue.front());
    paused.queue.pop_front();
    return first;
}

static void continue_paused()
{
    children *made;
    {
        std::lock_guard<std::mutex> hold(get_pool()->launching);
        open_device_memory();
        launch_paused = false;
        continue_blocks(paused.w, paused.stack);
        close_device_memory();
        made = paused.w->job->children;
    }
    if (launch_paused) return;
    paused.launch.reset();
    run_children(made);
    while (std::shared_ptr<node> work = next_work())
        work->run(work->work);
}

void finish_paused_launch()
{
    if (!launch_paused) return;
    constexpr double SECONDS = 30;
    const double start = (double)wbcpu_nanoseconds() * 1e-9;
    while (launch_paused && !wbcpu_self)
        if (paused.owner == std::this_thread::get_id()) {
            host_waits = true;
            continue_paused();
            host_waits = false;
        } else {
            std::this_thread::yield();
            if ((double)wbcpu_nanoseconds() * 1e-9 - start > SECONDS)
                stop(
                    nullptr,
                    "a kernel waits for the host, and the host thread that launched it "
                    "has not waited for it for %g s",
                    SECONDS);
        }
}
bool paused_launch_is_busy()
{
    if (launch_paused && paused.owner == std::this_thread::get_id()) continue_paused();
    return launch_paused;
}
}  // namespace wbcpu
