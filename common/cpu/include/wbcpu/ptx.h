/* ptx.h - inline PTX. The translator writes asm("code" : outputs : inputs) as
 *
 *     ::wbcpu::ptx(WBCPU_PTX_SITE("code"), ptx_out("=r", (x)), ptx_in("l", (p)))
 *
 * and the library executes the code (ptx.cpp), which it parses once. An instruction that
 * it does not know ends the program when it is executed; the message names the line. */
#ifndef WBCPU_PTX_H
#define WBCPU_PTX_H

#include "execution.h"

/* The values of one execution: operands, registers, constants */
struct wbcpu_ptx_run {
    uint64_t *tables[3];
    const void *instruction; /* the library's, of the whole warp */
};
struct wbcpu_ptx_site {
    const char *file;
    int line;
    const char *text;
    const void *code; /* the library's, once it has read the text */
    /* If the text is one instruction of the whole warp: the function that executes it.
     * Each lane passes it a copy of run with its own operands. */
    wbcpu_together together;
    wbcpu_ptx_run run;
};
/* operands: the bits of each, which the code reads and changes */
extern "C" void wbcpu_run_ptx(wbcpu_ptx_site *site, uint64_t *operands, int count);

/* The site of one asm statement */
#define WBCPU_PTX_SITE(...)                                                              \
    []() -> ::wbcpu_ptx_site & {                                                         \
        static ::wbcpu_ptx_site site = {__FILE__, __LINE__, __VA_ARGS__,                 \
                                        nullptr,  nullptr,  {}};                         \
        return site;                                                                     \
    }()

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
struct ptx_input {
    uint64_t bits;
    void store(uint64_t) const {}
};
template <class T> struct ptx_output {
    uint64_t bits;
    T *out;
    void store(uint64_t result) const
    {
        __builtin_memcpy(out, &result, sizeof *out);
    }
};
/* By value: in templates g++ does not bind a reference to &p[i] of a __restrict__ pointer. */
template <class T> WBCPU_INLINE ptx_input ptx_in(const char *, T value)
{
    return {ptx_bits(value)};
}
template <class T> WBCPU_INLINE ptx_output<T> ptx_out(const char *constraint, T &value)
{
    return {*constraint == '+' ? ptx_bits(value) : 0, &value};
}
template <class... Operands>
WBCPU_INLINE void ptx(wbcpu_ptx_site &site, Operands... operands)
{
    uint64_t bits[] = {operands.bits..., 0};
    const uint64_t *result = bits;
#ifndef WBCPU_CHECKED
    /* The lanes wait here and not in the library: a return from the library on another
     * lane's stack is mispredicted. */
    if (wbcpu_together work = __atomic_load_n(&site.together, __ATOMIC_ACQUIRE)) {
        wbcpu_ptx_run run = {{bits, nullptr, site.run.tables[2]}, site.run.instruction};
        wbcpu_run_together(~0u, &run, work);
    } else
#endif
        wbcpu_run_ptx(&site, bits, (int)sizeof...(operands));
    (operands.store(*result++), ...);
    (void)result;
}
}  // namespace wbcpu

#endif
