/* ptx.cpp - executes inline PTX, one instruction after another, for the running thread. */
#include "ptx_values.h"

#include <memory>
#include <mutex>
#include <unordered_map>

namespace wbcpu
{
int ptx_bytes(const std::string &t)
{
    if (t == "pred") return 8;
    size_t digits = t.find_first_of("0123456789");
    if (t.empty() || digits > 2 || digits == 0) return 0;
    int bits = atoi(t.c_str() + digits);
    if (t.find("x2") != std::string::npos) bits *= 2;
    return bits >= 8 && bits <= 64 ? bits / 8 : 0;
}
#define SPECIAL(value)                                                                   \
    [](const ptx_instruction &, [[maybe_unused]] uint64_t a, uint64_t, uint64_t,         \
       uint64_t) { return (uint64_t)(value); }
void find_special(ptx_instruction &i)
{
    static const struct {
        const char *name;
        ptx_value value;
    } all[] = {
        {"laneid", SPECIAL(wbcpu_lane())},
        {"warpid", SPECIAL(wbcpu_tid() / 32)},
        {"nwarpid", SPECIAL((wbcpu_self->threads + 31) / 32)},
        {"lanemask_eq", SPECIAL(1u << wbcpu_lane())},
        {"lanemask_lt", SPECIAL((1u << wbcpu_lane()) - 1)},
        {"lanemask_le", SPECIAL((2u << wbcpu_lane()) - 1)},
        {"lanemask_gt", SPECIAL(~((2u << wbcpu_lane()) - 1))},
        {"lanemask_ge", SPECIAL(~((1u << wbcpu_lane()) - 1))},
        {"tid.x", SPECIAL(threadIdx.x)},
        {"tid.y", SPECIAL(threadIdx.y)},
        {"tid.z", SPECIAL(threadIdx.z)},
        {"ntid.x", SPECIAL(blockDim.x)},
        {"ntid.y", SPECIAL(blockDim.y)},
        {"ntid.z", SPECIAL(blockDim.z)},
        {"ctaid.x", SPECIAL(blockIdx.x)},
        {"ctaid.y", SPECIAL(blockIdx.y)},
        {"ctaid.z", SPECIAL(blockIdx.z)},
        {"nctaid.x", SPECIAL(gridDim.x)},
        {"nctaid.y", SPECIAL(gridDim.y)},
        {"nctaid.z", SPECIAL(gridDim.z)},
        {"smid", SPECIAL(0)},
        {"nsmid", SPECIAL(1)},
        {"gridid", SPECIAL(0)},
        {"globaltimer", SPECIAL(wbcpu_nanoseconds())},
        {"clock", SPECIAL(clock64())},
        {"clock64", SPECIAL(clock64())},
    };
    for (const auto &s : all)
        if (i.text == s.name) i.value = s.value;
}

/* --- which function executes an instruction? ------------------------------------------ */

static void unsupported(ptx_run &run, const ptx_instruction &i)
{
    stop(
        nullptr,
        "%s:%d: inline PTX: %s is not supported by the CPU back end: guard it with "
        "#ifndef __CUDACPU__",
        run.site->file, run.site->line, i.text.c_str());
}
static void nothing(ptx_run &, const ptx_instruction &) {}

/* mov of lists: operand 0 = {a, b}, or {a, b} = operand 1; i.bits: of a part */
static void pack(ptx_run &run, const ptx_instruction &i)
{
    const std::vector<ptx_slot> &parts = i.operands[1].slots;
    const uint64_t mask = (1ull << i.bits) - 1;
    uint64_t all = 0;
    for (size_t k = 0; k < parts.size(); k++)
        all |= (run.at(parts[k]) & mask) << k * (size_t)i.bits;
    run.at(i.operands[0].slots[0]) = all;
}
static void unpack(ptx_run &run, const ptx_instruction &i)
{
    const std::vector<ptx_slot> &parts = i.operands[0].slots;
    const uint64_t all = run.get(i.operands[1]), mask = (1ull << i.bits) - 1;
    for (size_t k = 0; k < parts.size(); k++)
        run.at(parts[k]) = all >> k * (size_t)i.bits & mask;
}
static void find_others(ptx_instruction &i)
{
    const std::string &op = i.op();
    if (op == "membar" || op == "fence") {
        i.action = [](ptx_run &, const ptx_instruction &) { __threadfence(); };
    } else if (op == "nanosleep") {
        i.action = [](ptx_run &, const ptx_instruction &) { wbcpu_yield(); };
    } else if (op == "trap") {
        i.action = [](ptx_run &, const ptx_instruction &) { wbcpu_trap(); };
    } else if (
        op == "prefetch" || op == "prefetchu" || op == "griddepcontrol" ||
        op == "discard" || op == "applypriority") {
        i.action = nothing;
    } else if (op == "cvta" && i.has("shared")) {
        if (i.has("to"))
            i.value = SPECIAL(__cvta_generic_to_shared((void *)a));
        else
            i.value = SPECIAL(__cvta_shared_to_generic(a));
    } else if (op == "mov" && (i.operands[0].is_list || i.operands[1].is_list)) {
        const ptx_operand &list = i.operands[i.operands[0].is_list ? 0 : 1];
        i.bits /= (int)list.slots.size();
        if (i.bits) i.action = i.operands[0].is_list ? unpack : pack;
    }
}
static void resolve(ptx_instruction &i)
{
    i.given = i.operands.size();
    ptx_operand zero;
    zero.slots.resize(1);
    while (i.operands.size() < 5)
        i.operands.push_back(zero);
    for (size_t o = 0; o < 5; o++)
        i.first[o] = i.operands[o].slots[0];
    if (i.value) return; /* of a special register */
    i.shared = i.has("shared");
    i.bits = 8 * ptx_bytes(i.type());
    i.is_signed = i.type()[0] == 's';
    for (auto find :
         {find_others, find_memory, find_warp, find_conversion, find_arithmetic})
        if (!i.action && !i.value) find(i);
    if (!i.action && (!i.value || i.first[0].table == ptx_slot::CONSTANT))
        i.action = unsupported;
}

/* --- running ------------------------------------------------------------------------------ */

/* Each text once */
static const ptx_code *code_of(const char *text)
{
    static std::mutex lock;
    static std::unordered_map<std::string, std::unique_ptr<ptx_code>> known;
    std::lock_guard<std::mutex> hold(lock);
    std::unique_ptr<ptx_code> &code = known[text];
    if (!code) {
        code.reset(new ptx_code(parse_ptx(text)));
        for (ptx_instruction &i : code->instructions)
            if (code->error.empty()) resolve(i);
    }
    return code.get();
}
static const ptx_code *read(wbcpu_ptx_site *site, int count)
{
    const ptx_code *code = code_of(site->text);
    std::string error = code->error;
    if (code->operands > count)
        error = "%" + std::to_string(code->operands - 1) + " names no operand";
    if (!error.empty())
        stop(
            nullptr,
            "%s:%d: inline PTX: %s in the asm string: correct it, or guard it with "
            "#ifndef __CUDACPU__",
            site->file, site->line, error.c_str());
    const std::vector<ptx_instruction> &all = code->instructions;
    if (all.size() == 1 && all[0].together && !all[0].predicated &&
        code->registers == 1) {
        site->run = {
            {nullptr, nullptr, const_cast<uint64_t *>(code->constants.data())}, &all[0]};
        __atomic_store_n(&site->together, all[0].together, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&site->code, code, __ATOMIC_RELEASE);
    return code;
}
extern "C" void wbcpu_run_ptx(wbcpu_ptx_site *site, uint64_t *operands, int count)
{
    auto code = (const ptx_code *)__atomic_load_n(&site->code, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!code, 0)) code = read(site, count);
    auto registers =
        (uint64_t *)__builtin_alloca((size_t)code->registers * sizeof(uint64_t));
    for (int k = 0; k < code->registers; k++)
        registers[k] = 0;
    auto constants = const_cast<uint64_t *>(code->constants.data());
    ptx_run run = {{{operands, registers, constants}, nullptr}, site, false};
    for (const ptx_instruction &i : code->instructions) {
        if (i.predicated && (run.at(i.predicate) != 0) == i.negated) continue;
        if (i.action) {
            i.action(run, i);
            continue;
        }
        const ptx_slot *o = i.first;
        run.at(o[0]) = i.value(i, run.at(o[1]), run.at(o[2]), run.at(o[3]), run.at(o[4]));
    }
}
}  // namespace wbcpu
