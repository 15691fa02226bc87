/* rglru_contract.cuh - given: the launchers of rglru.h. They check every argument, so the
 * kernels may rely on what rglru.h says.
 *
 * A file defines the templates of its part, which return a status, and ends with the
 * macro of that part for each element type: DEFINE_CONV1D_FORWARD(float, f32).
 *
 *     part  macro                         templates
 *     06.1  DEFINE_BLOCK_LINEAR_FORWARD   block_linear<E>(px, ..., M, stream)
 *           DEFINE_BLOCK_LINEAR_BACKWARD  block_linear_back<E>(dc, ..., partial, stream)
 *                                         block_linear_back_workspace<E>(R, G, M)
 *     06.2  DEFINE_CONV1D_FORWARD         conv1d<E>(out, ..., ld, stream)
 *           DEFINE_CONV1D_BACKWARD        conv1d_back<E>(dx, ..., partial, stream)
 *                                         conv1d_back_workspace<E>(B, T, C, width)
 *     06.3  DEFINE_GATES                  gates<E>(a, ..., C, stream)
 *                                         gates_back<E>(dc, ..., partial, stream)
 *                                         gates_back_workspace<E>(B, T, C)
 *     06.4  DEFINE_LINEAR_SCAN_FORWARD    linear_scan<E>(call, workspace, stream)
 *                                         linear_scan_workspace<E>(B, T, C)
 *           DEFINE_LINEAR_SCAN_BACKWARD   linear_scan_back, linear_scan_back_workspace
 *     06.5  DEFINE_RGLRU_FORWARD          rglru<E>(call, workspace, stream)
 *                                         rglru_workspace<E>(B, T, C)
 *           DEFINE_RGLRU_BACKWARD         rglru_back, rglru_back_workspace
 *     06.6  DEFINE_RGLRU_STEP             rglru_step<E>(call, stream)
 *
 * A _workspace template returns bytes; `partial` and `workspace` are that memory. `call`
 * is one of the structs below: the arguments of rglru.h under the same names.
 */
#ifndef RGLRU_CONTRACT_CUH
#define RGLRU_CONTRACT_CUH
#include "rglru.h"

constexpr int WARP = 32;  // threads of a warp

/* --- calls -------------------------------------------------------------------------- */

template <typename E> struct scan_call {
    E *h;
    float *h_last;
    const E *a, *z;
    const float *h0;
    int B, T, C;
};

template <typename E> struct scan_back_call {
    E *da, *dz;
    float *dh0;
    const E *dh;
    const float *dh_last;
    const E *a, *h;
    const float *h0;
    int B, T, C;
};

template <typename E> struct rglru_call {
    E *out;
    float *h, *state;
    const E *c, *px, *pa, *y, *a_param;
    const int *pos, *len;
    int B, T, C, ldy;
};

template <typename E> struct rglru_back_call {
    E *dc, *dpx, *dpa, *dy;
    float *da_param;
    const E *dout, *c, *px, *pa, *y;
    const float *h;
    const E *a_param;
    const int *pos;
    int B, T, C, ldy;
};

template <typename E> struct step_call {
    E *out, *conv_state;
    float *state;
    const E *x, *y, *w, *bias, *wx, *bx, *wa, *ba, *a_param;
    const int *pos;
    int B, G, M, width, ld;
};

/* --- launchers ---------------------------------------------------------------------- */

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

#define DEFINE_BLOCK_LINEAR_BACKWARD(E, e)                                               \
    wb_status block_linear_backward_##e(                                                 \
        E *dc, float *dwx, float *dbx, float *dwa, float *dba, const E *dc_in,           \
        const E *dpx, const E *dpa, const E *c, const E *wx, const E *wa, int R, int G,  \
        int M, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        if (R < 0 || G < 0 || M < 1 || M > 512) return WB_BAD_SHAPE;                     \
        if (R == 0 || G == 0) return WB_OK;                                              \
        if (!dc || !dwx || !dbx || !dwa || !dba || !dpx || !dpa || !c || !wx || !wa)     \
            return WB_BAD_SHAPE;                                                         \
        if (workspace_bytes < block_linear_back_workspace<E>(R, G, M))                   \
            return WB_NO_SPACE;                                                          \
        return block_linear_back<E>(                                                     \
            dc, dwx, dbx, dwa, dba, dc_in, dpx, dpa, c, wx, wa, R, G, M,                 \
            (float *)workspace, stream);                                                 \
    }                                                                                    \
    size_t block_linear_backward_workspace_##e(int R, int G, int M)                      \
    {                                                                                    \
        return block_linear_back_workspace<E>(R, G, M);                                  \
    }

#define DEFINE_CONV1D_FORWARD(E, e)                                                      \
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
    }

#define DEFINE_CONV1D_BACKWARD(E, e)                                                     \
    wb_status conv1d_backward_##e(                                                       \
        E *dx, float *dw, float *dbias, const E *dout, const E *x, const E *w,           \
        const int *pos, int B, int T, int C, int width, int ld, void *workspace,         \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || width < 2 || width > 8 || ld < C)                 \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!dx || !dw || !dbias || !dout || !x || !w) return WB_BAD_SHAPE;              \
        if (workspace_bytes < conv1d_back_workspace<E>(B, T, C, width))                  \
            return WB_NO_SPACE;                                                          \
        return conv1d_back<E>(                                                           \
            dx, dw, dbias, dout, x, w, pos, B, T, C, width, ld, (float *)workspace,      \
            stream);                                                                     \
    }                                                                                    \
    size_t conv1d_backward_workspace_##e(int B, int T, int C, int width)                 \
    {                                                                                    \
        return conv1d_back_workspace<E>(B, T, C, width);                                 \
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
        if (workspace_bytes < gates_back_workspace<E>(B, T, C)) return WB_NO_SPACE;      \
        return gates_back<E>(                                                            \
            dc, dpx, dpa, da_param, da, dz, c, px, pa, a_param, pos, B, T, C,            \
            (float *)workspace, stream);                                                 \
    }                                                                                    \
    size_t rglru_gates_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return gates_back_workspace<E>(B, T, C);                                         \
    }

#define DEFINE_LINEAR_SCAN_FORWARD(E, e)                                                 \
    wb_status linear_scan_forward_##e(                                                   \
        E *h, float *h_last, const E *a, const E *z, const float *h0, int B, int T,      \
        int C, void *workspace, size_t workspace_bytes, cudaStream_t stream)             \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!h || !a || !z) return WB_BAD_SHAPE;                                         \
        if (workspace_bytes < linear_scan_workspace<E>(B, T, C)) return WB_NO_SPACE;     \
        scan_call<E> call = {h, h_last, a, z, h0, B, T, C};                              \
        return linear_scan<E>(call, workspace, stream);                                  \
    }                                                                                    \
    size_t linear_scan_forward_workspace_##e(int B, int T, int C)                        \
    {                                                                                    \
        return linear_scan_workspace<E>(B, T, C);                                        \
    }

#define DEFINE_LINEAR_SCAN_BACKWARD(E, e)                                                \
    wb_status linear_scan_backward_##e(                                                  \
        E *da, E *dz, float *dh0, const E *dh, const float *dh_last, const E *a,         \
        const E *h, const float *h0, int B, int T, int C, void *workspace,               \
        size_t workspace_bytes, cudaStream_t stream)                                     \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0) return WB_BAD_SHAPE;                                \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!da || !dz || !dh || !a || !h) return WB_BAD_SHAPE;                          \
        if (workspace_bytes < linear_scan_back_workspace<E>(B, T, C)) return WB_NO_SPACE;\
        scan_back_call<E> call = {da, dz, dh0, dh, dh_last, a, h, h0, B, T, C};          \
        return linear_scan_back<E>(call, workspace, stream);                             \
    }                                                                                    \
    size_t linear_scan_backward_workspace_##e(int B, int T, int C)                       \
    {                                                                                    \
        return linear_scan_back_workspace<E>(B, T, C);                                   \
    }

#define DEFINE_RGLRU_FORWARD(E, e)                                                       \
    wb_status rglru_forward_##e(                                                         \
        E *out, float *h, float *state, const E *c, const E *px, const E *pa,            \
        const E *y, const E *a_param, const int *pos, const int *len, int B, int T,      \
        int C, int ldy, void *workspace, size_t workspace_bytes, cudaStream_t stream)    \
    {                                                                                    \
        if (B < 0 || T < 0 || C < 0 || (y && ldy < C)) return WB_BAD_SHAPE;              \
        if (B == 0 || T == 0 || C == 0) return WB_OK;                                    \
        if (!out || !c || !px || !pa || !a_param) return WB_BAD_SHAPE;                   \
        if (workspace_bytes < rglru_workspace<E>(B, T, C)) return WB_NO_SPACE;           \
        rglru_call<E> call = {out,     h,   state, c, px, pa, y,                         \
                              a_param, pos, len,   B, T,  C,  ldy};                      \
        return rglru<E>(call, workspace, stream);                                        \
    }                                                                                    \
    size_t rglru_forward_workspace_##e(int B, int T, int C)                              \
    {                                                                                    \
        return rglru_workspace<E>(B, T, C);                                              \
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
        if (workspace_bytes < rglru_back_workspace<E>(B, T, C)) return WB_NO_SPACE;      \
        rglru_back_call<E> call = {dc, dpx, dpa, dy,      da_param, dout, c, px, pa,     \
                                   y,  h,   a_param, pos, B,        T,    C, ldy};       \
        return rglru_back<E>(call, workspace, stream);                                   \
    }                                                                                    \
    size_t rglru_backward_workspace_##e(int B, int T, int C)                             \
    {                                                                                    \
        return rglru_back_workspace<E>(B, T, C);                                         \
    }

#define DEFINE_RGLRU_STEP(E, e)                                                          \
    wb_status rglru_step_##e(                                                            \
        E *out, E *conv_state, float *state, const E *x, const E *y, const E *w,         \
        const E *bias, const E *wx, const E *bx, const E *wa, const E *ba,               \
        const E *a_param, const int *pos, int B, int G, int M, int width, int ld,        \
        cudaStream_t stream)                                                             \
    {                                                                                    \
        if (B < 0 || G < 0 || M < 1 || M > 512 || width < 2 || width > 8 ||              \
            ld < (long long)G * M)                                                       \
            return WB_BAD_SHAPE;                                                         \
        if (B == 0 || G == 0) return WB_OK;                                              \
        if (!out || !conv_state || !state || !x || !y || !w || !bias || !wx || !bx ||    \
            !wa || !ba || !a_param || !pos)                                              \
            return WB_BAD_SHAPE;                                                         \
        step_call<E> call = {out, conv_state, state,   x,   y, w, bias, wx,    bx,       \
                             wa,  ba,         a_param, pos, B, G, M,    width, ld};      \
        return rglru_step<E>(call, stream);                                              \
    }

#endif
