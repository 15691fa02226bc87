/* adapters.h - what the test program, its adapters and state.cu share. */
#ifndef ADAPTERS_H
#define ADAPTERS_H
#include "../../grader/harness.h"
#include "ops.h"

wb_train *
state_from(const float *st, cudaStream_t stream); /* ten numbers on the device */
void state_to(float *st, cudaStream_t stream);
void free_state(void);
void test_refusals(void); /* bad arguments give the statuses that the header names */

#endif
