/* shifts.h - shifts in device code, as GPUs do them: an amount of the type's width or more,
 * also a negative one, shifts out all bits; >> of a signed type then leaves the sign. C++
 * does not define such a shift, and x86-64 uses the low bits of the amount.
 *
 * The translator writes `x << n` as `x << WBCPU_LEFT n`, `x <<= n` as `x <<= WBCPU_LEFT_BY n`
 * (translate/shifts.c). Operands of a class have operators of their own, which are called.
 *
 * With -DWBCPU_PLAIN_SHIFTS the shifts are those of the host: sanitizers report them. */
#ifndef WBCPU_SHIFTS_H
#define WBCPU_SHIFTS_H

#include <type_traits>
#include <utility>

/* So g++ reports a mistake in the program's line, where a macro is used, not here. */
#pragma GCC system_header

#ifdef WBCPU_PLAIN_SHIFTS
#define WBCPU_LEFT
#define WBCPU_RIGHT
#define WBCPU_LEFT_BY
#define WBCPU_RIGHT_BY
#else
#define WBCPU_LEFT ::wbcpu::left <<
#define WBCPU_RIGHT ::wbcpu::right >>
#define WBCPU_LEFT_BY ::wbcpu::left <<=
#define WBCPU_RIGHT_BY ::wbcpu::right >>=
#endif

/* A debugger does not step into these. */
#define WBCPU_SHIFT constexpr inline __attribute__((always_inline, artificial))

namespace wbcpu
{

/* They are passed as lvalues, so that an operator template of the program is a worse match. */
inline struct left_mark {
} left;
inline struct right_mark {
} right;

template <class T, class = void> struct promotes : std::false_type {
};
template <class T>
struct promotes<
    T, std::enable_if_t<(std::is_enum_v<T> || std::is_integral_v<T>)&&std::is_integral_v<
           decltype(+std::declval<T>())>>> : std::true_type {
    using type = decltype(+std::declval<T>());
};
template <class T> using promoted = typename promotes<std::remove_cv_t<T>>::type;
template <class T>
using if_number = std::enable_if_t<promotes<std::remove_cv_t<T>>::value, int>;
template <class T>
using if_other = std::enable_if_t<
    !promotes<std::remove_cv_t<std::remove_reference_t<T>>>::value &&
        !std::is_floating_point_v<std::remove_reference_t<T>>,
    int>;

/* A branch that is predicted costs less than a conditional move in a chain of shifts; g++
 * vectorizes it all the same. */
#define WBCPU_IN_WIDTH(n, width) __builtin_expect_with_probability((n) < (width), 1, 1.0)

template <class T> WBCPU_SHIFT T shift_left(T a, unsigned n)
{
    constexpr unsigned width = 8 * sizeof(T);
    using bits = std::make_unsigned_t<T>;
    return WBCPU_IN_WIDTH(n, width) ? (T)((bits)a << (n & (width - 1))) : T(0);
}
template <class T> WBCPU_SHIFT T shift_right(T a, unsigned n)
{
    constexpr unsigned width = 8 * sizeof(T);
    if constexpr (std::is_signed_v<T>)
        return a >> (n < width ? n : width - 1);
    else
        return WBCPU_IN_WIDTH(n, width) ? a >> (n & (width - 1)) : T(0);
}

/* operand: the left operand, until the amount has been read; amount: that of an assignment,
 * until the variable has been read */
template <class Mark, class T> struct operand {
    T value;
};
template <class Mark, class T> struct other_operand {
    T &&value;
};
template <class Mark, class N> struct amount {
    N value;
};

/* g++ shows the comments of these below the line of the mistake. */
template <class T> using if_float = std::enable_if_t<std::is_floating_point_v<T>, int>;
template <class T, if_float<T> = 0>
void operator<<(T, left_mark &) = delete; /* only integers have shifts */
template <class T, if_float<T> = 0>
void operator>>(T, right_mark &) = delete; /* only integers have shifts */
template <class T, class N, if_float<N> = 0>
void operator<<(operand<left_mark, T>, N) = delete; /* the amount is an integer */
template <class T, class N, if_float<N> = 0>
void operator>>(operand<right_mark, T>, N) = delete; /* the amount is an integer */
template <class N, if_float<N> = 0>
void operator<<=(left_mark &, N) = delete; /* the amount is an integer */
template <class N, if_float<N> = 0>
void operator>>=(right_mark &, N) = delete; /* the amount is an integer */
template <class T, class N, if_float<T> = 0>
void operator<<=(T &, amount<left_mark, N>) = delete; /* only integers have shifts */
template <class T, class N, if_float<T> = 0>
void operator>>=(T &, amount<right_mark, N>) = delete; /* only integers have shifts */

/* Numbers are passed by value: a reference cannot bind to a bit-field, and a static
 * member would need a definition. */
template <class T, if_number<T> = 0>
WBCPU_SHIFT operand<left_mark, promoted<T>> operator<<(T a, left_mark &)
{
    return {a};
}
template <class T, if_number<T> = 0>
WBCPU_SHIFT operand<right_mark, promoted<T>> operator>>(T a, right_mark &)
{
    return {a};
}
template <class T, if_other<T> = 0>
WBCPU_SHIFT other_operand<left_mark, T> operator<<(T &&a, left_mark &)
{
    return {static_cast<T &&>(a)};
}
template <class T, if_other<T> = 0>
WBCPU_SHIFT other_operand<right_mark, T> operator>>(T &&a, right_mark &)
{
    return {static_cast<T &&>(a)};
}

template <class T, class N, if_number<N> = 0>
WBCPU_SHIFT T operator<<(operand<left_mark, T> a, N n)
{
    return shift_left(a.value, (unsigned)n);
}
template <class T, class N, if_number<N> = 0>
WBCPU_SHIFT T operator>>(operand<right_mark, T> a, N n)
{
    return shift_right(a.value, (unsigned)n);
}
template <class T, class N, if_other<N> = 0>
WBCPU_SHIFT decltype(auto) operator<<(operand<left_mark, T> a, N &&n)
{
    return a.value << static_cast<N &&>(n);
}
template <class T, class N, if_other<N> = 0>
WBCPU_SHIFT decltype(auto) operator>>(operand<right_mark, T> a, N &&n)
{
    return a.value >> static_cast<N &&>(n);
}
template <class T, class N>
WBCPU_SHIFT auto operator<<(other_operand<left_mark, T> a, N &&n)
    -> decltype(static_cast<T &&>(a.value) << static_cast<N &&>(n))
{
    return static_cast<T &&>(a.value) << static_cast<N &&>(n);
}
template <class T, class N>
WBCPU_SHIFT auto operator>>(other_operand<right_mark, T> a, N &&n)
    -> decltype(static_cast<T &&>(a.value) >> static_cast<N &&>(n))
{
    return static_cast<T &&>(a.value) >> static_cast<N &&>(n);
}

template <class N, std::enable_if_t<!std::is_floating_point_v<N>, int> = 0>
WBCPU_SHIFT amount<left_mark, N> operator<<=(left_mark &, N n)
{
    return {static_cast<N &&>(n)};
}
template <class N, std::enable_if_t<!std::is_floating_point_v<N>, int> = 0>
WBCPU_SHIFT amount<right_mark, N> operator>>=(right_mark &, N n)
{
    return {static_cast<N &&>(n)};
}
template <class T, class N>
WBCPU_SHIFT decltype(auto) operator<<=(T &&a, amount<left_mark, N> n)
{
    if constexpr (
        promotes<std::remove_cv_t<std::remove_reference_t<T>>>::value &&
        promotes<N>::value) {
        a = shift_left(+a, (unsigned)n.value);
        return static_cast<T &&>(a);
    } else
        return static_cast<T &&>(a) <<= n.value;
}
template <class T, class N>
WBCPU_SHIFT decltype(auto) operator>>=(T &&a, amount<right_mark, N> n)
{
    if constexpr (
        promotes<std::remove_cv_t<std::remove_reference_t<T>>>::value &&
        promotes<N>::value) {
        a = shift_right(+a, (unsigned)n.value);
        return static_cast<T &&>(a);
    } else
        return static_cast<T &&>(a) >>= n.value;
}

}  // namespace wbcpu

#endif
