/* harness_call.h - what `struct call` holds; for harness.c and harness_*.c. */
#ifndef HARNESS_CALL_H
#define HARNESS_CALL_H
#include "harness.h"
#include "protocol.h"

#include <signal.h>

struct call {
    struct wire_case *wire;
    unsigned char *inputs; /* host; what the current CALL message brought */
    size_t input_bytes;
    unsigned char *base[MAX_BUFFERS]; /* device; the buffer starts RED_ZONE bytes later,
                                         at a multiple of 256, unless it is shifted */
    unsigned char *work;              /* device; the workspace, between red zones too */
    size_t work_bytes;                /* what the workspace function says */
    cudaStream_t stream;
    int host_code;     /* some buffers are in host memory: base is too */
    int has_workspace; /* the function takes one, which may be NULL */
    /* 1: the learner's host code runs, 2: the device does. The signal handler reads it. */
    volatile sig_atomic_t in_launcher;
};

#endif
