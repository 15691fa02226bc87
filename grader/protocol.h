/* protocol.h - the messages between the grader and the lab's child process.
 *
 * They use one socket pair. A message is a header and a payload, in the byte order of the
 * machine (both programs run on the same one). The grader asks and the child answers. The
 * child never gets an expected value and does not know which calls follow.
 *
 *     grader                             child
 *     HELLO                        ->
 *                                  <-    HELLO   started, device found
 *     CASE   sizes, arguments      ->
 *                                  <-    BEGIN   from here on, the learner's code runs
 *                                  <-    READY   all buffers allocated, workspace size
 *     CALL   order, inputs         ->            for each call, see enum which_call
 *                                  <-    RESULT  status, all buffers as raw bytes
 *     REPORT                       ->            only to a program in check mode
 *                                  <-    REPORT  what check mode found and counted: JSON
 *     END                          ->
 *                                  <-    DONE    buffers released
 *     (socket closed)              ->    exits
 *
 * Each message from the grader has a new nonce, which the answers repeat. So an answer
 * belongs to one question: nothing can be sent in advance, twice or out of order. The
 * learner's code runs in the same process and can read the nonce, so an answer does not
 * prove who computed it. docs/grader.md says what that is worth.
 */
#ifndef PROTOCOL_H
#define PROTOCOL_H
#include <stdint.h>
#include <string.h>

enum { WIRE_FD = 3 }; /* the child's end of the socket pair */

/* wb.h: an argument host_x is in host memory. A function with such an argument is host code:
 * it allocates, copies and synchronises, and cannot be captured in a graph. */
static inline int in_host_memory(const char *buffer)
{
    return strncmp(buffer, "host_", 5) == 0;
}

enum {
    MAX_NAME = 64,
    WITHHOLD_ALL = 0x7fffffff, /* of a workspace */
    MAX_BUFFERS = 24,
    MAX_ARGS = 24,
    MAX_SCALARS = 24,
    RED_ZONE = 8192, /* guard bytes on either side of a buffer */
    MAX_ELEMENT = 8, /* bytes: how far a buffer may be shifted */
};

/* Fill patterns, 16 bits repeated. All are NaN in f32, f16 and bf16, so a read of one
 * shows in the result. They differ, so a copied one tells where it came from. */
enum {
    FILL_POISON = 0xFFFF,    /* outputs before the call */
    FILL_RED_ZONE = 0x7FF7,  /* around every buffer */
    FILL_WORKSPACE = 0x7FF9, /* workspace on entry */
    FILL_SHARED = 0x7FFB,    /* shared memory when a block begins, on the CPU back end */
};

enum message_kind {
    MSG_HELLO = 0x77620001,
    MSG_CASE,
    MSG_BEGIN,
    MSG_READY, /* struct wire_ready */
    MSG_CALL,  /* struct wire_call, then the bytes of all filled buffers */
    MSG_RESULT,
    MSG_END,
    MSG_DONE,
    MSG_CRASH,  /* a signal: struct wire_crash */
    MSG_BROKEN, /* cannot go on, as text; a fault of the exercise only before BEGIN */
    MSG_REPORT,
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
    uint32_t filled;  /* 1: each CALL has its initial contents; 0: poison */
    uint32_t element; /* bytes */
};

struct wire_arg {
    char name[MAX_NAME];
    int64_t buffer;  /* index, or -1: pass NULL */
    uint64_t offset; /* bytes */
    /* In a dry case, of an output that must be written: where its last element is, in
     * bytes from the buffer's start, and its size; otherwise 0. */
    uint64_t last;
    uint32_t element, unused;
};

struct wire_scalar {
    char name[MAX_NAME];
    double value;
};

struct wire_case {
    char function[MAX_NAME];
    int32_t dtype;
    uint32_t buffers, args, scalars;
    uint32_t workspace_less; /* bytes withheld: the launcher must return WB_NO_SPACE.
                                WITHHOLD_ALL: it gets a workspace of NULL */
    uint32_t dry; /* 1: one call on zeros and filled integers; only a head comes back */
    uint32_t larger, unused; /* 1: ask the workspace function for larger sizes too */
    struct wire_buffer buffer[MAX_BUFFERS];
    struct wire_arg arg[MAX_ARGS];
    struct wire_scalar scalar[MAX_SCALARS];
};

struct wire_ready {
    uint64_t workspace; /* bytes that the workspace function asked for */
    char falls[256]; /* message if the workspace decreases for a larger size, or empty */
};

/* The calls of a case. Only the CPU back end can change the order of threads. There, the
 * calls CALL_ORDER + i are the first of a new process, so that nothing kept from the calls
 * on the same data can hide a race. */
enum { ORDERS = 8 };
enum which_call {
    CALL_A,
    CALL_B, /* other data at the same pointers */
    CALL_A_AGAIN,
    CALL_CAPTURED, /* on A, captured in a CUDA graph and replayed */
    CALL_VARIANT,  /* CALL_VARIANT + i, i in [2, ORDERS): on the i-th variant of A */
    CALL_ORDER = CALL_VARIANT + ORDERS, /* + i: in the i-th thread order, on A (i = 0),
                                           B (i = 1) or the i-th variant of A */
    CALL_SHIFTED = CALL_ORDER + ORDERS, /* + i: on A; one buffer alone is not aligned */
    CALLS = CALL_SHIFTED + 2 * MAX_BUFFERS,
};

/* Call CALL_SHIFTED + i: buffer i / 2 starts some bytes later than the others, one element
 * or, if i is odd, 8 bytes: enough for half of the 16-byte vectors. */
static inline uint32_t shifted_buffer(uint32_t which)
{
    return (which - CALL_SHIFTED) / 2;
}
static inline uint32_t shifted_bytes(uint32_t which, uint32_t element)
{
    return (which - CALL_SHIFTED) % 2 ? 8 : element;
}

/* The call on the same data in the natural order, perhaps the call itself. Only the call
 * in another thread order must have its bits. */
static inline uint32_t same_data(uint32_t which)
{
    if (which == CALL_A_AGAIN || which == CALL_CAPTURED) return CALL_A;
    if (which >= CALL_SHIFTED) return CALL_A;
    if (which < CALL_ORDER) return which;
    return which < CALL_ORDER + 2 ? which - CALL_ORDER : which - ORDERS;
}

struct wire_call {
    uint32_t which;
    uint64_t order; /* the seed of the thread order; 0: the natural order */
};

/* The result of a dry case that the device has too little memory for. */
#define DRY_SKIPPED UINT32_MAX
/* Launches are counted only on the CPU back end, and not in a captured call. */
#define NOT_COUNTED UINT64_MAX
/* A dry case's buffers are at least so far apart, in bytes. */
#define DRY_REACH ((int64_t)32 << 30)

/* If cuda_error is 0 and the case is not dry, every buffer follows between its two red
 * zones, then the two red zones of the workspace. Those that are as they were are left
 * out: they have more bytes than most buffers. */
struct wire_result {
    uint32_t which;
    int32_t status;     /* a wb_status, or whatever else was returned */
    int32_t cuda_error; /* after synchronising the device; 0: none */
    uint32_t captured;  /* CALL_CAPTURED: nodes of the graph; otherwise 0 */
    uint64_t launches;  /* kernels, copies within device memory, or NOT_COUNTED */
    char cuda_message[128];
    uint32_t unwritten; /* dry: 1 + index of an argument whose end is not written */
    uint32_t kept;      /* bit b: without the red zones of buffer b; bit `buffers`: of the
                           workspace */
};

struct wire_crash {
    int32_t signal;
    int32_t in_launcher; /* 1: host code of a launcher; 2: after it; 0: elsewhere */
    int32_t in_device;   /* the address is in device memory */
    int32_t buffer; /* index of the buffer that contains or is near the address, or -1 */
    int32_t no_workspace; /* 1: the workspace is NULL, as its function has returned 0 */
    int32_t unused;
    uint64_t address;
    int64_t offset;   /* bytes from the start of that buffer */
    char kernel[192]; /* "kernel, block, thread" if the back end knows them, or empty */
    char text[512];   /* what the back end says of the error, or empty */
};

#endif
