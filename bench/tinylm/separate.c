/* separate.c - rmsnorm_residual_forward as two passes: an addition, then the norm.
 * Replaces the lab's in two of the programs of ablation.c. */
#include "ops.h"
#include "rmsnorm.h"

#define DEFINE(E, e)                                                                     \
    wb_status rmsnorm_residual_forward_##e(                                              \
        E *out, E *sum, float *rstd, const E *x, const E *res, const E *w, int R, int C, \
        float eps, float offset, cudaStream_t stream)                                    \
    {                                                                                    \
        wb_status added = add_forward_##e(sum, x, res, (size_t)R * C, stream);           \
        if (added != WB_OK) return added;                                                \
        return rmsnorm_forward_##e(out, rstd, sum, w, R, C, eps, offset, stream);        \
    }
DEFINE(float, f32)
DEFINE(wb_f16, f16)
DEFINE(wb_bf16, bf16)
