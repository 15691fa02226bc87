/* protocol.h - what the grader and the lab's child process say to each other.
 *
 * One socket pair, messages of a header and a payload, both in the machine's own byte
 * order (two programs of one build on one machine). The child never gets an expected
 * value. It sends raw bytes; the judgement is the grader's. Every answer carries the nonce
 * of its case, so a message from elsewhere (a forked copy, a late thread, a print to the
 * descriptor) is worth nothing.
 *
 *     grader                                 child
 *                                      <-    HELLO   started, device there
 *     CASE   sizes, data A, data B     ->
 *                                      <-    RESULT  call on A: status, all buffers
 *                                      <-    RESULT  call on B, same pointers
 *                                      <-    RESULT  call on A again
 *                                      <-    RESULT  call on A by way of a CUDA graph
 *                                      <-    RESULT  on A under other thread orders (CPU)
 *                                      <-    DONE
 *     (socket closed)                  ->    ends
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H
#include <stdint.h>

enum { WIRE_FD = 3 }; /* the child's end of the socket pair */

enum {
    MAX_NAME = 64,
    MAX_BUFFERS = 24,
    MAX_ARGS = 24,
    MAX_SCALARS = 24,
    FENCE = 8192, /* bytes on either side of a buffer */
};

/* Fillings, 16 bits repeated. All are NaN in f32, f16 and bf16, so that what is read of
 * them shows in the result, and differ, so that a copied one says where it came from. */
#define FILL_POISON 0xFFFFu    /* outputs before the call: never written */
#define FILL_FENCE 0x7FF7u     /* around every buffer */
#define FILL_WORKSPACE 0x7FF9u /* workspace on entry */

enum message_kind {
    MSG_HELLO = 0x77620001,
    MSG_CASE,
    MSG_RESULT,
    MSG_DONE,
    MSG_CRASH,  /* a signal: struct wire_crash */
    MSG_BROKEN, /* the exercise or the device is at fault: text */
};

struct wire_header {
    uint32_t kind;
    uint32_t unused;
    uint64_t nonce[2];
    uint64_t bytes; /* of the payload that follows */
};

struct wire_buffer {
    char name[MAX_NAME];
    uint64_t bytes;
    uint32_t filled; /* 1: data A and data B carry its first contents; 0: poison */
    uint32_t unused;
};

struct wire_arg {
    char name[MAX_NAME];
    int64_t buffer;  /* index, or -1: pass NULL */
    uint64_t offset; /* bytes */
};

struct wire_scalar {
    char name[MAX_NAME];
    double value;
};

/* followed by data A (all filled buffers, one after the other), then data B */
struct wire_case {
    char name[MAX_NAME];
    char function[MAX_NAME];
    int32_t dtype;
    uint32_t buffers, args, scalars;
    uint32_t orders;         /* seeded thread orders to try (CPU back end) */
    uint32_t workspace_less; /* bytes withheld: the launcher must say WB_NO_SPACE */
    uint64_t seed;
    struct wire_buffer buffer[MAX_BUFFERS];
    struct wire_arg arg[MAX_ARGS];
    struct wire_scalar scalar[MAX_SCALARS];
};

enum which_call {
    CALL_A,
    CALL_B,
    CALL_A_AGAIN,
    CALL_CAPTURED, /* on A, recorded in a CUDA graph and replayed from it */
    CALL_ORDER,    /* on A, CALL_ORDER + i: under the i-th seeded thread order */
};

/* followed by every buffer, fences included, then the workspace's two fences */
struct wire_result {
    uint32_t which;
    int32_t status;     /* wb_status; also what lies outside of it */
    int32_t cuda_error; /* after the device-wide synchronisation; 0: none */
    uint32_t captured;  /* CALL_CAPTURED: nodes of the graph; else 0 */
    uint64_t launches;  /* kernels, where the back end counts them, else ~0 */
    uint64_t order;     /* the seed of the order, 0: natural */
    uint64_t workspace; /* bytes that the workspace function asked for */
    double seconds;     /* of the launcher and the work it enqueued */
    char cuda_message[128];
};

struct wire_crash {
    int32_t signal;
    int32_t in_launcher; /* 1: host code of a launcher; 2: after it, 0: elsewhere */
    int32_t in_device;   /* the address is in device memory */
    int32_t buffer;      /* index of the buffer that the address lies in or near, or -1 */
    uint64_t address;
    int64_t offset;   /* bytes from the start of that buffer */
    char kernel[192]; /* "kernel, block, thread" where the back end knows; or empty */
};

#endif
