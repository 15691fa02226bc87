/* state.cu - wb_train to and from ten floats, in the order of STATE in
 * reference/ops_formulas.py. */
#include "ops.h"

static wb_train *state;

static __global__ void unpack(wb_train *s, const float *st)
{
    s->seed = (uint64_t)st[0], s->tick = (uint32_t)st[1], s->step = (uint32_t)st[2];
    s->updates = (uint32_t)st[3], s->good = (uint32_t)st[4], s->loss_scale = st[5];
    s->lr = st[6], s->grad_scale = st[7], s->loss = st[8], s->grad_norm = st[9];
}
static __global__ void repack(float *st, const wb_train *s)
{
    st[0] = (float)s->seed, st[1] = (float)s->tick, st[2] = (float)s->step;
    st[3] = (float)s->updates, st[4] = (float)s->good, st[5] = s->loss_scale;
    st[6] = s->lr, st[7] = s->grad_scale, st[8] = s->loss, st[9] = s->grad_norm;
}

extern "C" wb_train *state_from(const float *st, cudaStream_t stream)
{
    if (!state && cudaMalloc((void **)&state, sizeof *state) != cudaSuccess) return NULL;
    unpack<<<1, 1, 0, stream>>>(state, st);
    return state;
}
extern "C" void state_to(float *st, cudaStream_t stream)
{
    repack<<<1, 1, 0, stream>>>(st, state);
}
extern "C" void free_state(void)
{
    cudaFree(state);
    state = NULL;
}
