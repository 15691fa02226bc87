/* launch.h - what kernel<<<grid, block, shared, stream>>>(arguments) becomes:
 *
 *     wbcpu::launch(file, line, "kernel", wbcpu::config(grid, block, shared, stream),
 *                   [=](auto &...a) { kernel(a...); })(arguments)
 *
 * Arguments are evaluated once and copied, as CUDA does. The copies and the call make one
 * closure, and run_threads<closure> is a plain loop over the threads of a block into which
 * the compiler can inline the kernel.
 */
#ifndef WBCPU_LAUNCH_H
#define WBCPU_LAUNCH_H

#include "execution.h"

/* One launch, types forgotten: what the scheduler needs. */
struct wbcpu_launch {
    void (*run_threads)(const void *kernel, wbcpu_worker *worker);
    const void *kernel;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    const char *name, *file;
    int line;
};

extern "C" {
void wbcpu_run_launch(const wbcpu_launch *launch);
/* The running thread of this worker has left its kernel. Which one next? It is set up and
 * true returned, on this stack; false: no block is left. */
bool wbcpu_next_thread(wbcpu_worker *worker);

/* Work on a stream under capture is kept for cudaGraphLaunch and not done now. */
bool wbcpu_is_capturing(cudaStream_t stream);
void wbcpu_record_work(
    cudaStream_t stream, void (*run)(void *work), void (*drop)(void *work), void *work);
}

/* If the stream is being captured: keeps a copy of work (callable without arguments) as
 * the graph's next node and returns true. Else returns false, and the caller does the work
 * itself:   if (wbcpu_record(stream, work)) return ok;   work();   */
template <class Work> bool wbcpu_record(cudaStream_t stream, const Work &work)
{
    if (!stream || !wbcpu_is_capturing(stream)) return false;
    wbcpu_record_work(
        stream, [](void *w) { (*static_cast<Work *>(w))(); },
        [](void *w) { delete static_cast<Work *>(w); }, new Work(work));
    return true;
}

namespace wbcpu
{
struct config {
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    config(dim3 g, dim3 b, size_t bytes = 0, cudaStream_t s = nullptr)
        : grid(g), block(b), shared_bytes(bytes), stream(s)
    {
    }
};

/* Runs threads of blocks one after another on the current stack, x fastest. When one has
 * to wait, the scheduler leaves it behind with this stack and goes on on another. */
template <class Kernel>
__attribute__((noinline)) void run_threads(const void *kernel, wbcpu_worker *worker)
{
    Kernel call = *static_cast<const Kernel *>(kernel);
    for (;;) {
        call();
        if (__builtin_expect(worker->straight, 1) && ++worker->thread < worker->threads) {
            if (++threadIdx.x == blockDim.x) {
                threadIdx.x = 0;
                if (++threadIdx.y == blockDim.y) threadIdx.y = 0, ++threadIdx.z;
            }
        } else if (!wbcpu_next_thread(worker)) {
            return;
        }
    }
}

template <class Call> struct launcher {
    wbcpu_launch start;
    Call call;

    template <class... Args> void operator()(Args... args) const
    {
        auto kernel = [call = call, args...]() mutable { call(args...); };
        using Kernel = decltype(kernel);
        wbcpu_launch l = start;
        l.run_threads = run_threads<Kernel>;
        if (wbcpu_record(l.stream, [l, kernel]() mutable {
                l.kernel = &kernel;
                l.stream = cudaStreamPerThread; /* any that is not being captured */
                wbcpu_run_launch(&l);
            }))
            return;
        l.kernel = &kernel;
        wbcpu_run_launch(&l);
    }
};

template <class Call>
launcher<Call>
launch(const char *file, int line, const char *name, const config &c, Call call)
{
    return {
        {nullptr, nullptr, c.grid, c.block, c.shared_bytes, c.stream, name, file, line},
        call};
}
}  // namespace wbcpu

#endif
