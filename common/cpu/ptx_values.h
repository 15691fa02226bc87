/* ptx_values.h - the values of inline PTX by their types; internal to the library. */
#ifndef WBCPU_PTX_VALUES_H
#define WBCPU_PTX_VALUES_H

#include "include/cuda_bf16.h"
#include "include/cuda_fp16.h"
#include "ptx.h"

#include <cmath>

namespace wbcpu
{
template <class T> T as(uint64_t bits)
{
    if constexpr (std::is_same_v<T, bool>) return bits != 0;
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> uint64_t bits_of(T value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

/* Calls f with a value of the type's C++ type; false: no such type. */
template <class F> bool with_type(const std::string &t, F f)
{
    const int n = ptx_bytes(t);
    if (t == "pred")
        f(bool());
    else if (t == "f32")
        f(float());
    else if (t == "f64")
        f(double());
    else if (t == "f16")
        f(__half());
    else if (t == "f16x2")
        f(__half2());
    else if (t == "bf16")
        f(__nv_bfloat16());
    else if (t == "bf16x2")
        f(__nv_bfloat162());
    else if (t == "s64")
        f(int64_t());
    else if (t == "s32")
        f(int32_t());
    else if (t == "s16")
        f(int16_t());
    else if (t == "s8")
        f(int8_t());
    else if (t[0] != 'u' && t[0] != 'b')
        return false;
    else if (n == 8)
        f(uint64_t());
    else if (n == 4)
        f(uint32_t());
    else if (n == 2)
        f(uint16_t());
    else if (n == 1)
        f(uint8_t());
    else
        return false;
    return true;
}
template <class T>
constexpr bool is_half = std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>;
template <class T>
constexpr bool is_pair = std::is_same_v<T, __half2> || std::is_same_v<T, __nv_bfloat162>;
template <class T>
constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;

/* A ptx_value for the type T, of the operands a, b and c */
#define WBCPU_PTX_VALUE(expression)                                                      \
    [](const ptx_instruction &, uint64_t bits_a, uint64_t bits_b, uint64_t bits_c,       \
       uint64_t) {                                                                       \
        [[maybe_unused]] const T a = as<T>(bits_a), b = as<T>(bits_b),                   \
                                 c = as<T>(bits_c);                                      \
        return bits_of<T>((T)(expression));                                              \
    }
}  // namespace wbcpu
#endif
