/* paused.h - kernels that wait for the host. A launch otherwise returns when its kernel has
 * ended. If the only thread of a launch waits for memory, nothing but the host can write it:
 * the kernel is paused, its launch returns, and what the host enqueues from then on, on any
 * stream, is queued. When the host waits (cudaStreamSynchronize, cudaMemcpy, ...), the
 * kernel continues on the CPU thread that launched it, and the queue runs after it. Until it
 * is empty, whatever any host thread enqueues goes to its end. */
#ifndef WBCPU_PAUSED_H
#define WBCPU_PAUSED_H

#include <atomic>
#include <memory>

#include "stream.h"

namespace wbcpu
{
struct worker;
struct node;

/* From a pause until the queue is empty */
extern std::atomic<bool> launch_paused;
bool must_queue(); /* the same, but false for the thread that runs the queue */
/* By the kernel's thread: returns when the host waits, or immediately if it does already. */
void pause_launch(worker *w);
/* By the host, after a launch that may pause: keeps it if it has; false: it has ended. */
bool keep_if_paused(std::shared_ptr<node> launch);
void run_after_paused(
    cudaStream_t stream, void (*run)(void *), void (*destroy)(void *), void *work);
/* Work on this stream has to come after work that is paused or in the queue. Other copies
 * need not wait: the kernel may wait for one. */
bool comes_after_paused(cudaStream_t stream);
void wait_for_paused_event(cudaStream_t stream, cudaEvent_t event);
void finish_paused_launch();
void finish_paused_stream(cudaStream_t stream); /* if it has such work */
void finish_paused_event(cudaEvent_t event);    /* if its record is in the queue */
/* Lets the kernel run for a moment. True: it has paused again. */
bool paused_launch_is_busy();
bool paused_stream_is_busy(cudaStream_t stream);
bool paused_event_is_busy(cudaEvent_t event);
}  // namespace wbcpu
#endif
