/* ptx_values.h - the values of inline PTX by their types; internal to the library. */
#ifndef WBCPU_PTX_VALUES_H
#define WBCPU_PTX_VALUES_H

#include "include/cuda_fp16.h"
#include "ptx.h"

#include <cmath>

namespace wbcpu
{
template <class T> T as(uint64_t bits)
{
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
    int n = ptx_bytes(t);
    if (t == "f32") f(float());
    else if (t == "f64") f(double());
    else if (t == "f16") f(__half());
    else if (t == "f16x2") f(__half2());
    else if (t[0] == 's' && n == 8) f(int64_t());
    else if (t[0] == 's' && n == 4) f(int32_t());
    else if (t[0] == 's' && n == 2) f(int16_t());
    else if (t[0] == 's' && n == 1) f(int8_t());
    else if (n == 8) f(uint64_t());
    else if (n == 4) f(uint32_t());
    else if (n == 2) f(uint16_t());
    else if (n == 1) f(uint8_t());
    else return false;
    return true;
}
template <class T> constexpr bool is_number = std::is_arithmetic_v<T>;

template <class T> T multiply_add(T a, T b, T c)
{
    if constexpr (std::is_same_v<T, __half>) return __hfma(a, b, c);
    else if constexpr (std::is_same_v<T, __half2>) return __hfma2(a, b, c);
    else if constexpr (std::is_floating_point_v<T>) return std::fma(a, b, c);
    else return a * b + c;
}
template <class T> bool arithmetic(const std::string &op, T a, T b, T c, T *r)
{
    if (op == "add") *r = a + b;
    else if (op == "sub") *r = a - b;
    else if (op == "mul") *r = a * b;
    else if (op == "mad" || op == "fma") *r = multiply_add(a, b, c);
    else if (op == "neg") *r = -a;
    else if (op == "mov" || op == "cvta" || op == "ldu") *r = a;
    else if constexpr (is_number<T>) {
        if (op == "div") *r = a / b;
        else if (op == "min") *r = b < a || a != a ? b : a;
        else if (op == "max") *r = a < b || a != a ? b : a;
        else if (op == "abs") *r = a < 0 ? (T)-a : a;
        else if (op == "sad") *r = (T)(c + (a > b ? a - b : b - a));
        else if constexpr (std::is_floating_point_v<T>) {
            if (op == "rcp") *r = 1 / a;
            else if (op == "sqrt") *r = std::sqrt(a);
            else if (op == "rsqrt") *r = 1 / std::sqrt(a);
            else if (op == "ex2") *r = std::exp2(a);
            else if (op == "lg2") *r = std::log2(a);
            else if (op == "sin") *r = std::sin(a);
            else if (op == "cos") *r = std::cos(a);
            else if (op == "tanh") *r = std::tanh(a);
            else return false;
        } else if (op == "rem") *r = a % b;
        else return false;
    } else return false;
    return true;
}
template <class T> bool compare(const std::string &op, T a, T b)
{
    bool unordered = a != a || b != b;
    std::string name = op;
    if (std::is_floating_point_v<T> && name.size() == 3 && name[2] == 'u') {
        if (unordered) return true;
        name.pop_back();
    }
    return name == "eq"   ? a == b
           : name == "ne" ? !unordered && a != b
           : name == "lt" || name == "lo" ? a < b
           : name == "le" || name == "ls" ? a <= b
           : name == "gt" || name == "hi" ? a > b
           : name == "ge" || name == "hs" ? a >= b
           : name == "num" ? !unordered
                           : name == "nan" && unordered;
}
}  // namespace wbcpu
#endif
