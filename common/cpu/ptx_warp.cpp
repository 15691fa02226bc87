/* ptx_warp.cpp - inline PTX that the lanes of a warp or the threads of a block execute
 * together: mma.sync, ldmatrix, shuffles, votes, barriers. */
#include "ptx.h"

#include "include/wbcpu/checked.h"
#include "include/wbcpu/mma.h"

namespace wbcpu
{
/* --- mma.sync.aligned.m16n8kK.row.col.d.a.b.c, ldmatrix --------------------------------- */

/* The last lane that arrives reads and writes the operands of all lanes: value[l] is the
 * wbcpu_ptx_run of lane l. */
static void together(ptx_run &run, const ptx_instruction &i)
{
    run.instruction = &i;
    wbcpu_run_together(~0u, &run, i.together);
}
typedef const wbcpu_ptx_run *const lane_runs[32];
static const ptx_instruction &common_instruction(lane_runs &lanes, unsigned present)
{
    auto i = (const ptx_instruction *)lanes[__builtin_ctz(present)]->instruction;
    if (present != ~0u)
        stop(
            nullptr,
            "inline PTX: %s: all 32 lanes must execute it, not only %08x: move it out of "
            "the branch",
            i->text.c_str(), present);
    return *i;
}
/* For each register of an operand: as[lane][register] */
template <class Word, size_t N>
static void collect(Word (&as)[32][N], lane_runs &lanes, const ptx_operand &o)
{
    for (size_t r = 0; r < o.slots.size(); r++)
        for (int l = 0; l < 32; l++)
            as[l][r] = (Word)value_at(*lanes[l], o.slots[r]);
}
static void
distribute(const unsigned (&from)[32][4], lane_runs &lanes, const ptx_operand &o)
{
    for (size_t r = 0; r < o.slots.size(); r++)
        for (int l = 0; l < 32; l++)
            value_at(*lanes[l], o.slots[r]) = from[l][r];
}
static void mma(uint64_t value[32], unsigned present)
{
    const wbcpu_ptx_run *lanes[32];
    unsigned a[32][4], b[32][2], c[32][4];
    wbcpu_mma_lane mine[32];
    uint64_t pointers[32];
    memcpy(lanes, value, sizeof lanes);
    const ptx_instruction &i = common_instruction(lanes, present);
    collect(a, lanes, i.operands[1]);
    collect(b, lanes, i.operands[2]);
    collect(c, lanes, i.operands[3]);
    for (int l = 0; l < 32; l++) {
        mine[l] = {c[l], a[l], b[l]};
        pointers[l] = (uint64_t)(uintptr_t)&mine[l];
    }
    i.product->multiply(pointers, present);
    distribute(c, lanes, i.operands[0]);
}
static void find_mma(ptx_instruction &i)
{
    const size_t n = i.parts.size();
    if (n != 10 || i.parts[4] != "row" || i.parts[5] != "col") return;
    std::string types;
    for (size_t k : {3, 6, 7, 8, 9})
        types += i.parts[k] + ".";
    const wbcpu_mma_kind *kind = wbcpu_find_mma(types.c_str());
    if (!kind) return;
    const int registers[4] = {kind->c, kind->a, kind->b, kind->c};
    for (size_t o = 0; o < 4; o++)
        if ((int)i.operands[o].slots.size() != registers[o]) return;
    i.product = kind;
    i.together = mma;
    i.action = together;
}
/* i.number: matrices, i.flag: transposed */
static void load_matrices(uint64_t value[32], unsigned present)
{
    const wbcpu_ptx_run *lanes[32];
    unsigned r[32][4];
    wbcpu_matrix_lane mine[32];
    uint64_t pointers[32];
    memcpy(lanes, value, sizeof lanes);
    const ptx_instruction &i = common_instruction(lanes, present);
    const ptx_operand &from = i.operands[1];
    for (int l = 0; l < 32; l++) {
        void *row =
            __cvta_shared_to_generic(value_at(*lanes[l], from.slots[0]) + from.offset);
        mine[l] = {r[l], row, i.number, i.flag};
        pointers[l] = (uint64_t)(uintptr_t)&mine[l];
    }
    wbcpu_load_matrices(pointers, present);
    distribute(r, lanes, i.operands[0]);
}
static void ldmatrix(ptx_run &run, const ptx_instruction &i)
{
    const ptx_operand &from = i.operands[1];
    if (wbcpu_lane() < 8u * (unsigned)i.number)
        wbcpu_check_row(__cvta_shared_to_generic(run.get(from) + from.offset));
    together(run, i);
}
static void find_ldmatrix(ptx_instruction &i)
{
    i.number = i.has("x4") ? 4 : i.has("x2") ? 2 : 1;
    i.flag = i.has("trans");
    if (!i.has("m8n8") || (int)i.operands[0].slots.size() != i.number) return;
    i.together = load_matrices;
    i.action = ldmatrix;
}

/* --- shuffles, votes, barriers ------------------------------------------------------------ */

/* i.number: u(p), d(own), b(fly), i(dx) */
static void shuffle(ptx_run &run, const ptx_instruction &i)
{
    unsigned value = (unsigned)run.get(i.operands[1]),
             b = (unsigned)run.get(i.operands[2]);
    unsigned c = (unsigned)run.get(i.operands[3]), lane = wbcpu_lane();
    unsigned mask = i.given > 4 ? (unsigned)run.get(i.operands[4]) : ~0u;
    unsigned segment = c >> 8 & 31, clamp = c & 31;
    unsigned most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int source = i.number == 'u'   ? (int)lane - (int)b
                 : i.number == 'd' ? (int)(lane + b)
                 : i.number == 'b' ? (int)(lane ^ b)
                                   : (int)(least | (b & ~segment));
    bool inside = i.number == 'u' ? source >= (int)most : source <= (int)most;
    if (!inside) source = (int)lane;
    const std::vector<ptx_slot> &to = i.operands[0].slots;
    run.at(to[0]) = wbcpu_collective(WBCPU_OP_SHFL, mask, value, (uint64_t)source);
    if (to.size() > 1) run.at(to[1]) = inside;
}
/* i.number: an operation */
static void vote(ptx_run &run, const ptx_instruction &i)
{
    const bool p = run.get(i.operands[1]) != 0;
    const unsigned mask = i.given > 2 ? (unsigned)run.get(i.operands[2]) : ~0u;
    run.at(i.operands[0].slots[0]) = wbcpu_collective(i.number, mask, p, 0);
}
static void reduce(ptx_run &run, const ptx_instruction &i)
{
    const uint32_t v = (uint32_t)run.get(i.operands[1]);
    const uint64_t value = i.is_signed ? (uint64_t)(int64_t)(int32_t)v : v;
    run.at(i.operands[0].slots[0]) =
        (uint32_t)wbcpu_collective(i.number, (unsigned)run.get(i.operands[2]), value, 0);
}
static void active_mask(ptx_run &run, const ptx_instruction &i)
{
    run.at(i.operands[0].slots[0]) = wbcpu_collective(WBCPU_OP_ACTIVE, 0, 0, 0);
}
/* i.number: w(arp), n(amed), b(lock); i.flag: only arrives */
static void barrier(ptx_run &run, const ptx_instruction &i)
{
    const uint64_t id = run.get(i.operands[0]);
    if (i.number == 'w')
        wbcpu_collective(WBCPU_OP_SYNC, (unsigned)id, 0, 0);
    else if (i.number == 'n')
        wbcpu_named_barrier((int)id, (int)run.get(i.operands[1]), !i.flag);
    else
        wbcpu_barrier();
}

void find_warp(ptx_instruction &i)
{
    const std::string &op = i.op();
    if (op == "mma") {
        find_mma(i);
    } else if (op == "ldmatrix") {
        find_ldmatrix(i);
    } else if (op == "shfl") {
        i.number = i.has("up") ? 'u' : i.has("down") ? 'd' : i.has("bfly") ? 'b' : 'i';
        i.action = shuffle;
    } else if (op == "vote") {
        i.number = i.has("ballot") ? WBCPU_OP_BALLOT
                   : i.has("all")  ? WBCPU_OP_ALL
                                   : WBCPU_OP_ANY;
        if (!i.has("uni")) i.action = vote;
    } else if (op == "redux") {
        i.number = i.has("add")   ? WBCPU_OP_REDUCE_ADD
                   : i.has("min") ? WBCPU_OP_REDUCE_MIN
                   : i.has("max") ? WBCPU_OP_REDUCE_MAX
                   : i.has("and") ? WBCPU_OP_REDUCE_AND
                   : i.has("or")  ? WBCPU_OP_REDUCE_OR
                                  : WBCPU_OP_REDUCE_XOR;
        if (i.type()[0] != 'f') i.action = reduce;
    } else if (op == "bar" || op == "barrier") {
        i.flag = i.has("arrive");
        i.number = i.has("warp") ? 'w' : i.given > 1 ? 'n' : 'b';
        if (!i.has("red") && !i.has("cluster") && (i.given > 1 || !i.flag))
            i.action = barrier;
    } else if (op == "activemask") {
        i.action = active_mask;
    }
}
}  // namespace wbcpu
