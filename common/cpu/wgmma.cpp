/* wgmma.cpp - m64nNk16 (cuda/wgmma.cuh). Each warp multiplies its 16 rows when it waits,
 * and reads the tiles in shared memory then, by their descriptors. */
#include "async.h"
#include "check/hooks.h"
#include "include/cuda_bf16.h"
#include "include/cuda_fp16.h"

namespace wbcpu
{
enum { K = 16, ROWS = 16, MAX_N = 256, CHUNK = 8 }; /* elements in 16 bytes */

static float widen(uint16_t x, bool bf16)
{
    if (!bf16) return half_to_float_soft(x);
    uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

/* A tile as its descriptor describes it. mn: m or n. Chunks of 16 bytes: 8 k of one mn if
 * K-major, else 8 mn of one k. */
struct tile {
    uintptr_t start;
    size_t leading, S;
    bool by_k, bf16;
    const char *name;

    tile(uint64_t descriptor, bool by_k, bool bf16, const char *name)
        : start((descriptor & ((1ull << WBCPU_TILE_LEADING) - 1)) * 16),
          leading((descriptor >> WBCPU_TILE_LEADING & 0x3fff) * 16), by_k(by_k),
          bf16(bf16), name(name)
    {
        int mode = (int)(descriptor >> WBCPU_TILE_MODE);
        S = mode == 1 ? 128 : mode == 2 ? 64 : 32;
        if (!mode)
            misuse("calls wgmma with a descriptor of %s that has no swizzle", name);
    }
    const uint16_t *chunk(int mn, int k) const
    {
        size_t row = (size_t)(by_k ? mn : k), W = S / 2;
        size_t at = row * S + (by_k ? (size_t)k * 2
                                    : (size_t)mn / W * leading + (size_t)mn % W * 2);
        uintptr_t p = start + at;
        p ^= (p >> 7 & (S / 16 - 1)) << 4;
        if (!in_shared(self(), (const void *)p, 16))
            misuse(
                "calls wgmma with a descriptor of %s that leaves shared memory: row %d, k "
                "%d",
                name, mn, k);
        return (const uint16_t *)p;
    }
    /* out[k][mn - first], for `rows` of mn */
    template <int LD> void read(float (*out)[LD], int first, int rows) const
    {
        for (int mn = 0; mn < rows; mn += by_k ? 1 : CHUNK)
            for (int k = 0; k < K; k += by_k ? CHUNK : 1) {
                const uint16_t *c = chunk(first + mn, k);
                for (int i = 0; i < CHUNK; i++)
                    (by_k ? out[k + i][mn] : out[k][mn + i]) = widen(c[i], bf16);
            }
    }
};

/* a[k][row] from the registers of the 32 lanes: A of mma.cuh */
static void read_registers(float (*a)[ROWS], const wgmma_op &op)
{
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < 4; i++) {
            uint16_t two[2];
            memcpy(two, &op.a[lane][i], 4);
            int row = lane / 4 + i % 2 * 8, col = lane % 4 * 2 + i / 2 * 8;
            a[col][row] = widen(two[0], op.of.bf16);
            a[col + 1][row] = widen(two[1], op.of.bf16);
        }
}

/* Calls f(accumulator, its place in a float[16][MAX_N]) for all of a warp. */
template <class F> static void each_accumulator(const wgmma_op &op, F f)
{
    for (int lane = 0; lane < 32; lane++)
        for (int i = 0; i < op.of.n / 2; i++)
            f(op.d[lane][i],
              (lane / 4 + i / 2 % 2 * 8) * MAX_N + i / 4 * 8 + lane % 4 * 2 + i % 2);
}

static void multiply(const wgmma_op &op, int warp)
{
    static thread_local float a[K][ROWS], b[K][MAX_N], d[ROWS][MAX_N];
    int n = op.of.n;
    if (op.of.a)
        read_registers(a, op);
    else
        tile(op.of.tile_a, op.of.a_by_k, op.of.bf16, "A").read(a, warp % 4 * ROWS, ROWS);
    tile(op.of.tile_b, op.of.b_by_k, op.of.bf16, "B").read(b, 0, n);
    float *all = &d[0][0];
    check::tensor_multiplies(ROWS * (unsigned)n * K);
    each_accumulator(op, [&](float &x, int i) { all[i] = op.of.accumulate ? x : 0.0f; });
    for (int m = 0; m < ROWS; m++)
        for (int k = 0; k < K; k++)
            for (int j = 0; j < n; j++)
                d[m][j] += a[k][m] * b[k][j];
    each_accumulator(op, [&](float &x, int i) { x = all[i]; });
}

static wgmma_queue &queue_of(worker *w)
{
    return async_of(w)->warps[w->thread / 32];
}
static void need_warp(const worker *w, unsigned lanes)
{
    if (lanes != ~0u || (w->thread / 128 + 1) * 128 > w->threads)
        misuse(
            "calls wgmma in a block of %u threads, or in a part of a warp: all 128 "
            "threads of a warpgroup call it together",
            w->threads);
}

#ifdef WBCPU_CHECK
/* The 16-byte pieces of the tiles of the groups that a wait finishes. Lane 0 reads them for
 * its warp: the wait orders its lanes. */
extern "C" void wbcpu_wgmma_reads(int newest)
{
    worker *w = self();
    const void *pc = __builtin_extract_return_addr(__builtin_return_address(0));
    wgmma_queue &q = queue_of(w);
    if (w->thread % 32 || (int)q.ends.size() <= newest) return;
    unsigned n = q.ends[q.ends.size() - (size_t)newest - 1];
    auto read = [=](const tile &t, int first, int rows) {
        for (int mn = 0; mn < rows; mn += t.by_k ? 1 : CHUNK)
            for (int k = 0; k < K; k += t.by_k ? CHUNK : 1)
                check::async_reads(w, t.chunk(first + mn, k), 16, pc);
    };
    for (unsigned i = 0; i < n; i++) {
        const wbcpu_wgmma &o = q.ops[i].of;
        if (!o.a)
            read(
                tile(o.tile_a, o.a_by_k, o.bf16, "A"), (int)w->thread / 32 % 4 * ROWS,
                ROWS);
        read(tile(o.tile_b, o.b_by_k, o.bf16, "B"), 0, o.n);
    }
}
#endif

extern "C" void wbcpu_wgmma_start(uint64_t value[32], unsigned lanes)
{
    worker *w = self();
    wgmma_queue &q = queue_of(w);
    need_warp(w, lanes);
    if (q.fenced != ~0u) misuse("calls wgmma without wgmma_fence before the first one");
    q.ops.emplace_back();
    wgmma_op &op = q.ops.back();
    op.of = *(const wbcpu_wgmma *)value[0];
    for (int lane = 0; lane < 32; lane++) {
        const wbcpu_wgmma &own = *(const wbcpu_wgmma *)value[lane];
        if (own.n != op.of.n || own.tile_b != op.of.tile_b ||
            own.tile_a != op.of.tile_a || own.accumulate != op.of.accumulate)
            misuse("calls wgmma with other arguments than lane 0 of its warp");
        op.d[lane] = own.d;
        if (own.a) memcpy(op.a[lane], own.a, sizeof op.a[lane]);
    }
    check::wgmma_pends(1);
}

extern "C" void wbcpu_wgmma_finish(uint64_t value[32], unsigned lanes)
{
    worker *w = self();
    wgmma_queue &q = queue_of(w);
    need_warp(w, lanes);
    size_t newest = value[0];
    if (q.ends.size() <= newest) return;
    long groups = (long)(q.ends.size() - newest);
    unsigned n = q.ends[(size_t)groups - 1];
    for (unsigned i = 0; i < n; i++)
        multiply(q.ops[i], (int)w->thread / 32);
    check::wgmma_pends(-(int)n);
    q.ops.erase(q.ops.begin(), q.ops.begin() + n);
    q.ends.erase(q.ends.begin(), q.ends.begin() + groups);
    for (unsigned &end : q.ends)
        end -= n;
}
extern "C" void wbcpu_wgmma_fence()
{
    worker *w = self();
    queue_of(w).fenced |= 1u << w->thread % 32;
}
extern "C" void wbcpu_wgmma_commit()
{
    worker *w = self();
    wgmma_queue &q = queue_of(w);
    if (w->thread % 32 == 0) q.ends.push_back((unsigned)q.ops.size());
}
extern "C" void wbcpu_fence_async()
{
    check::async_fenced(self());
}
}  // namespace wbcpu
