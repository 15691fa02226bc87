/* harness_buffers.h - the buffers of a case, each between two red zones: allocates them,
 * fills them before each call, and sends back what the call has left in them. */
#ifndef HARNESS_BUFFERS_H
#define HARNESS_BUFFERS_H
#include "harness_call.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

void cuda(cudaError_t error, const char *what); /* an error ends the program */

/* Every buffer except the workspace, and host memory for c->inputs */
void alloc_buffers(struct call *c);
void alloc_workspace(struct call *c, size_t bytes);
void free_buffers(struct call *c);

/* on: host code cannot touch device memory, and a launcher cannot copy from it. The harness
 * itself copies with the guard off: the back end would otherwise change the protection for
 * every copy. */
void guard(const struct call *c, int on);

void refill_buffers(struct call *c); /* with c->inputs and fill patterns */
/* Sends r and, unless r has an error or the case is dry, every buffer. */
void send_result(struct call *c, struct wire_result *r);

#endif
