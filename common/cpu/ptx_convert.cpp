/* ptx_convert.cpp - inline PTX: conversions, multiplication of integers, carries. */
#include "include/wbcpu/float16.h"
#include "ptx_values.h"

namespace wbcpu
{
/* --- conversions ---------------------------------------------------------------------- */

/* i.number: a rounding mode. .rz, .rm and .rp apply only to integers
 * and 16-bit floats. */
template <class To> static uint64_t from_number(double v, rounding mode)
{
    if constexpr (std::is_same_v<To, __half>)
        return encode<5, 10>(v, mode);
    else if constexpr (std::is_same_v<To, __nv_bfloat16>)
        return encode<8, 7>(v, mode);
    else if constexpr (is_integer<To>)
        return bits_of(to_integer<To>(v, mode));
    else
        return bits_of((To)v);
}
template <class To, class From>
static uint64_t
convert(const ptx_instruction &i, uint64_t bits, uint64_t, uint64_t, uint64_t)
{
    const From v = as<From>(bits);
    if constexpr (is_integer<From> && is_integer<To>)
        return bits_of((To)v);
    else if constexpr (is_half<From>)
        return from_number<To>((float)v, (rounding)i.number);
    else if (i.flag) /* .rni: to a whole number, as a float */
        return from_number<To>(std::nearbyint((double)v), NEAREST);
    else
        return from_number<To>((double)v, (rounding)i.number);
}
/* cvt.rn.f16x2.f32 d, a, b: a is the upper half */
template <class Half>
static uint64_t
convert_pair(const ptx_instruction &, uint64_t high, uint64_t low, uint64_t, uint64_t)
{
    return bits_of(Half(as<float>(high))) << 16 | bits_of(Half(as<float>(low)));
}
/* Rounds to 10 bits of mantissa; i.flag: ties away from zero, else to even. */
static uint64_t
convert_tf32(const ptx_instruction &i, uint64_t a, uint64_t, uint64_t, uint64_t)
{
    const uint32_t x = (uint32_t)a, half = i.flag ? 0x1000 : 0xfff + (x >> 13 & 1);
    return (x & 0x7f800000u) == 0x7f800000u ? x : (x + half) & ~0x1fffu;
}
static ptx_value conversion(const ptx_instruction &i, const std::string &to)
{
    if (to == "tf32") return i.type() == "f32" ? convert_tf32 : nullptr;
    if (to == "f16x2") return i.type() == "f32" ? convert_pair<__half> : nullptr;
    if (to == "bf16x2") return i.type() == "f32" ? convert_pair<__nv_bfloat16> : nullptr;
    ptx_value found = nullptr;
    with_type(i.type(), [&](auto from) {
        typedef decltype(from) From;
        if constexpr (!is_pair<From> && !std::is_same_v<From, bool>)
            with_type(to, [&](auto target) {
                typedef decltype(target) To;
                if constexpr (!is_pair<To> && !std::is_same_v<To, bool>)
                    found = convert<To, From>;
            });
    });
    return found;
}

/* --- multiplication, carries ---------------------------------------------------------- */

static __int128 product(const ptx_instruction &i, uint64_t a, uint64_t b)
{
    const int unused = 64 - i.bits;
    if (i.is_signed)
        return (__int128)((int64_t)(a << unused) >> unused) *
               ((int64_t)(b << unused) >> unused);
    return (
        __int128)((unsigned __int128)(a << unused >> unused) * (b << unused >> unused));
}
/* .wide: the full result; i.flag (.hi): its upper half */
static uint64_t
multiply(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t, uint64_t)
{
    const __int128 p = product(i, a, b);
    return (uint64_t)(i.flag ? p >> i.bits : p);
}
static uint64_t
multiply_and_add(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t)
{
    return multiply(i, a, b, 0, 0) + c;
}
/* add, sub, mad with .cc or c: 's' in i.number subtracts, 'm' multiplies; i.flag: .hi */
static void carry(ptx_run &run, const ptx_instruction &i)
{
    const int unused = 64 - i.bits;
    const bool takes = i.op().back() == 'c', product = i.number == 'm';
    uint64_t a = run.get(i.operands[1]), b = run.get(i.operands[2]);
    if (product) a = multiply(i, a, b, 0, 0), b = run.get(i.operands[3]);
    a = a << unused >> unused, b = b << unused >> unused;
    unsigned __int128 sum = i.number == 's'
                                ? (unsigned __int128)a - b - (takes && run.carry)
                                : (unsigned __int128)a + b + (takes && run.carry);
    if (i.has("cc")) run.carry = sum >> i.bits & 1;
    run.at(i.operands[0].slots[0]) = (uint64_t)sum;
}

void find_conversion(ptx_instruction &i)
{
    const std::string &op = i.op();
    if (op == "cvt" && i.parts.size() > 2) {
        i.number = i.has("rm") || i.has("rmi")   ? DOWN
                   : i.has("rp") || i.has("rpi") ? UP
                   : i.has("rn") || i.has("rni") ? NEAREST
                   : i.has("rz") || i.has("rzi") ? TOWARD_ZERO
                                                 : NEAREST;
        i.flag = i.has("rni") || i.has("rna");
        if (!i.has("sat") && !i.has("relu"))
            i.value = conversion(i, i.parts[i.parts.size() - 2]);
    } else if (i.bits < 16 || i.type()[0] == 'f' || i.type()[0] == 'b') {
        return;
    } else if (op == "addc" || op == "subc" || op == "madc" || i.has("cc")) {
        i.number = op[0] == 'a' || op[0] == 's' || op[0] == 'm' ? op[0] : 0;
        i.flag = i.has("hi");
        if (i.bits >= 32 && i.number) i.action = carry;
    } else if ((op == "mul" || op == "mad") && (i.has("wide") || i.has("hi"))) {
        i.flag = i.has("hi");
        i.value = op == "mul" ? multiply : multiply_and_add;
    }
}
}  // namespace wbcpu
