/* adapters.h - what the test program, its adapters and state.cu share. */
#ifndef ADAPTERS_H
#define ADAPTERS_H
#include "../../grader/harness.h"
#include "ops.h"

/* Copies st, ten numbers on the device, into a wb_train on the device, and back. */
wb_train *state_from(const float *st, cudaStream_t stream);
void state_to(float *st, cudaStream_t stream);
void free_state(void);

/* Tests that bad arguments return the status that the header names. */
void test_refusals(void);

#endif
