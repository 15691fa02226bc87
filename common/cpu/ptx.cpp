/* ptx.cpp - executes inline PTX, one instruction after another, for the running thread. */
#include "ptx_values.h"

namespace wbcpu
{
int ptx_bytes(const std::string &t)
{
    if (t == "pred") return 8;
    size_t digits = t.find_first_of("0123456789");
    if (t.empty() || digits > 2 || digits == 0) return 0;
    int bits = atoi(t.c_str() + digits);
    if (t.find("x2") != std::string::npos) bits *= 2;
    return bits >= 8 && bits <= 128 ? bits / 8 : 0;
}
static uint64_t special(const std::string &name)
{
    unsigned lane = wbcpu_lane();
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        {"laneid", lane},
        {"warpid", wbcpu_tid() / 32},
        {"nwarpid", (wbcpu_self->threads + 31) / 32},
        {"lanemask_eq", 1u << lane},
        {"lanemask_lt", (1u << lane) - 1},
        {"lanemask_le", (2u << lane) - 1},
        {"lanemask_gt", ~((2u << lane) - 1)},
        {"lanemask_ge", ~((1u << lane) - 1)},
        {"tid.x", threadIdx.x},
        {"tid.y", threadIdx.y},
        {"tid.z", threadIdx.z},
        {"ntid.x", blockDim.x},
        {"ntid.y", blockDim.y},
        {"ntid.z", blockDim.z},
        {"ctaid.x", blockIdx.x},
        {"ctaid.y", blockIdx.y},
        {"ctaid.z", blockIdx.z},
        {"nctaid.x", gridDim.x},
        {"nctaid.y", gridDim.y},
        {"nctaid.z", gridDim.z},
        {"smid", 0},
        {"nsmid", 1},
        {"gridid", 0},
    };
    if (name == "globaltimer") return (uint64_t)wbcpu_nanoseconds();
    if (name == "clock" || name == "clock64") return (uint64_t)clock64();
    for (const auto &s : all)
        if (name == s.name) return s.value;
    stop(nullptr, "inline PTX: the special register %%%s is not supported", name.c_str());
}
uint64_t ptx_run::get(const ptx_operand &o) const
{
    switch (o.kind) {
    case ptx_operand::OPERAND:
        return o.index < count ? operands[o.index].bits : 0;
    case ptx_operand::REGISTER:
        return registers[(size_t)o.index];
    case ptx_operand::NUMBER:
        return o.number;
    case ptx_operand::SPECIAL:
        return special(o.name);
    default:
        return 0;
    }
}
void ptx_run::set(const ptx_operand &o, uint64_t value)
{
    if (o.kind == ptx_operand::OPERAND && o.index < count)
        operands[o.index].bits = value;
    else if (o.kind == ptx_operand::REGISTER)
        registers[(size_t)o.index] = value;
}

/* --- one instruction -------------------------------------------------------------------- */

static bool execute(ptx_run &run, const ptx_instruction &i)
{
    const std::string &op = i.parts[0];
    auto in = [&](size_t k) { return k < i.operands.size() ? run.get(i.operands[k]) : 0; };
    uint64_t r = 0;
    if (op == "membar" || op == "fence") return __threadfence(), true;
    if (op == "nanosleep") return wbcpu_yield(), true;
    if (op == "trap") return wbcpu_trap(), true;
    if (op == "prefetch" || op == "prefetchu" || op == "griddepcontrol" || op == "discard" || op == "applypriority") return true;
    if (run_memory_ptx(run, i) || run_warp_ptx(run, i)) return true;
    if (i.operands.empty()) return false;
    if (op == "cvta") {
        r = !i.has("shared") ? in(1) : i.has("to") ? __cvta_generic_to_shared((void *)in(1)) : (uint64_t)__cvta_shared_to_generic(in(1));
    } else if (op == "mov" && i.operands[1].kind == ptx_operand::LIST) { /* packs */
        int part = ptx_bytes(i.type()) / (int)i.operands[1].list.size() * 8;
        for (size_t k = 0; k < i.operands[1].list.size(); k++)
            r |= (run.get(i.operands[1].list[k]) & ((1ull << part) - 1)) << (int)k * part;
    } else if (op == "mov" && i.operands[0].kind == ptx_operand::LIST) {
        int part = ptx_bytes(i.type()) / (int)i.operands[0].list.size() * 8;
        for (size_t k = 0; k < i.operands[0].list.size(); k++)
            run.set(i.operands[0].list[k], in(1) >> (int)k * part & ((1ull << part) - 1));
        return true;
    } else if (op == "setp") {
        with_type(i.type(), [&](auto t) {
            typedef decltype(t) T;
            if constexpr (is_number<T>) r = compare(i.parts[1], as<T>(in(1)), as<T>(in(2)));
        });
    } else if (op == "selp") {
        r = in(3) ? in(1) : in(2);
    } else if (op == "cvt") {
        if (ptx_bytes(i.type()) == 0 || i.parts.size() < 3) return false;
        r = ptx_convert(i, in(1));
    } else if ((op == "mul" || op == "mad") && (i.has("wide") || i.has("hi"))) {
        r = ptx_product(i, in(1), in(2)) + (op == "mad" ? in(3) : 0);
    } else if (op == "addc" || i.has("cc")) { /* with carry, 32 or 64 bits */
        unsigned __int128 sum = (unsigned __int128)in(1) + in(2) + (op == "addc" && run.carry);
        if (op != "addc" && op != "add") return false;
        int bits = ptx_bytes(i.type()) * 8;
        if (bits == 32) sum = (unsigned __int128)(uint32_t)in(1) + (uint32_t)in(2) + (op == "addc" && run.carry);
        if (i.has("cc")) run.carry = sum >> bits & 1;
        r = (uint64_t)sum;
    } else if (!ptx_on_bits(i, in(1), in(2), in(3), in(4), &r)) {
        bool known = false;
        with_type(i.type(), [&](auto t) {
            typedef decltype(t) T;
            T result = T();
            known = arithmetic<T>(op, as<T>(in(1)), as<T>(in(2)), as<T>(in(3)), &result);
            r = bits_of(result);
        });
        if (!known) return false;
    }
    run.set(i.operands[0], r);
    return true;
}

extern "C" void wbcpu_run_ptx(
    const char *file, int line, const char *text, wbcpu_ptx_operand *operands, int count)
{
    const ptx_code &code = parse_ptx(text);
    if (!code.error.empty())
        stop(
            nullptr, "%s:%d: inline PTX: %s is not supported by the CPU back end: guard it "
            "with #ifndef __CUDACPU__", file, line, code.error.c_str());
    ptx_run run = {operands, count, std::vector<uint64_t>((size_t)code.registers)};
    for (const ptx_instruction &i : code.instructions) {
        if (i.predicated && (run.get(i.predicate) != 0) == i.negated) continue;
        if (!execute(run, i))
            stop(
                nullptr, "%s:%d: inline PTX: %s is not supported by the CPU back end: guard it "
                "with #ifndef __CUDACPU__", file, line, i.text.c_str());
    }
}
}  // namespace wbcpu
