/* rglru_contract.cuh - given: the launchers of parts 06.1 to 06.3 and 06.5 as rglru.h has them.
 * They check every argument, so that the kernels may rely on them.
 *
 * A file defines the templates that are named below for a part, each of which returns a
 * status, and ends with DEFINE_BLOCK_LINEAR(float, f32), DEFINE_CONV1D(float, f32),
 * DEFINE_GATES(float, f32), DEFINE_RGLRU(float, f32) or DEFINE_RGLRU_BACKWARD(float, f32), for
 * each element type that it covers. DEFINE_BLOCK_LINEAR_FORWARD is the first half of the
 * first one.
 *
 *     block_linear<E>(px, ..., M, stream)                conv1d, gates: alike
 *     block_linear_back<E>(dc, ..., M, partial, stream)  partial: the workspace, floats
 *     block_linear_space<E>(R, G, M)                     bytes of it
 *     rglru<E>(call, B, workspace, stream)               call: a forward_call<E>
 *     rglru_back<E>(call, B, workspace, stream)          call: a backward_call<E>
 *     rglru_space<E>(B, T, C)                            bytes of either's workspace
 */
#ifndef RGLRU_CONTRACT_CUH
#define RGLRU_CONTRACT_CUH
#include "rglru.h"

#define DEFINE_BLOCK_LINEAR_FORWARD(E, e)                                                \
    wb_status block_linear_forward_##e(                                                  \
        E *px, E *pa, const E *c, const E *wx, const E *bx, const E *wa, const E *ba,    \
        int R, int G, int M, cudaStream_t stream)                                        \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!px || !pa || !c || !wx || !bx || !wa || !ba) return WB_BAD_SHAPE;           \
        return block_linear<E>(px, pa, c, wx, bx, wa, ba, R, G, M, stream);              \
    }

#define DEFINE_BLOCK_LINEAR(E, e)                                                        \
    DEFINE_BLOCK_LINEAR_FORWARD(E, e)                                                    \
    wb_status block_linear_backward_##e(                                                 \
        E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in,           \
        const E *dpx, const E *dpa, const E *c, const E *wx, const E *wa, int R, int G,  \
        int M, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!dc || !dwx || !dbx || !dwa || !dba || !dpx || !dpa || !c || !wx || !wa)     \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < block_linear_space<E>(R, G, M)) return WB_NO_SPACE;        \
        return block_linear_back<E>(                                                     \
            dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M,                 \
            (float *)workspace, stream);                                                 \
    }                                                                                    \
    size_t block_linear_backward_workspace_##e(int R, int G, int M)                      \
    {                                                                                    \
        return block_linear_space<E>(R, G, M);                                           \
    }

#define DEFINE_CONV1D(E, e)                                                              \
    wb_status conv1d_forward_##e(                                                        \
        E *out, E *conv_state, const E *x, const E *w, const E *bias, const int *pos,    \
        const int *len, int B, int T, int C, int width, int ld, cudaStream_t stream)     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!out || !x || !w || !bias) return WB_BAD_SHAPE;                              \
        return conv1d<E>(                                                                \
            out, conv_state, x, w, bias, pos, len, B, T, C, width, ld, stream);          \
    }                                                                                    \
    wb_status conv1d_backward_##e(                                                       \
        E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w,           \
        const int *pos, int B, int T, int C, int width, int ld, void *workspace,         \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dx || !dw || !dbias || !dout || !x || !w) return WB_BAD_SHAPE;              \
        if (workspace_bytes < conv1d_space<E>(B, T, C, width)) return WB_NO_SPACE;       \
        return conv1d_back<E>(                                                           \
            dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld, (float *)workspace,      \
            stream);                                                                     \
    }                                                                                    \
    size_t conv1d_backward_workspace_##e(int B, int T, int C, int width)                 \
    {                                                                                    \
        return conv1d_space<E>(B, T, C, width);                                          \
    }

#define DEFINE_GATES(E, e)                                                               \
    wb_status rglru_gates_forward_##e(                                                   \
        float *a, float *z, const E *c, const E *px, const E *pa, const E *a_param,      \
        const int *pos, int B, int T, int C, cudaStream_t stream)                        \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!a || !z || !c || !px || !pa || !a_param) return WB_BAD_SHAPE;               \
        return gates<E>(a, z, c, px, pa, a_param, pos, B, T, C, stream);                 \
    }                                                                                    \
    wb_status rglru_gates_backward_##e(                                                  \
        E *dc, E *dpx, E *dpa, float *da_param, const float *da, const float *dz,        \
        const E *c, const E *px, const E *pa, const E *a_param, const int *pos, int B,   \
        int T, int C, void *workspace, size_t workspace_bytes, cudaStream_t stream)      \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dc || !dpx || !dpa || !da_param || !da || !dz || !c || !px || !pa ||        \
            !a_param)                                                                    \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < gates_space<E>(B, T, C)) return WB_NO_SPACE;               \
        return gates_back<E>(                                                            \
            dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C,            \
            (float *)workspace, stream);                                                 \
    }                                                                                    \
    size_t rglru_gates_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return gates_space<E>(B, T, C);                                                  \
    }

#define DEFINE_RGLRU(E, e)                                                               \
    wb_status rglru_forward_##e(                                                         \
        E *out, float *h, float *state, const E *c, const E *px, const E *pa,            \
        const E *y, const E *a_param, const int *pos, const int *len, int B, int T,      \
        int C, int ldy, void *workspace, size_t workspace_bytes, cudaStream_t stream)    \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || (y && ldy < C)) return WB_BAD_SHAPE;              \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!out || !c || !px || !pa || !a_param) return WB_BAD_SHAPE;                   \
        if (workspace_bytes < rglru_space<E>(B, T, C)) return WB_NO_SPACE;               \
        forward_call<E> call = {out,     h,   state, c, px, pa, y,                       \
                                a_param, pos, len,   T, C,  ldy};                        \
        return rglru<E>(call, B, workspace, stream);                                     \
    }                                                                                    \
    size_t rglru_forward_workspace_##e(int B, int T, int C)                              \
    {                                                                                    \
        return rglru_space<E>(B, T, C);                                                  \
    }

#define DEFINE_RGLRU_BACKWARD(E, e)                                                      \
    wb_status rglru_backward_##e(                                                        \
        E *dc, E *dpx, E *dpa, E *dy, float *da_param, const E *dout, const E *c,        \
        const E *px, const E *pa, const E *y, const float *h, const E *a_param,          \
        const int *pos, int B, int T, int C, int ldy, void *workspace,                   \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || (y && ldy < C) || !y != !dy) return WB_BAD_SHAPE; \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dc || !dpx || !dpa || !da_param || !dout || !c || !px || !pa || !h ||       \
            !a_param)                                                                    \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < rglru_space<E>(B, T, C)) return WB_NO_SPACE;               \
        backward_call<E> call = {dc, dpx, dpa,     dy,  da_param, dout, c,   px,  pa,    \
                                 y,  h,   a_param, pos, T,        C,    ldy, NULL};      \
        return rglru_back<E>(call, B, workspace, stream);                                \
    }                                                                                    \
    size_t rglru_backward_workspace_##e(int B, int T, int C)                             \
    {                                                                                    \
        return rglru_space<E>(B, T, C);                                                  \
    }

#endif
