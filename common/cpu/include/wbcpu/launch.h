/* launch.h - kernel<<<grid, block, shared, stream>>>(arguments) is translated to
 *
 *     wbcpu::launch(file, line, "kernel", wbcpu::config(grid, block, shared, stream),
 *                   [=](auto &...a) { kernel(a...); })(arguments)
 *
 * Arguments are evaluated once and copied, as in CUDA. The copies and the call form a
 * closure, and run_threads<closure> is a loop over the threads of a block into which the
 * compiler can inline the kernel.
 */
#ifndef WBCPU_LAUNCH_H
#define WBCPU_LAUNCH_H

#include "checked.h"
#include "execution.h"
#include "hopper.h"

#define WBCPU_NAME(...) #__VA_ARGS__ /* of a kernel that a macro launches */

/* A launch with its types erased: what the scheduler needs. */
struct wbcpu_launch {
    void (*run_threads)(const void *kernel, wbcpu_worker *worker);
    const void *kernel;
    /* A copy of the kernel for a launch that waits. NULL: copying its bytes is enough. */
    void *(*copy)(const void *kernel);
    void (*destroy)(void *copy);
    size_t kernel_bytes;
    dim3 grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    const char *name, *file;
    int line;
    bool overlaps; /* in check mode: launched by launch_pdl */
    bool in_lab;   /* a lab's: its kernel may not launch kernels */
    bool cooperative;
    dim3 cluster; /* blocks of a cluster, in each dimension */
    unsigned cluster_blocks() const
    {
        return cluster.x * cluster.y * cluster.z;
    }
};
namespace wbcpu
{
struct config;
}

extern "C" {
/* Stores the name of the kernel and how it is launched in *launch; no other field. */
void wbcpu_describe_launch(
    wbcpu_launch *launch, const char *file, int line, const char *name,
    const wbcpu::config *how);
/* Runs the launch, or keeps a copy of it until it can run. Ends the program if an argument
 * points to host memory, or if a lab's kernel launches a kernel. */
void wbcpu_launch_kernel(
    wbcpu_launch *launch, const void *const *pointers, int pointer_count);
/* The running thread of this worker has exited the kernel. Makes the next thread current
 * and returns true on this stack, or false if no block is left. */
bool wbcpu_next_thread(wbcpu_worker *worker);

/* The launch fails: its blocks have more threads than the kernel's __launch_bounds__. */
void wbcpu_refuse_launch(unsigned most_threads);
/* With __cluster_dims__(x, y, z):  if (wbcpu_needs_clusters(x, y, z)) return;
 * False if the launch has clusters of this size. Otherwise true: the launch begins again
 * with them, or fails if it asked for clusters of another size. */
bool wbcpu_needs_clusters(unsigned x, unsigned y = 1, unsigned z = 1);

/* Work on a capturing stream is recorded for cudaGraphLaunch instead of run; work that a
 * kernel enqueues, for the end of its grid. In check mode all work is: it waits in the
 * stream's queue. */
bool wbcpu_defers(cudaStream_t stream);
void wbcpu_record_work(
    cudaStream_t stream, void (*run)(void *work), void (*destroy)(void *work),
    void *work);
}

/* A kernel with __launch_bounds__(n) begins with  if (wbcpu_too_many(n)) return; */
template <class... Rest> WBCPU_INLINE bool wbcpu_too_many(unsigned most, Rest...)
{
    if (__builtin_expect(wbcpu_self->threads <= most, 1)) return false;
    wbcpu_refuse_launch(most);
    return true;
}

/* If the stream is capturing, stores a copy of work (a callable without arguments) as the
 * graph's next node and returns true. Otherwise returns false, and the caller runs it:
 *     if (wbcpu_record(stream, work)) return ok;
 *     work(); */
template <class Work> bool wbcpu_record(cudaStream_t stream, const Work &work)
{
    if (!wbcpu_defers(stream)) return false;
    wbcpu_record_work(
        stream, [](void *w) { (*static_cast<Work *>(w))(); },
        [](void *w) { delete static_cast<Work *>(w); }, new Work(work));
    return true;
}

/* A library's work, when the stream does it */
template <class Work> void wbcpu_run_library(cudaStream_t stream, const Work &work)
{
    auto as_library = [work]() __attribute__((noinline))
    {  // called from two places
        wbcpu_library here;
        work();
    };
    if (!wbcpu_record(stream, as_library)) as_library();
}

/* launch_pdl, launch_cluster and cudaLaunchKernelEx pass the kernel that they launch, and
 * the blocks of a cluster. */
extern "C" void
wbcpu_name_next_launch(const void *kernel, dim3 cluster, bool cooperative = false);

/* Programmatic dependent launch, which only check mode looks at. */
#ifdef WBCPU_CHECKED
extern "C" void wbcpu_checked_next_launch(const void *kernel, bool overlaps);
extern "C" void wbcpu_checked_pdl_wait();
#endif
WBCPU_INLINE void wbcpu_next_launch_is(const void *kernel, int blocks, bool overlaps)
{
    wbcpu_name_next_launch(kernel, dim3(blocks < 1 ? 1 : (unsigned)blocks));
#ifdef WBCPU_CHECKED
    wbcpu_checked_next_launch(kernel, overlaps);
#else
    (void)overlaps;
#endif
}
WBCPU_INLINE void wbcpu_pdl_wait()
{
#ifdef WBCPU_CHECKED
    wbcpu_checked_pdl_wait();
#endif
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
    explicit config(dim3) /* in a macro; elsewhere the translator reports it */
        __attribute__((error("kernel launch: '<<<' needs a grid and a block, as in "
                             "k<<<1, 256>>>(...)")));
};

/* Runs threads of blocks one after another on the current stack, x fastest. When a thread
 * has to wait, it keeps this stack and the scheduler continues on another. */
template <class Kernel>
WBCPU_UNCHECKED __attribute__((noinline)) void
run_threads(const void *kernel, wbcpu_worker *worker)
{
    Kernel call = *static_cast<const Kernel *>(kernel);
    uint3 &index = wbcpu_thread_index;
    for (;;) {
        call();
        if (__builtin_expect(worker->sequential, 1) &&
            ++worker->thread < worker->threads) {
            if (++index.x == blockDim.x) {
                index.x = 0;
                if (++index.y == blockDim.y) index.y = 0, ++index.z;
            }
        } else if (!wbcpu_next_thread(worker)) {
            return;
        }
    }
}

/* A kernel's argument if it is a pointer to data, otherwise NULL. */
template <class T> const void *data_pointer(const T &argument)
{
    using Target = std::remove_pointer_t<T>;
    if constexpr (std::is_pointer_v<T> && !std::is_function_v<Target>)
        return const_cast<const void *>(static_cast<const volatile void *>(argument));
    else
        return nullptr;
}

template <class Kernel> void *copy_kernel(const void *kernel)
{
    return new Kernel(*static_cast<const Kernel *>(kernel));
}
template <class Kernel> void delete_kernel(void *copy)
{
    delete static_cast<Kernel *>(copy);
}

/* An argument whose class owns its data, such as a buffer that converts to a pointer. It is
 * not copied: the copy's destructor would free the data, or the class has no copies. */
template <class T>
constexpr bool is_owner = std::is_class_v<T> &&
                          (!std::is_copy_constructible_v<T> ||
                           (!std::is_trivially_destructible_v<T> &&
                            std::is_convertible_v<T &, const volatile void *>));
template <class T> struct owner {
    T *object;
    template <class To, class = std::enable_if_t<std::is_convertible_v<T &, To>>>
    operator To() const
    {
        return *object;
    }
};
template <class T> decltype(auto) held(const T &argument)
{
    T &object = const_cast<T &>(argument);  // an array is passed on as a pointer
    if constexpr (
        !std::is_copy_constructible_v<std::decay_t<T>> &&
        std::is_convertible_v<T &, const volatile void *>)
        return +object;  // now: the object may be destroyed before the kernel runs
    else if constexpr (is_owner<T>)
        return owner<T>{&object};
    else
        return (object);
}

template <class Call> struct launcher {
    wbcpu_launch start;
    Call call;

    template <class... Args>
    std::enable_if_t<(is_owner<std::decay_t<Args>> || ...)>
    operator()(const Args &...args)
    {
        operator()(held(args)...);
    }
    template <class... Args>
    std::enable_if_t<!(is_owner<Args> || ...)> operator()(Args... args)
    {
        const void *const pointers[] = {data_pointer(args)..., nullptr};
        auto kernel = [call = call, args...]() mutable { call(args...); };
        using Kernel = decltype(kernel);
        start.run_threads = run_threads<Kernel>;
        start.kernel = &kernel;
        start.kernel_bytes = sizeof kernel;
        if constexpr (
            !std::is_trivially_copyable_v<Kernel> ||
            alignof(Kernel) > alignof(max_align_t)) {
            start.copy = copy_kernel<Kernel>;
            start.destroy = delete_kernel<Kernel>;
        }
        wbcpu_launch_kernel(&start, pointers, (int)sizeof...(args));
    }
};

template <class Call>
launcher<Call>
launch(const char *file, int line, const char *name, const config &c, Call call)
{
    launcher<Call> made = {{}, call};
#ifdef WBCPU_RED_ZONES
    made.start.in_lab = true;
#endif
    wbcpu_describe_launch(&made.start, file, line, name, &c);
    return made;
}
}  // namespace wbcpu

#endif
