/* ptx_memory.cpp - inline PTX: loads, stores, atomics, asynchronous copies. */
#include "include/wbcpu/checked.h"
#include "ptx_values.h"

namespace wbcpu
{
static char *address(const ptx_run &run, const ptx_instruction &i, const ptx_operand &o)
{
    uint64_t at = run.get(o) + (o.kind == ptx_operand::NUMBER ? 0 : o.number);
    return i.has("shared") ? (char *)__cvta_shared_to_generic(at) : (char *)at;
}
static void move(void *to, const void *from, size_t bytes)
{
#ifdef WBCPU_CHECK
    wbcpu_checked_memcpy(to, from, bytes);
#else
    memcpy(to, from, bytes);
#endif
}
static bool atomic(ptx_run &run, const ptx_instruction &i, bool returns)
{
    const ptx_operand &value = i.operands[returns ? 2 : 1];
    char *p = address(run, i, i.operands[returns ? 1 : 0]);
    uint64_t v = run.get(value), old = 0;
    bool known = true;
    wbcpu_count_atomic();
    with_type(i.type(), [&](auto t) {
        typedef decltype(t) T;
        typedef std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>> Word;
        Word word = __atomic_load_n((Word *)p, __ATOMIC_RELAXED), next;
        do {
            T a = as<T>(word), b = as<T>(v), r = b;
            if (i.has("cas")) next = word == (Word)v ? (Word)run.get(i.operands[3]) : word;
            else if (i.has("exch")) next = (Word)v;
            else if (i.has("and")) next = word & (Word)v;
            else if (i.has("or")) next = word | (Word)v;
            else if (i.has("xor")) next = word ^ (Word)v;
            else {
                known = arithmetic<T>(i.has("add") ? "add" : i.has("min") ? "min" : i.has("max") ? "max" : "?", a, b, T(), &r);
                next = (Word)bits_of(r);
            }
        } while (!__atomic_compare_exchange_n((Word *)p, &word, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
        old = word;
    });
    if (returns) run.set(i.operands[0], old);
    return known;
}
static bool load_or_store(ptx_run &run, const ptx_instruction &i, bool load)
{
    size_t bytes = (size_t)ptx_bytes(i.type());
    char *p = address(run, i, i.operands[load ? 1 : 0]);
    const ptx_operand &value = i.operands[load ? 0 : 1];
    const ptx_operand *first = value.kind == ptx_operand::LIST ? value.list.data() : &value;
    size_t n = value.kind == ptx_operand::LIST ? value.list.size() : 1;
    if (i.has("acquire") || i.has("volatile") || i.has("relaxed")) wbcpu_spin();
    if (i.has("release")) __threadfence();
    uint64_t bits[8] = {0};
    for (size_t k = 0; k < n && !load; k++)
        bits[k] = run.get(first[k]);
    char packed[64];
    for (size_t k = 0; k < n && !load; k++)
        memcpy(packed + k * bytes, &bits[k], bytes);
    move(load ? packed : p, load ? p : packed, n * bytes);
    for (size_t k = 0; k < n && load; k++) {
        memcpy(&bits[k], packed + k * bytes, bytes);
        if (i.type()[0] == 's' && bytes < 8)
            bits[k] = (uint64_t)((int64_t)(bits[k] << (64 - 8 * bytes)) >> (64 - 8 * bytes));
        run.set(first[k], bits[k]);
    }
    return true;
}
static bool copy_async(ptx_run &run, const ptx_instruction &i)
{
    if (i.has("bulk")) return false;
    if (i.has("commit_group")) wbcpu_copy_commit();
    else if (i.has("wait_all")) wbcpu_copy_commit(), wbcpu_copy_wait(0);
    else if (i.has("wait_group")) wbcpu_copy_wait((unsigned)run.get(i.operands[0]));
    else if (i.has("mbarrier")) return false;
    else {
        unsigned bytes = (unsigned)run.get(i.operands[2]), from = bytes;
        if (i.operands.size() > 3 && i.operands[3].kind != ptx_operand::REGISTER)
            from = (unsigned)run.get(i.operands[3]);
        void *to = __cvta_shared_to_generic(run.get(i.operands[0]) + i.operands[0].number);
        const void *source = (const void *)(run.get(i.operands[1]) + i.operands[1].number);
        wbcpu_copy_async(to, source, bytes, bytes - (from < bytes ? from : bytes));
    }
    return true;
}

/* false: not such an instruction */
bool run_memory_ptx(ptx_run &run, const ptx_instruction &i)
{
    const std::string &op = i.parts[0];
    if (op == "cp") return copy_async(run, i);
    if (op == "ld" || op == "ldu") return load_or_store(run, i, true);
    if (op == "st") return load_or_store(run, i, false);
    return (op == "atom" || op == "red") && atomic(run, i, op == "atom");
}
}  // namespace wbcpu
