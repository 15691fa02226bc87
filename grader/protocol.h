/* protocol.h - the messages between the grader and the lab's child process.
 *
 * They use one socket pair. A message is a header and a payload, in the byte order of the
 * machine (both programs run on the same one). The child never gets an expected value: it
 * sends raw bytes, and the grader judges them. Every answer carries the nonce of its
 * case, so a message from elsewhere (a forked copy, a late thread, a print to the
 * descriptor) counts for nothing.
 *
 *     grader                             child
 *                                  <-    HELLO   started, device found
 *     CASE   sizes, data A, data B ->
 *                                  <-    RESULT  call on A: status, all buffers
 *                                  <-    RESULT  call on B, same pointers
 *                                  <-    RESULT  call on A again
 *                                  <-    RESULT  call on A, replayed from a CUDA graph
 *                                  <-    RESULT  calls on A in other thread orders (CPU)
 *                                  <-    DONE
 *     (socket closed)              ->    exits
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
    RED_ZONE = 8192, /* guard bytes on either side of a buffer */
};

/* Fill patterns, 16 bits repeated. All are NaN in f32, f16 and bf16, so a read of one
 * shows in the result. They differ, so a copied one tells where it came from. */
enum {
    FILL_POISON = 0xFFFF,    /* outputs before the call */
    FILL_RED_ZONE = 0x7FF7,  /* around every buffer */
    FILL_WORKSPACE = 0x7FF9, /* workspace on entry */
};

enum message_kind {
    MSG_HELLO = 0x77620001,
    MSG_CASE,
    MSG_RESULT,
    MSG_DONE,
    MSG_CRASH,  /* a signal: struct wire_crash */
    MSG_BROKEN, /* a fault of the exercise or the device, as text */
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
    uint32_t filled; /* 1: data A and data B hold its initial contents; 0: poison */
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

/* Followed by data A (all filled buffers, one after the other), then data B. */
struct wire_case {
    char name[MAX_NAME];
    char function[MAX_NAME];
    int32_t dtype;
    uint32_t buffers, args, scalars;
    uint32_t orders;         /* seeded thread orders to try (CPU back end) */
    uint32_t workspace_less; /* bytes withheld: the launcher must return WB_NO_SPACE */
    uint64_t seed;
    struct wire_buffer buffer[MAX_BUFFERS];
    struct wire_arg arg[MAX_ARGS];
    struct wire_scalar scalar[MAX_SCALARS];
};

enum which_call {
    CALL_A,
    CALL_B,
    CALL_A_AGAIN,
    CALL_CAPTURED, /* on A, captured in a CUDA graph and replayed */
    CALL_ORDER,    /* CALL_ORDER + i: on A, in the i-th seeded thread order */
};

/* Followed by every buffer with its red zones, then the two red zones of the
 * workspace. */
struct wire_result {
    uint32_t which;
    int32_t status;     /* a wb_status, or whatever else was returned */
    int32_t cuda_error; /* after synchronising the device; 0: none */
    uint32_t captured;  /* CALL_CAPTURED: nodes of the graph; otherwise 0 */
    uint64_t launches;  /* kernels, if the back end counts them; otherwise ~0 */
    uint64_t order;     /* the seed of the thread order; 0: the natural order */
    uint64_t workspace; /* bytes that the workspace function asked for */
    double seconds;     /* of the launcher and the work that it enqueued */
    char cuda_message[128];
};

struct wire_crash {
    int32_t signal;
    int32_t in_launcher; /* 1: host code of a launcher; 2: after it; 0: elsewhere */
    int32_t in_device;   /* the address is in device memory */
    int32_t buffer; /* index of the buffer that contains or is near the address, or -1 */
    uint64_t address;
    int64_t offset;   /* bytes from the start of that buffer */
    char kernel[192]; /* "kernel, block, thread" if the back end knows them, or empty */
};

#endif
