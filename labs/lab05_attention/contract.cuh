/* contract.cuh - lab 05, given: the functions of attention.h, around your launchers.
 *
 * A file defines, for the element types that it serves,
 *
 *     template <typename E> static size_t forward_workspace(sizes z);
 *     template <typename E> static wb_status forward(forward_call<E> c, cudaStream_t s);
 *
 * and ends with DEFINE_FORWARD(float, f32), or the same with `backward`. The functions
 * that this defines check every argument first, so a kernel may rely on them.
 */
#ifndef CONTRACT_CUH
#define CONTRACT_CUH
#include "attention.h"

struct sizes {
    int B, T, S, H, K, D, ldq, ldkv, window;
    float scale;
};

template <typename E> struct forward_call {
    E *out;              // (B,T,H,D)
    float *lse;          // (B,H,T), or NULL
    const E *q, *k, *v;  // (B,T,H,D), (B,S,K,D), (B,S,K,D); rows ldq, ldkv, ldkv apart
    const int *pos;      // (B,T), or NULL
    sizes z;
    void *workspace;
};

template <typename E> struct backward_call {
    E *dq, *dk, *dv;  // as q, k, v
    const E *dout;    // (B,T,H,D)
    const E *q, *k, *v;
    const E *out;      // (B,T,H,D)
    const float *lse;  // (B,H,T)
    const int *pos;    // (B,T), or NULL
    sizes z;
    void *workspace;
};

static inline bool is_nothing(sizes z)
{
    return z.B == 0 || z.T == 0 || z.H == 0;
}

/* Sizes and strides; `bytes` of an element */
static inline wb_status check_sizes(sizes z, size_t bytes)
{
    if (z.B < 0 || z.T < 0 || z.S < z.T || z.H < 0 || z.K < 0 || z.D < 0)
        return WB_BAD_SHAPE;
    if (z.window < 0) return WB_BAD_SHAPE;
    if (z.H > 0 && (z.K < 1 || z.H % z.K != 0)) return WB_BAD_SHAPE;
    if (z.D < 16 || z.D > 256 || z.D % 8 != 0) return WB_UNSUPPORTED;
    if (z.ldq < (long long)z.H * z.D || z.ldkv < (long long)z.K * z.D)
        return WB_BAD_SHAPE;
    if (z.ldq * bytes % 16 != 0 || z.ldkv * bytes % 16 != 0) return WB_BAD_ALIGN;
    return WB_OK;
}

/* Required tensors: not NULL, and 16-byte aligned */
template <int N> static inline wb_status check_tensors(const void *const (&tensor)[N])
{
    for (const void *p : tensor)
        if (!p) return WB_BAD_SHAPE;
    for (const void *p : tensor)
        if ((uintptr_t)p % 16 != 0) return WB_BAD_ALIGN;
    return WB_OK;
}

template <typename E> static inline wb_status check(const forward_call<E> &c)
{
    wb_status status = check_sizes(c.z, sizeof(E));
    if (status != WB_OK || is_nothing(c.z)) return status;
    return check_tensors({c.out, c.q, c.k, c.v});
}

template <typename E> static inline wb_status check(const backward_call<E> &c)
{
    wb_status status = check_sizes(c.z, sizeof(E));
    if (status != WB_OK || is_nothing(c.z)) return status;
    if (!c.lse) return WB_BAD_SHAPE;
    return check_tensors({c.dq, c.dk, c.dv, c.dout, c.q, c.k, c.v, c.out});
}

#define DEFINE_FORWARD(E, e)                                                             \
    size_t attention_forward_workspace_##e(int B, int T, int S, int H, int K, int D)     \
    {                                                                                    \
        return forward_workspace<E>({B, T, S, H, K, D, 0, 0, 0, 0.0f});                  \
    }                                                                                    \
    wb_status attention_forward_##e(                                                     \
        E *out, float *lse, const E *q, const E *k, const E *v, const int *pos, int B,   \
        int T, int S, int H, int K, int D, int ldq, int ldkv, int window, float scale,   \
        void *workspace, size_t workspace_bytes, cudaStream_t stream)                    \
    {                                                                                    \
        sizes z = {B, T, S, H, K, D, ldq, ldkv, window, scale};                          \
        forward_call<E> c = {out, lse, q, k, v, pos, z, workspace};                      \
        wb_status status = check(c);                                                     \
        if (status != WB_OK || is_nothing(z)) return status;                             \
        size_t need = forward_workspace<E>(z);                                           \
        if (workspace_bytes < need || (need && !workspace)) return WB_NO_SPACE;          \
        return forward<E>(c, stream);                                                    \
    }

#define DEFINE_BACKWARD(E, e)                                                            \
    size_t attention_backward_workspace_##e(int B, int T, int S, int H, int K, int D)    \
    {                                                                                    \
        return backward_workspace<E>({B, T, S, H, K, D, 0, 0, 0, 0.0f});                 \
    }                                                                                    \
    wb_status attention_backward_##e(                                                    \
        E *dq, E *dk, E *dv, const E *dout, const E *q, const E *k, const E *v,          \
        const E *out, const float *lse, const int *pos, int B, int T, int S, int H,      \
        int K, int D, int ldq, int ldkv, int window, float scale, void *workspace,       \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        sizes z = {B, T, S, H, K, D, ldq, ldkv, window, scale};                          \
        backward_call<E> c = {dq, dk, dv, dout, q, k, v, out, lse, pos, z, workspace};   \
        wb_status status = check(c);                                                     \
        if (status != WB_OK || is_nothing(z)) return status;                             \
        size_t need = backward_workspace<E>(z);                                          \
        if (workspace_bytes < need || (need && !workspace)) return WB_NO_SPACE;          \
        return backward<E>(c, stream);                                                   \
    }

#endif
