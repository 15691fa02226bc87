/* stream.cpp - streams and events. Work runs when it is enqueued, so a stream never has
 * pending work and an event is only a timestamp. Exceptions are capture (graph.cpp) and
 * check mode, where streams are queues (check/queue.cpp). */
#include "stream.h"
#include "driver.h"

#include "check/host_hooks.h"

#include <time.h>

namespace wbcpu
{
double seconds_now()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
extern "C" long long wbcpu_nanoseconds()
{
    return (long long)(seconds_now() * 1e9);
}

extern "C" cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    use_device();
    if (!stream || flags > cudaStreamNonBlocking) return fail(cudaErrorInvalidValue);
    *stream = new CUstream_st;
    (*stream)->flags = flags;
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
extern "C" cudaError_t
cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int)
{
    return cudaStreamCreateWithFlags(stream, flags);
}
extern "C" cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    *least = *greatest = 0;
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        return fail(cudaErrorInvalidResourceHandle);
    if (!leave_capture(stream)) return fail(cudaErrorStreamCaptureUnsupported);
    check::stream_destroyed(stream);
    delete stream;
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    use_device();
    if (capture_of(stream)) return fail(not_while_capturing());
    check::stream_synchronized(stream);
    return sticky_error();
}
extern "C" cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    if (capture_of(stream)) return fail(not_while_capturing());
    if (check::stream_busy(stream)) return cudaErrorNotReady;
    return sticky_error();
}
extern "C" cudaError_t cudaDeviceSynchronize()
{
    use_device();
    if (wbcpu_self)
        stop(
            nullptr,
            "a kernel calls cudaDeviceSynchronize, which CUDA 12 removed from device code: "
            "launch what follows as a kernel on cudaStreamTailLaunch");
    if (cudaError_t e = not_while_capturing()) return fail(e);
    check::device_synchronized();
    return sticky_error();
}
extern "C" cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    if (event->capture)
        join_capture(stream, event->capture);
    else
        check::stream_waits(stream, event);
    return cudaSuccess;
}
extern "C" cudaError_t
cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *user)
{
    if (cudaError_t e = stream_error(stream)) return fail(e);
    if (!wbcpu_record(stream, [=] { function(user); })) function(user);
    return cudaSuccess;
}
extern "C" cudaError_t cudaStreamAddCallback(
    cudaStream_t stream, cudaStreamCallback_t callback, void *user, unsigned)
{
    if (capture_of(stream)) return fail(not_while_capturing());
    auto call = [=] { callback(stream, cudaSuccess, user); };
    if (!wbcpu_record(stream, call)) call();
    return cudaSuccess;
}

/* --- events ------------------------------------------------------------------------- */

extern "C" cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    use_device();
    if (!event) return fail(cudaErrorInvalidValue);
    *event = new CUevent_st;
    (*event)->flags = flags;
    return cudaSuccess;
}
extern "C" cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    return cudaEventCreateWithFlags(event, cudaEventDefault);
}
extern "C" cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    check::event_destroyed(event);
    auto destroy = [=] { delete event; };
    if (!must_queue() || !wbcpu_record(nullptr, destroy)) destroy();
    return cudaSuccess;
}
extern "C" cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    if (cudaError_t e = stream_error(stream)) return fail(e);
    event->capture = capture_of(stream);
    event->recorded = true;
    event->seconds = seconds_now();
    if (!event->capture) check::event_recorded(event, stream);
    if (!event->capture && comes_after_paused(stream)) {
        event->queued++;
        auto record = [=] {
            event->seconds = seconds_now();
            event->queued--;
        };
        if (!wbcpu_record(stream, record)) record();
    }
    return cudaSuccess;
}
extern "C" cudaError_t cudaEventQuery(cudaEvent_t event)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    if (event->capture) return fail(cudaErrorCapturedEvent);
    if (check::event_busy(event)) return cudaErrorNotReady;
    return sticky_error();
}
extern "C" cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    if (!event) return fail(cudaErrorInvalidResourceHandle);
    if (event->capture) return fail(cudaErrorCapturedEvent);
    check::event_synchronized(event);
    return sticky_error();
}
extern "C" cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (!ms) return fail(cudaErrorInvalidValue);
    if (!start || !end || !start->recorded || !end->recorded ||
        (start->flags | end->flags) & cudaEventDisableTiming)
        return fail(cudaErrorInvalidResourceHandle);
    if (start->capture || end->capture) return fail(cudaErrorCapturedEvent);
    if (check::event_pending(start) || check::event_pending(end))
        return cudaErrorNotReady;
    *ms = (float)((end->seconds - start->seconds) * 1e3);
    return cudaSuccess;
}
}  // namespace wbcpu
