/* ptx_memory.cpp - inline PTX: loads, stores, atomics, asynchronous copies. */
#include "include/wbcpu/checked.h"
#include "ptx_values.h"

namespace wbcpu
{
static char *in_shared(const ptx_run &run, const ptx_operand &o)
{
    return (char *)__cvta_shared_to_generic(run.get(o) + o.offset);
}
static char *address(const ptx_run &run, const ptx_instruction &i, const ptx_operand &o)
{
    return i.shared ? in_shared(run, o) : (char *)(run.get(o) + o.offset);
}

/* --- loads, stores -------------------------------------------------------------------- */

/* One access of n elements */
template <class T> static void move(T *to, const T *from, size_t n)
{
#ifdef WBCPU_CHECK
    wbcpu_checked_memcpy(to, from, n * sizeof(T));
#else
    for (size_t k = 0; k < n; k++)
        memcpy(to + k, from + k, sizeof(T));
#endif
}
constexpr size_t most_elements = 8; /* of a vector */

template <class T> static void load(ptx_run &run, const ptx_instruction &i)
{
    const std::vector<ptx_slot> &to = i.operands[0].slots;
    T elements[most_elements];
    if (i.flag) wbcpu_spin();
    move(elements, (const T *)address(run, i, i.operands[1]), to.size());
    for (size_t k = 0; k < to.size(); k++)
        run.at(to[k]) = (uint64_t)(int64_t)elements[k];
}
template <class T> static void store(ptx_run &run, const ptx_instruction &i)
{
    const std::vector<ptx_slot> &from = i.operands[1].slots;
    T elements[most_elements];
    if (i.flag) wbcpu_spin();
    if (i.number) __threadfence();
    for (size_t k = 0; k < from.size(); k++)
        elements[k] = (T)run.at(from[k]);
    move((T *)address(run, i, i.operands[0]), elements, from.size());
}
static void find_access(ptx_instruction &i, bool loads)
{
    i.flag = i.has("acquire") || i.has("volatile") || i.has("relaxed");
    i.number = i.has("release");
    if (i.operands[loads ? 0 : 1].slots.size() > most_elements || i.has("async")) return;
    if (i.bits == 64)
        i.action = loads ? load<uint64_t> : store<uint64_t>;
    else if (i.bits == 32 && i.is_signed)
        i.action = loads ? load<int32_t> : store<int32_t>;
    else if (i.bits == 32)
        i.action = loads ? load<uint32_t> : store<uint32_t>;
    else if (i.bits == 16 && i.is_signed)
        i.action = loads ? load<int16_t> : store<int16_t>;
    else if (i.bits == 16)
        i.action = loads ? load<uint16_t> : store<uint16_t>;
    else if (i.bits == 8 && i.is_signed)
        i.action = loads ? load<int8_t> : store<int8_t>;
    else if (i.bits == 8)
        i.action = loads ? load<uint8_t> : store<uint8_t>;
}

/* --- atomics -------------------------------------------------------------------------- */

/* atom; i.flag: red, which has no result */
template <class Word> static void atomic(ptx_run &run, const ptx_instruction &i)
{
    const size_t at = i.flag ? 0 : 1;
    Word *p = (Word *)address(run, i, i.operands[at]);
    const uint64_t b = run.get(i.operands[at + 1]), c = run.get(i.operands[at + 2]);
    wbcpu_count_atomic();
    Word old = __atomic_load_n(p, __ATOMIC_RELAXED), next;
    do
        next = (Word)i.value(i, old, b, c, 0);
    while (!__atomic_compare_exchange_n(
        p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    if (!i.flag) run.at(i.operands[0].slots[0]) = old;
}
static void find_atomic(ptx_instruction &i)
{
    i.flag = i.op() == "red";
    if (i.operands[i.flag ? 1 : 2].is_list || i.has("async")) return;
    for (const char *op :
         {"add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"})
        if (i.has(op)) i.value = ptx_operation(op, i.type());
    if (!i.value) return;
    if (i.bits == 64)
        i.action = atomic<uint64_t>;
    else if (i.bits == 32)
        i.action = atomic<uint32_t>;
    else if (i.bits == 16)
        i.action = atomic<uint16_t>;
}

/* --- cp.async ------------------------------------------------------------------------- */

/* cp.async [to], [from], cp-size, then perhaps src-size or the predicate ignore-src;
 * i.number: 1 if that operand is given; i.flag: it is the predicate */
static void copy(ptx_run &run, const ptx_instruction &i)
{
    const ptx_operand &source = i.operands[1];
    const unsigned bytes = (unsigned)run.get(i.operands[2]);
    unsigned zeros = 0;
    if (i.number) {
        const unsigned given = (unsigned)run.get(i.operands[3]);
        zeros = i.flag ? given ? bytes : 0 : bytes - (given < bytes ? given : bytes);
    }
    wbcpu_copy_async(
        in_shared(run, i.operands[0]), (const void *)(run.get(source) + source.offset),
        bytes, zeros);
}
static void find_copy(ptx_instruction &i)
{
    size_t operands = i.given;
    if (!i.has("async") || i.has("bulk") || i.has("mbarrier")) return;
    if (i.has("cache_hint")) operands--; /* the last one is a policy */
    i.number = operands > 3;
    i.flag = i.operands[3].is_predicate;
    if (i.has("commit_group")) {
        i.action = [](ptx_run &, const ptx_instruction &) { wbcpu_copy_commit(); };
    } else if (i.has("wait_all")) {
        i.action = [](ptx_run &, const ptx_instruction &) {
            wbcpu_copy_commit();
            wbcpu_copy_wait(0);
        };
    } else if (i.has("wait_group")) {
        i.action = [](ptx_run &run, const ptx_instruction &wait) {
            wbcpu_copy_wait((unsigned)run.get(wait.operands[0]));
        };
    } else if (operands >= 3) {
        i.action = copy;
    }
}

void find_memory(ptx_instruction &i)
{
    const std::string &op = i.op();
    if (op == "cp")
        find_copy(i);
    else if (op == "ld" || op == "ldu")
        find_access(i, true);
    else if (op == "st")
        find_access(i, false);
    else if (op == "atom" || op == "red")
        find_atomic(i);
}
}  // namespace wbcpu
