/* stream.h - streams, events and the capture state; internal to the library. */
#ifndef WBCPU_STREAM_H
#define WBCPU_STREAM_H

#include "scheduler.h"

namespace wbcpu
{
struct capture;
/* For calls that cannot be captured (cudaMalloc, synchronization): returns an error and
 * invalidates the capture if this thread has an active one, as CUDA does. */
cudaError_t not_while_capturing();
/* Returns an error if work cannot be enqueued on this stream: on the default stream while
 * a stream that synchronizes with it is capturing, and on an invalidated capture. */
cudaError_t stream_error(cudaStream_t stream);
}  // namespace wbcpu

struct CUstream_st {
    unsigned flags = 0;
    wbcpu::capture *capture = nullptr;
};
struct CUevent_st {
    unsigned flags = 0;
    bool recorded = false;
    double seconds = 0;
    std::atomic<int> queued{0};        /* records that wait for a paused launch */
    wbcpu::capture *capture = nullptr; /* recorded on a capturing stream */
};

namespace wbcpu
{
capture *capture_of(cudaStream_t stream);
/* The stream waits for an event of the capture and becomes part of it. */
void join_capture(cudaStream_t stream, capture *c);
/* A stream that is destroyed; false: the capture began on it. */
bool leave_capture(cudaStream_t stream);
double seconds_now(); /* monotonic clock */
}  // namespace wbcpu

#endif
