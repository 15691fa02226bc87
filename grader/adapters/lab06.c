/* lab06.c - calls the functions of the RG-LRU (labs/lab06_rglru/rglru.h). */
#include "../harness.h"
#include "rglru.h"

/* The argument lists are long, so these are short: A(px) is the tensor px, N(R) the size
 * R. RUN defines a call, SPACE its workspace function. */
#define A(name) arg(c, #name)
#define N(name) size(c, #name)
#define WORKSPACE workspace(c), workspace_bytes(c)
#define RUN(name, f, ...)                                                                \
    static wb_status name(const struct call *c)                                          \
    {                                                                                    \
        return BY_DTYPE(c, f, __VA_ARGS__, stream(c));                                   \
    }
#define SPACE(name, f, ...)                                                              \
    static size_t name##_workspace(const struct call *c)                                 \
    {                                                                                    \
        return BY_DTYPE(c, f##_workspace, __VA_ARGS__);                                  \
    }

RUN(block_linear, block_linear_forward, A(px), A(pa), A(c), A(wx), A(bx), A(wa), A(ba),
    N(R), N(G), N(M))
RUN(block_linear_back, block_linear_backward, A(dc), A(dwx), A(dbx), A(dwa), A(dba),
    A(dc_in), A(dpx), A(dpa), A(c), A(wx), A(wa), N(R), N(G), N(M), WORKSPACE)
SPACE(block_linear_back, block_linear_backward, N(R), N(G), N(M))

RUN(conv1d, conv1d_forward, A(out), A(conv_state), A(x), A(w), A(bias), A(pos), A(len),
    N(B), N(T), N(C), N(width), N(ld))
RUN(conv1d_back, conv1d_backward, A(dx), A(dw), A(dbias), A(dout), A(x), A(w), A(pos),
    N(B), N(T), N(C), N(width), N(ld), WORKSPACE)
SPACE(conv1d_back, conv1d_backward, N(B), N(T), N(C), N(width))

RUN(gates, rglru_gates_forward, A(a), A(z), A(c), A(px), A(pa), A(a_param), A(pos), N(B),
    N(T), N(C))
RUN(gates_back, rglru_gates_backward, A(dc), A(dpx), A(dpa), A(da_param), A(da), A(dz),
    A(c), A(px), A(pa), A(a_param), A(pos), N(B), N(T), N(C), WORKSPACE)
SPACE(gates_back, rglru_gates_backward, N(B), N(T), N(C))

RUN(scan, linear_scan_forward, A(h), A(h_last), A(a), A(z), A(h0), N(B), N(T), N(C),
    WORKSPACE)
SPACE(scan, linear_scan_forward, N(B), N(T), N(C))
RUN(scan_back, linear_scan_backward, A(da), A(dz), A(dh0), A(dh), A(dh_last), A(a), A(h),
    A(h0), N(B), N(T), N(C), WORKSPACE)
SPACE(scan_back, linear_scan_backward, N(B), N(T), N(C))

RUN(fused, rglru_forward, A(out), A(h), A(state), A(c), A(px), A(pa), A(y), A(a_param),
    A(pos), A(len), N(B), N(T), N(C), N(ldy), WORKSPACE)
SPACE(fused, rglru_forward, N(B), N(T), N(C))
RUN(fused_back, rglru_backward, A(dc), A(dpx), A(dpa), A(dy), A(da_param), A(dout), A(c),
    A(px), A(pa), A(y), A(h), A(a_param), A(pos), N(B), N(T), N(C), N(ldy), WORKSPACE)
SPACE(fused_back, rglru_backward, N(B), N(T), N(C))

RUN(step, rglru_step, A(out), A(conv_state), A(state), A(x), A(y), A(w), A(bias), A(wx),
    A(bx), A(wa), A(ba), A(a_param), A(pos), N(B), N(G), N(M), N(width), N(ld))

const struct adapter adapters[] = {
    {"block_linear_forward", block_linear, NULL},
    {"block_linear_backward", block_linear_back, block_linear_back_workspace},
    {"conv1d_forward", conv1d, NULL},
    {"conv1d_backward", conv1d_back, conv1d_back_workspace},
    {"rglru_gates_forward", gates, NULL},
    {"rglru_gates_backward", gates_back, gates_back_workspace},
    {"linear_scan_forward", scan, scan_workspace},
    {"linear_scan_backward", scan_back, scan_back_workspace},
    {"rglru_forward", fused, fused_workspace},
    {"rglru_backward", fused_back, fused_back_workspace},
    {"rglru_step", step, NULL},
    {NULL, NULL, NULL},
};
