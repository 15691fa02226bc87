/* collective.cpp - warp collectives. The last lane to arrive computes the results of all
 * lanes: value[] holds the operands on entry and the results on return. */
#include "check/hooks.h"
#include "scheduler.h"

namespace wbcpu
{
/* Calls f(lane) for every lane of a mask, lowest first. */
template <class F> static inline void each(uint32_t lanes, F f)
{
    for (; lanes; lanes &= lanes - 1)
        f(__builtin_ctz(lanes));
}

static void shuffle(warp *q, uint32_t lanes)
{
    uint64_t result[32];
    if (lanes == ~0u) { /* the usual case, without a branch per lane */
        for (int l = 0; l < 32; l++)
            result[l] = q->value[q->arg[l] & 31];
        memcpy(q->value, result, sizeof result);
        return;
    }
    each(lanes, [&](int l) {
        unsigned source = q->arg[l] & 31;
        result[l] = q->value[lanes >> source & 1 ? source : (unsigned)l];
    });
    each(lanes, [&](int l) { q->value[l] = result[l]; });
}

static void match_any(warp *q, uint32_t lanes)
{
    uint64_t result[32];
    each(lanes, [&](int l) {
        result[l] = 0;
        each(lanes, [&](int other) {
            if (q->value[other] == q->value[l]) result[l] |= 1u << other;
        });
    });
    each(lanes, [&](int l) { q->value[l] = result[l]; });
}

/* The result that all lanes share. */
static uint64_t reduce(const warp *q, uint32_t lanes, int op)
{
    const uint64_t *v = q->value;
    uint64_t first = v[__builtin_ctz(lanes)], r = 0;
    switch (op) {
    case WBCPU_OP_BALLOT:
        each(lanes, [&](int l) { r |= (v[l] & 1) << l; });
        return r;
    case WBCPU_OP_ANY:
    case WBCPU_OP_REDUCE_OR:
        each(lanes, [&](int l) { r |= v[l]; });
        return r;
    case WBCPU_OP_ALL:
    case WBCPU_OP_REDUCE_AND:
        r = first;
        each(lanes, [&](int l) { r &= v[l]; });
        return r;
    case WBCPU_OP_REDUCE_ADD:
        each(lanes, [&](int l) { r += v[l]; });
        return r;
    case WBCPU_OP_REDUCE_XOR:
        each(lanes, [&](int l) { r ^= v[l]; });
        return r;
    case WBCPU_OP_REDUCE_MIN:
        r = first;
        each(lanes, [&](int l) { r = (int64_t)v[l] < (int64_t)r ? v[l] : r; });
        return r;
    case WBCPU_OP_REDUCE_MAX:
        r = first;
        each(lanes, [&](int l) { r = (int64_t)v[l] > (int64_t)r ? v[l] : r; });
        return r;
    case WBCPU_OP_MATCH_ALL:
        r = lanes;
        each(lanes, [&](int l) { r = v[l] == first ? r : 0; });
        return r;
    }
    stop(nullptr, "internal error: unknown warp operation %d", op);
}

void complete(warp *q, uint32_t lanes, int op, uint64_t arg)
{
    if (!lanes) return; /* every lane of the mask has exited */
    if (op >= WBCPU_OP_LOOP) op = WBCPU_OP_CALL;
    switch (op) {
    case WBCPU_OP_SYNC:
        return;
    case WBCPU_OP_SHFL:
        shuffle(q, lanes);
        return;
    case WBCPU_OP_MATCH_ANY:
        match_any(q, lanes);
        return;
    case WBCPU_OP_CALL:
        check::for_all_lanes(true);
        ((wbcpu_together)arg)(q->value, lanes);
        check::for_all_lanes(false);
        return;
    }
    uint64_t r = reduce(q, lanes, op);
    each(lanes, [&](int l) { q->value[l] = r; });
}
}  // namespace wbcpu
