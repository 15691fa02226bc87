/* ptx_warp.cpp - inline PTX that the lanes of a warp or the threads of a block execute
 * together: mma.sync, ldmatrix, shuffles, votes, barriers. */
#include "ptx.h"

#include "check/hooks.h"
#include "include/cuda_bf16.h"
#include "include/cuda_fp16.h"
#include "include/wbcpu/mma.h"

namespace wbcpu
{
/* --- mma.sync.aligned.m16n8kK.row.col: the layouts of the PTX manual ---------------------- */

struct mma_lane {
    const ptx_instruction *i;
    uint32_t a[4], b[2], c[4];
};
static float element(uint32_t word, int e, const std::string &type)
{
    if (type == "f16") return half_to_float_soft((uint16_t)(word >> 16 * e));
    if (type == "bf16") return bfloat16_to_float((uint16_t)(word >> 16 * e));
    if (type == "s8") return (signed char)(word >> 8 * e);
    if (type == "u8") return (unsigned char)(word >> 8 * e);
    float f; /* tf32 and f32 */
    memcpy(&f, &word, sizeof f);
    return f;
}
static void multiply(uint64_t value[32], unsigned)
{
    const ptx_instruction &i = *((const mma_lane *)value[0])->i;
    const std::string &ta = i.parts[7], &sums = i.parts[6];
    int k = atoi(i.parts[3].c_str() + 6), per = ta == "tf32" ? 1 : ta[1] == '8' ? 4 : 2;
    float a[16][32], b[32][8], c[16][8];
    for (int lane = 0; lane < 32; lane++) {
        const mma_lane *l = (const mma_lane *)value[lane];
        int row = lane / 4, place = lane % 4;
        for (int e = 0; e < per; e++) {
            for (int r = 0; r < 2 * k / (4 * per); r++)
                a[row + 8 * (r & 1)][place * per + e + 4 * per * (r >> 1)] =
                    element(l->a[r], e, ta);
            for (int r = 0; r < k / (4 * per); r++)
                b[place * per + e + 4 * per * r][row] = element(l->b[r], e, i.parts[8]);
        }
        for (int r = 0; r < 4; r++)
            c[row + 8 * (r >> 1)][place * 2 + (r & 1)] =
                sums == "f16" ? element(l->c[r >> 1], r & 1, "f16")
                : sums == "s32" ? (float)(int)l->c[r]
                                : element(l->c[r], 0, "f32");
    }
    check::tensor_multiplies(16 * 8 * (unsigned)k);
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 8; n++)
            for (int p = 0; p < k; p++)
                c[m][n] += a[m][p] * b[p][n];
    for (int lane = 0; lane < 32; lane++)
        for (int r = 0; r < 4; r++) {
            uint32_t *out = ((mma_lane *)value[lane])->c;
            float x = c[lane / 4 + 8 * (r >> 1)][lane % 4 * 2 + (r & 1)];
            if (sums == "s32")
                out[r] = (uint32_t)(int)x;
            else if (sums == "f16") {
                uint16_t h = float_to_half_soft(x);
                memcpy((char *)&out[r >> 1] + 2 * (r & 1), &h, 2);
            } else
                memcpy(&out[r], &x, 4);
        }
}
static bool mma(ptx_run &run, const ptx_instruction &i)
{
    if (i.parts.size() < 10 || i.parts[3].compare(0, 6, "m16n8k") || i.operands.size() < 4)
        return false;
    mma_lane mine = {&i, {0}, {0}, {0}};
    uint32_t *into[3] = {mine.a, mine.b, mine.c};
    for (int o = 0; o < 3; o++) {
        const ptx_operand &x = i.operands[(size_t)o + 1];
        size_t n = x.kind == ptx_operand::LIST ? x.list.size() : 1;
        for (size_t r = 0; r < n && r < (o == 1 ? 2 : 4); r++)
            into[o][r] = (uint32_t)run.get(x.kind == ptx_operand::LIST ? x.list[r] : x);
    }
    wbcpu_run_together(~0u, &mine, multiply);
    for (size_t r = 0; r < i.operands[0].list.size(); r++)
        run.set(i.operands[0].list[r], mine.c[r]);
    return true;
}

/* --- ldmatrix, stmatrix -------------------------------------------------------------------- */

static bool ldmatrix(ptx_run &run, const ptx_instruction &i)
{
    unsigned r[4];
    wbcpu_matrix_lane mine = {
        r,
        __cvta_shared_to_generic(run.get(i.operands[1]) + i.operands[1].number),
        i.has("x4") ? 4 : i.has("x2") ? 2 : 1, i.has("trans")};
    wbcpu_run_together(~0u, &mine, wbcpu_load_matrices);
    const ptx_operand &to = i.operands[0];
    for (size_t m = 0; m < (size_t)mine.matrices; m++)
        run.set(to.kind == ptx_operand::LIST ? to.list[m] : to, r[m]);
    return true;
}

/* --- shuffles, votes, barriers --------------------------------------------------------------- */

static bool shuffle(ptx_run &run, const ptx_instruction &i)
{
    unsigned value = (unsigned)run.get(i.operands[1]), b = (unsigned)run.get(i.operands[2]);
    unsigned c = (unsigned)run.get(i.operands[3]), lane = wbcpu_lane();
    unsigned mask = i.operands.size() > 4 ? (unsigned)run.get(i.operands[4]) : ~0u;
    unsigned segment = c >> 8 & 31, clamp = c & 31;
    unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int source = i.has("up")     ? (int)lane - (int)b
                 : i.has("down") ? (int)(lane + b)
                 : i.has("bfly") ? (int)(lane ^ b)
                                 : (int)(least | (b & ~segment));
    bool inside = i.has("up") ? source >= (int)most : source <= (int)most;
    if (!inside) source = (int)lane;
    uint64_t r = wbcpu_collective(WBCPU_OP_SHFL, mask, value, (uint64_t)source);
    const ptx_operand &to = i.operands[0];
    run.set(to.kind == ptx_operand::LIST ? to.list[0] : to, r);
    if (to.kind == ptx_operand::LIST) run.set(to.list[1], inside);
    return true;
}
static bool vote(ptx_run &run, const ptx_instruction &i)
{
    bool p = run.get(i.operands[1]) != 0;
    unsigned mask = i.operands.size() > 2 ? (unsigned)run.get(i.operands[2]) : ~0u;
    int op = i.has("ballot") ? WBCPU_OP_BALLOT : i.has("all") ? WBCPU_OP_ALL : WBCPU_OP_ANY;
    run.set(i.operands[0], wbcpu_collective(op, mask, p, 0));
    return true;
}
static bool reduce(ptx_run &run, const ptx_instruction &i)
{
    int op = i.has("add")   ? WBCPU_OP_REDUCE_ADD
             : i.has("min") ? WBCPU_OP_REDUCE_MIN
             : i.has("max") ? WBCPU_OP_REDUCE_MAX
             : i.has("and") ? WBCPU_OP_REDUCE_AND
             : i.has("or")  ? WBCPU_OP_REDUCE_OR
                            : WBCPU_OP_REDUCE_XOR;
    uint32_t v = (uint32_t)run.get(i.operands[1]);
    uint64_t value = i.type() == "s32" ? (uint64_t)(int64_t)(int32_t)v : v;
    run.set(
        i.operands[0],
        wbcpu_collective(op, (unsigned)run.get(i.operands[2]), value, 0) & 0xffffffffu);
    return true;
}
static bool barrier(ptx_run &run, const ptx_instruction &i)
{
    int id = i.operands.empty() ? 0 : (int)run.get(i.operands[0]);
    if (i.has("warp"))
        wbcpu_collective(WBCPU_OP_SYNC, (unsigned)id, 0, 0);
    else if (i.has("red"))
        return false;
    else if (i.operands.size() < 2 && !i.has("arrive"))
        wbcpu_barrier();
    else
        wbcpu_named_barrier(id, (int)run.get(i.operands[1]), !i.has("arrive"));
    return true;
}

bool run_warp_ptx(ptx_run &run, const ptx_instruction &i)
{
    const std::string &op = i.parts[0];
    if (op == "mma") return mma(run, i);
    if (op == "ldmatrix") return ldmatrix(run, i);
    if (op == "shfl") return shuffle(run, i);
    if (op == "vote") return vote(run, i);
    if (op == "redux") return reduce(run, i);
    if (op == "bar" || op == "barrier") return barrier(run, i);
    if (op == "activemask") {
        run.set(i.operands[0], wbcpu_collective(WBCPU_OP_ACTIVE, 0, 0, 0));
        return true;
    }
    return false;
}
}  // namespace wbcpu
