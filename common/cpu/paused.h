/* paused.h - kernels that wait for the host. A launch otherwise returns when its kernel has
 * ended. If the only thread of a launch waits for memory, nothing but the host can write it:
 * the kernel is paused, its launch returns, and what the host enqueues from then on, on any
 * stream, is queued. When the host waits (cudaStreamSynchronize, cudaMemcpy, ...), the
 * kernel continues on the CPU thread that launched it, and the queue runs after it. */
#ifndef WBCPU_PAUSED_H
#define WBCPU_PAUSED_H

#include <atomic>
#include <memory>

namespace wbcpu
{
struct worker;
struct node;

extern std::atomic<bool> launch_paused;
/* By the kernel's thread: returns when the host waits, or immediately if it does already. */
void pause_launch(worker *w);
/* By the host: the launch, for as long as it is paused */
void keep_paused(std::shared_ptr<node> launch);
void run_after_paused(void (*run)(void *), void (*destroy)(void *), void *work);
void finish_paused_launch();
/* Lets the kernel run for a moment. True: it has paused again. */
bool paused_launch_is_busy();
}  // namespace wbcpu
#endif
