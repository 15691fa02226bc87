/* pool.h - the workers: one CPU thread per core. The launching thread is worker 0; the others
 * sleep until there is work. */
#pragma once

#include "scheduler.h"

#include <condition_variable>
#include <mutex>
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

pool *get_pool(); /* starts the workers at the first call */
/* Runs the task on all workers, or only on the first, and waits. */
void run_on_workers(pool *p, bool all, task run, void *context);
void read_shuffle(); /* WB_SHUFFLE=, unless wbcpu_set_shuffle was called */
}  // namespace wbcpu
