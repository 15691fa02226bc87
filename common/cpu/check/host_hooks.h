/* host_hooks.h - what the runtime API tells check mode about host code. Without it
 * they do nothing. */
#ifndef WBCPU_HOST_HOOKS_H
#define WBCPU_HOST_HOOKS_H

#include "../paused.h"
#include "hooks.h"

#include <memory>

namespace wbcpu
{
/* A copy of `height` rows of `width` bytes. A memset has no source. */
struct copy {
    void *dst;
    size_t dpitch;
    const void *src;
    size_t spitch, width, height;
    int kind; /* a cudaMemcpyKind, or an invalid value */
};
}  // namespace wbcpu

namespace wbcpu::check
{
#ifdef WBCPU_CHECK
#define WBCPU_HOOK(type, declaration, otherwise) type declaration;
#else
#define WBCPU_HOOK(type, declaration, otherwise)                                         \
    static inline type declaration                                                       \
    {                                                                                    \
        return otherwise;                                                                \
    }
#endif
#define WBCPU_NOTHING (void)0

/* queue.cpp: a launch that is valid is about to be queued or recorded. Is work on streams
 * queued? Not inside of an operation. */
WBCPU_HOOK(bool, accept_launch(wbcpu_launch *), true)
WBCPU_HOOK(bool, queues(), false)
WBCPU_HOOK(
    void, enqueue(cudaStream_t, void (*)(void *), void (*)(void *), void *),
    WBCPU_NOTHING)                                /* run, destroy, work */
WBCPU_HOOK(void, run_everything(), WBCPU_NOTHING) /* the host does not wait for it */
WBCPU_HOOK(void, device_synchronized(), finish_paused_launch())
WBCPU_HOOK(void, stream_synchronized(cudaStream_t s), finish_paused_stream(s))
WBCPU_HOOK(bool, stream_busy(cudaStream_t s), paused_stream_is_busy(s))
WBCPU_HOOK(void, stream_destroyed(cudaStream_t), WBCPU_NOTHING)
WBCPU_HOOK(void, event_recorded(cudaEvent_t, cudaStream_t), WBCPU_NOTHING)
WBCPU_HOOK(void, event_synchronized(cudaEvent_t e), finish_paused_event(e))
WBCPU_HOOK(bool, event_pending(cudaEvent_t e), e->queued != 0)
/* as asked by cudaEventQuery */
WBCPU_HOOK(bool, event_busy(cudaEvent_t e), paused_event_is_busy(e))
WBCPU_HOOK(void, event_destroyed(cudaEvent_t), WBCPU_NOTHING)
WBCPU_HOOK(void, stream_waits(cudaStream_t s, cudaEvent_t e), wait_for_paused_event(s, e))

/* gpus.cpp: of the GPU that the user chose, otherwise -1 */
WBCPU_HOOK(int, chosen_sms(), -1)

/* copies.cpp: before it is enqueued; the error that the call returns */
WBCPU_HOOK(cudaError_t, check_copy(const copy &), cudaSuccess)
/* cuBLAS uses `height` columns of `width` bytes; false: they are not in one buffer. */
enum matrix_use { MATRIX_READ, MATRIX_WRITTEN, MATRIX_UPDATED };
WBCPU_HOOK(
    bool, use_matrix(const void *, size_t, size_t, size_t, matrix_use), true) /* pitch */
WBCPU_HOOK(void, bad_pitch(const copy &), WBCPU_NOTHING)
/* Pageable memory: the copy reads a copy of the source made now. */
WBCPU_HOOK(std::shared_ptr<char>, stage(copy &, cudaStream_t), nullptr)
WBCPU_HOOK(void, copying(const copy &), WBCPU_NOTHING)
WBCPU_HOOK(
    void, copy_enqueued(const copy &, cudaStream_t, bool, bool),
    WBCPU_NOTHING) /* wait, staged */

/* lifetimes.cpp */
WBCPU_HOOK(void, allocated(void *, size_t, cudaMemoryType), WBCPU_NOTHING)
WBCPU_HOOK(void, freed(void *), WBCPU_NOTHING)
WBCPU_HOOK(void, bad_free(void *), WBCPU_NOTHING)
WBCPU_HOOK(bool, free_enqueued(void *), true) /* false: not a pointer to free */
WBCPU_HOOK(void, all_memory_freed(), WBCPU_NOTHING)
WBCPU_HOOK(void, stream_memory(void *, size_t), WBCPU_NOTHING) /* (de)allocated now */
/* A graph allocates its memory (true), or it is freed, perhaps for the second time. */
WBCPU_HOOK(void, graph_memory(void *, bool), WBCPU_NOTHING)

/* device.cpp: no kernel uses device memory before this address any more */
WBCPU_HOOK(void, leave_below(uintptr_t), WBCPU_NOTHING)

/* errors.cpp: what is wrong, and the fix */
WBCPU_HOOK(
    void, launch_failed(const wbcpu_launch &, const char *, const char *), WBCPU_NOTHING)
WBCPU_HOOK(void, error_read(), WBCPU_NOTHING)

/* overlap.cpp: kernels launched by launch_pdl */
WBCPU_HOOK(void, begin_kernel(const wbcpu_launch &), WBCPU_NOTHING)
WBCPU_HOOK(void, end_kernel(), WBCPU_NOTHING)

/* host.cpp: a library (wbcpu_library) begins to work on device memory */
WBCPU_HOOK(void, library_begins(), WBCPU_NOTHING)
/* A library accesses memory in code that is not compiled for check mode. */
WBCPU_HOOK(void, library_touches(const void *, size_t, bool), WBCPU_NOTHING) /* writes? */

/* a fault in host code at this address; may end the program */
WBCPU_HOOK(void, host_crashed(const void *), WBCPU_NOTHING)
#undef WBCPU_HOOK
#undef WBCPU_NOTHING
}  // namespace wbcpu::check

#endif
