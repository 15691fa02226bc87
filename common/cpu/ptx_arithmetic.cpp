/* ptx_arithmetic.cpp - inline PTX: arithmetic, instructions on bits, comparisons. */
#include "ptx_values.h"

namespace wbcpu
{
#define VALUE WBCPU_PTX_VALUE

/* --- numbers ---------------------------------------------------------------------------- */

template <class T> static T multiply_add(T a, T b, T c)
{
    if constexpr (is_half<T>)
        return __hfma(a, b, c);
    else if constexpr (is_pair<T>)
        return __hfma2(a, b, c);
    else if constexpr (std::is_floating_point_v<T>)
        return std::fma(a, b, c);
    else
        return (T)(a * b + c);
}
template <class T> static ptx_value on_floats(const std::string &op)
{
    typedef std::conditional_t<std::is_same_v<T, double>, double, float> F;
    if (op == "rcp") return VALUE(1 / (F)a);
    if (op == "sqrt") return VALUE(std::sqrt((F)a));
    if (op == "rsqrt") return VALUE(1 / std::sqrt((F)a));
    if (op == "ex2") return VALUE(std::exp2((F)a));
    if (op == "lg2") return VALUE(std::log2((F)a));
    if (op == "sin") return VALUE(std::sin((F)a));
    if (op == "cos") return VALUE(std::cos((F)a));
    if (op == "tanh") return VALUE(std::tanh((F)a));
    return nullptr;
}
/* Single numbers, no pairs. If one operand is NaN, min and max return the other. */
template <class T> static ptx_value on_numbers(const std::string &op)
{
    if (op == "div") return VALUE(a / b);
    if (op == "min") return VALUE(b < a || a != a ? b : a);
    if (op == "max") return VALUE(a < b || a != a ? b : a);
    if constexpr (is_half<T>) {
        if (op == "abs") return VALUE(__habs(a));
    } else {
        if (op == "abs") return VALUE(a < 0 ? -a : a);
    }
    if constexpr (!is_integer<T>) {
        return on_floats<T>(op);
    } else {
        if (op == "sad") return VALUE(c + (a > b ? a - b : b - a));
        if (op == "rem") return VALUE(a % b);
        if (op == "inc") return VALUE(a >= b ? 0 : a + 1);
        if (op == "dec") return VALUE(a == 0 || a > b ? b : a - 1);
        return nullptr;
    }
}
template <class T> static ptx_value arithmetic(const std::string &op)
{
    if (op == "mov" || op == "cvta") return VALUE(a);
    if (op == "exch") return VALUE(b);
    if (op == "selp")
        return [](const ptx_instruction &, uint64_t a, uint64_t b, uint64_t p, uint64_t) {
            return p ? a : b;
        };
    if constexpr (!std::is_same_v<T, bool>) {
        if (op == "add") return VALUE(a + b);
        if (op == "sub") return VALUE(a - b);
        if (op == "mul") return VALUE(a * b);
        if (op == "mad" || op == "fma") return VALUE(multiply_add<T>(a, b, c));
        if (op == "neg") return VALUE(-a);
        if constexpr (is_pair<T>) {
            if (op == "min") return VALUE(__hmin2(a, b));
            if (op == "max") return VALUE(__hmax2(a, b));
            if (op == "abs") return VALUE(__habs2(a));
        } else {
            return on_numbers<T>(op);
        }
    }
    return nullptr;
}

/* --- bits ------------------------------------------------------------------------------- */

static uint64_t
find_bit(const ptx_instruction &i, uint64_t a, uint64_t, uint64_t, uint64_t)
{
    const int unused = 64 - i.bits;
    uint64_t x = a << unused >> unused;
    if (i.is_signed && x >> (i.bits - 1)) x = ~a << unused >> unused;
    const int highest = x ? 63 - __builtin_clzll(x) : -1;
    return (uint32_t)(i.flag && x ? i.bits - 1 - highest : highest);
}
static uint64_t
extract(const ptx_instruction &i, uint64_t a, uint64_t at, uint64_t length, uint64_t)
{
    const int unused = 64 - i.bits;
    at &= 255, length &= 255;
    const uint64_t mask = length >= 64 ? ~0ull : (1ull << length) - 1;
    a <<= unused;
    a = i.is_signed ? (uint64_t)((int64_t)a >> unused) : a >> unused;
    uint64_t r = at < (unsigned)i.bits ? a >> at & mask : 0;
    if (i.is_signed && length && length < 64 && r >> (length - 1) & 1) r |= ~mask;
    return r;
}
static uint64_t
insert(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t at, uint64_t length)
{
    at &= 255, length &= 255;
    const uint64_t mask = (length >= 64 ? ~0ull : (1ull << length) - 1) << (at & 63);
    return at < (unsigned)i.bits ? (b & ~mask) | (a << at & mask) : b;
}
static uint64_t
permute(const ptx_instruction &, uint64_t a, uint64_t b, uint64_t select, uint64_t)
{
    unsigned r = __byte_perm((unsigned)a, (unsigned)b, (unsigned)select);
    for (int k = 0; (select & 0x8888) && k < 4; k++) /* bit 3: copies of the sign */
        if (select >> (4 * k + 3) & 1)
            r = (r & ~(255u << 8 * k)) | (r >> (8 * k + 7) & 1 ? 255u << 8 * k : 0);
    return r;
}
/* shf.l, .r: i.number is 1 for the left; i.flag: .wrap */
static uint64_t
funnel(const ptx_instruction &i, uint64_t low, uint64_t high, uint64_t shift, uint64_t)
{
    const unsigned n = i.flag ? shift & 31 : shift & 0xffffffffu & ~31u ? 32 : shift & 31;
    const uint64_t both = high << 32 | (low & 0xffffffffu);
    return i.number ? both << n >> 32 : n == 32 ? both >> 32 : both >> n;
}
/* lop3: bit 4 a + 2 b + c of the table, for each bit */
static uint64_t
look_up(const ptx_instruction &, uint64_t a, uint64_t b, uint64_t c, uint64_t table)
{
    uint64_t r = 0;
    for (int k = 0; k < 8; k++)
        r |= -(table >> k & 1) & (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}
/* vabsdiff4: the differences of four bytes; i.flag: c plus their sum */
static uint64_t
byte_differences(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t)
{
    uint64_t bytes = 0, sum = c;
    for (int k = 0; k < 32; k += 8) {
        int x = i.is_signed ? (int8_t)(a >> k) : (uint8_t)(a >> k);
        int y = i.is_signed ? (int8_t)(b >> k) : (uint8_t)(b >> k);
        unsigned difference = (unsigned)(x < y ? y - x : x - y);
        bytes |= (uint64_t)(difference & 255) << k;
        sum += difference;
    }
    return (i.flag ? sum : bytes) & 0xffffffffu;
}
/* dp4a and dp2a: c plus the dot product of a's four bytes or two halfwords with b's bytes.
 * i.number: the first byte of b; i.is_signed: a is signed; i.flag: b is signed */
template <int BITS>
static uint64_t
dot(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t)
{
    uint32_t sum = (uint32_t)c;
    for (int k = 0; k < 32 / BITS; k++) {
        const uint32_t up = (uint32_t)a << (32 - BITS - BITS * k);
        const uint8_t y = (uint8_t)(b >> 8 * (i.number + k));
        const uint32_t x =
            i.is_signed ? (uint32_t)((int32_t)up >> (32 - BITS)) : up >> (32 - BITS);
        sum += x * (i.flag ? (uint32_t)(int8_t)y : y);
    }
    return sum;
}
/* A shift's amount has 32 bits, whatever the type. */
template <class T> static ptx_value shift(bool left)
{
    constexpr unsigned bits = 8 * sizeof(T);
    if (left)
        return [](const ptx_instruction &, uint64_t a, uint64_t n, uint64_t, uint64_t) {
            return (uint32_t)n < bits ? bits_of<T>((T)(as<T>(a) << (uint32_t)n)) : 0;
        };
    return [](const ptx_instruction &, uint64_t a, uint64_t n, uint64_t, uint64_t) {
        const T none = std::is_signed_v<T> && as<T>(a) < 0 ? (T)-1 : (T)0;
        return bits_of<T>((uint32_t)n < bits ? (T)(as<T>(a) >> (uint32_t)n) : none);
    };
}
template <class T> static ptx_value on_bits(const std::string &op)
{
    if (op == "and") return VALUE(a & b);
    if (op == "or") return VALUE(a | b);
    if (op == "xor") return VALUE(a ^ b);
    if constexpr (std::is_same_v<T, bool>) {
        if (op == "not") return VALUE(!a);
        return nullptr;
    } else {
        typedef std::make_unsigned_t<T> U;
        constexpr int unused = 64 - 8 * sizeof(T);
        if (op == "not") return VALUE(~a);
        if (op == "cas")
            return [](const ptx_instruction &, uint64_t a, uint64_t b, uint64_t c,
                      uint64_t) { return as<U>(a) == as<U>(b) ? c : a; };
        if (op == "shl" || op == "shr") return shift<T>(op == "shl");
        if (op == "popc") return VALUE(__builtin_popcountll((U)a));
        if (op == "clz") return VALUE(a ? __builtin_clzll((U)a) - unused : 64 - unused);
        if (op == "brev") return VALUE(__brevll((U)a) >> unused);
        return nullptr;
    }
}
static ptx_value on_fields(ptx_instruction &i)
{
    const std::string &op = i.op();
    i.flag = i.has("shiftamt") || i.has("wrap");
    i.number = i.has("l");
    if (op == "bfind") return find_bit;
    if (op == "bfe") return extract;
    if (op == "bfi") return insert;
    if (op == "prmt") return permute;
    if (op == "shf") return funnel;
    if (op == "lop3") return look_up;
    return nullptr;
}

/* --- comparisons ------------------------------------------------------------------------ */

#define COMPARISON(expression)                                                           \
    [](const ptx_instruction &, uint64_t bits_a, uint64_t bits_b, uint64_t, uint64_t) {  \
        const T a = as<T>(bits_a), b = as<T>(bits_b);                                    \
        const bool unordered = a != a || b != b;                                         \
        return (uint64_t)((void)unordered, expression);                                  \
    }
template <class T> static ptx_value comparison(const std::string &op)
{
    if constexpr (is_pair<T>)
        return nullptr;
    else {
        if (op == "eq") return COMPARISON(a == b);
        if (op == "ne") return COMPARISON(!unordered && a != b);
        if (op == "lt" || op == "lo") return COMPARISON(a < b);
        if (op == "le" || op == "ls") return COMPARISON(a <= b);
        if (op == "gt" || op == "hi") return COMPARISON(a > b);
        if (op == "ge" || op == "hs") return COMPARISON(a >= b);
        if (op == "equ") return COMPARISON(unordered || a == b);
        if (op == "neu") return COMPARISON(a != b);
        if (op == "ltu") return COMPARISON(unordered || a < b);
        if (op == "leu") return COMPARISON(unordered || a <= b);
        if (op == "gtu") return COMPARISON(unordered || a > b);
        if (op == "geu") return COMPARISON(unordered || a >= b);
        if (op == "num") return COMPARISON(!unordered);
        if (op == "nan") return COMPARISON(unordered);
        return nullptr;
    }
}
/* setp.eq.and.u32 p|q, a, b, c: p = (a == b) and c, q = !(a == b) and c; i.number: the
 * operation with c */
static void set_predicates(ptx_run &run, const ptx_instruction &i)
{
    const ptx_operand &to = i.operands[0];
    bool result = i.value(i, run.get(i.operands[1]), run.get(i.operands[2]), 0, 0);
    const bool c = run.get(i.operands[3]);
    for (size_t k = 0; k < to.slots.size(); k++, result = !result)
        run.at(to.slots[k]) = i.number == 'a'   ? result && c
                              : i.number == 'o' ? result || c
                              : i.number == 'x' ? result != c
                                                : result;
}

/* --- which function executes an instruction? ------------------------------------------ */

ptx_value ptx_operation(const std::string &op, const std::string &type)
{
    ptx_value found = nullptr;
    with_type(type, [&](auto t) {
        typedef decltype(t) T;
        found = arithmetic<T>(op);
        if constexpr (std::is_integral_v<T>)
            if (!found) found = on_bits<T>(op);
    });
    return found;
}
void find_arithmetic(ptx_instruction &i)
{
    if (i.op() == "vabsdiff4" && i.parts.size() > 2) {
        i.is_signed = i.parts[2][0] == 's';
        i.flag = i.has("add");
        i.value = byte_differences;
    } else if ((i.op() == "dp4a" || i.op() == "dp2a") && i.parts.size() > 2) {
        i.is_signed = i.parts[i.parts.size() - 2][0] == 's';
        i.flag = i.parts.back()[0] == 's';
        i.number = i.has("hi") ? 2 : 0;
        i.value = i.op() == "dp4a" ? dot<8> : dot<16>;
    } else if (i.op() == "setp" && i.parts.size() > 2) {
        with_type(
            i.type(), [&](auto t) { i.value = comparison<decltype(t)>(i.parts[1]); });
        i.number = i.has("and") ? 'a' : i.has("or") ? 'o' : i.has("xor") ? 'x' : 0;
        if (i.value && (i.number || i.operands[0].is_list)) i.action = set_predicates;
    } else if (i.bits) {
        i.value = on_fields(i);
        if (!i.value) i.value = ptx_operation(i.op(), i.type());
    }
}
}  // namespace wbcpu
