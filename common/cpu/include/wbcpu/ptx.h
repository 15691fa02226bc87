/* ptx.h - inline PTX. The translator writes asm("code" : outputs : inputs) as
 *
 *     ::wbcpu::ptx(file, line, "code", ptx_out("=r", (x)), ptx_in("l", (p)))
 *
 * and the library interprets the code (ptx.cpp). An instruction that it does not know ends
 * the program when it is executed, with the line. */
#ifndef WBCPU_PTX_H
#define WBCPU_PTX_H

#include "execution.h"

struct wbcpu_ptx_operand {
    uint64_t bits; /* a register's */
    void *out;     /* NULL: an input */
    unsigned bytes;
};
extern "C" void wbcpu_run_ptx(
    const char *file, int line, const char *code, wbcpu_ptx_operand *operands, int count);

namespace wbcpu
{
template <class T> WBCPU_INLINE uint64_t ptx_bits(const T &value)
{
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        return (uint64_t)(int64_t)value;
    } else {
        uint64_t bits = 0;
        static_assert(sizeof value <= 8, "inline PTX: an operand has more than 8 bytes");
        __builtin_memcpy(&bits, &value, sizeof value);
        return bits;
    }
}
/* By value: in templates g++ does not bind a reference to &p[i] of a __restrict__ pointer. */
template <class T> WBCPU_INLINE wbcpu_ptx_operand ptx_in(const char *, T value)
{
    return {ptx_bits(value), nullptr, sizeof value};
}
template <class T>
WBCPU_INLINE wbcpu_ptx_operand ptx_out(const char *constraint, T &value)
{
    return {*constraint == '+' ? ptx_bits(value) : 0, &value, sizeof value};
}
template <class... Operands>
WBCPU_INLINE void ptx(const char *file, int line, const char *code, Operands... operands)
{
    wbcpu_ptx_operand list[] = {operands..., {0, nullptr, 0}};
    wbcpu_run_ptx(file, line, code, list, (int)sizeof...(operands));
    for (const wbcpu_ptx_operand &o : list)
        if (o.out) __builtin_memcpy(o.out, &o.bits, o.bytes);
}
}  // namespace wbcpu

#endif
