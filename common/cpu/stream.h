/* stream.h - streams under capture, as the other parts of the library see them. */
#ifndef WBCPU_STREAM_H
#define WBCPU_STREAM_H

#include "scheduler.h"

namespace wbcpu
{
struct capture;
/* May this call go on while a capture is active? Calls that a real device could not keep
 * for later (cudaMalloc, waiting) end the capture, as there. */
cudaError_t not_while_capturing();
/* May work be put on this stream? Not on the default stream while a stream that would
 * wait for it is being captured, nor on a capture that has been broken. */
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
    wbcpu::capture *capture = nullptr; /* recorded on a stream under capture */
};

namespace wbcpu
{
capture *capture_of(cudaStream_t stream);
void join_capture(
    cudaStream_t stream, capture *c); /* cudaStreamWaitEvent across streams */
double seconds_now();
}  // namespace wbcpu

#endif
