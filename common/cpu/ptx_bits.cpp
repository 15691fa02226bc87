/* ptx_bits.cpp - inline PTX: products, conversions, instructions on bits. */
#include "ptx_values.h"

namespace wbcpu
{
uint64_t ptx_product(const ptx_instruction &i, uint64_t a, uint64_t b)
{
    int bits = ptx_bytes(i.type()) * 8;
    bool is_signed = i.type()[0] == 's';
    auto wide = [&](uint64_t x) {
        return is_signed && bits < 64 ? (__int128)((int64_t)(x << (64 - bits)) >> (64 - bits))
               : is_signed            ? (__int128)(int64_t)x
               : bits < 64            ? (__int128)(x & ((1ull << bits) - 1))
                                      : (__int128)x;
    };
    __int128 p = wide(a) * wide(b);
    return (uint64_t)(i.has("hi") ? p >> bits : p);
}
uint64_t ptx_convert(const ptx_instruction &i, uint64_t from)
{
    const std::string &to_type = i.parts[i.parts.size() - 2];
    uint64_t result = 0;
    with_type(i.type(), [&](auto source) {
        typedef decltype(source) S;
        if constexpr (!std::is_same_v<S, __half2>) with_type(to_type, [&](auto target) {
            typedef decltype(target) T;
            if constexpr (!std::is_same_v<T, __half2>) {
                double v = std::is_same_v<S, __half> ? (double)(float)as<__half>(from)
                                                     : (double)as<S>(from);
                if constexpr (std::is_integral_v<S> && std::is_integral_v<T>)
                    result = bits_of((T)as<S>(from));
                else if constexpr (std::is_same_v<T, __half>)
                    result = bits_of(__half((float)v));
                else if constexpr (std::is_integral_v<T>)
                    result = bits_of((T)(i.has("rni")   ? std::nearbyint(v)
                                         : i.has("rmi") ? std::floor(v)
                                         : i.has("rpi") ? std::ceil(v)
                                                        : std::trunc(v)));
                else
                    result = bits_of((T)v);
            }
        });
    });
    return result;
}

/* vabsdiff4: the differences of four bytes, or c plus their sum */
static uint64_t byte_differences(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c)
{
    bool is_signed = i.parts[2][0] == 's';
    uint64_t bytes = 0, sum = c;
    for (int k = 0; k < 32; k += 8) {
        int x = is_signed ? (int8_t)(a >> k) : (uint8_t)(a >> k);
        int y = is_signed ? (int8_t)(b >> k) : (uint8_t)(b >> k);
        unsigned difference = (unsigned)(x < y ? y - x : x - y);
        bytes |= (uint64_t)(difference & 255) << k;
        sum += difference;
    }
    return (i.has("add") ? sum : bytes) & 0xffffffffu;
}

bool ptx_on_bits(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *r)
{
    const std::string &op = i.parts[0];
    if (op == "vabsdiff4") {
        *r = byte_differences(i, a, b, c);
        return true;
    }
    int bits = ptx_bytes(i.type()) * 8;
    uint64_t all = bits >= 64 ? ~0ull : (1ull << bits) - 1;
    uint32_t shift = (uint32_t)b < (uint32_t)bits ? (uint32_t)b : (uint32_t)bits;
    bool is_signed = i.type()[0] == 's';
    int64_t wide = bits == 64 ? (int64_t)a : (int64_t)(a << (64 - bits)) >> (64 - bits);
    if (op == "and") *r = a & b;
    else if (op == "or") *r = a | b;
    else if (op == "xor") *r = a ^ b;
    else if (op == "not") *r = ~a;
    else if (op == "shl") *r = shift == (uint32_t)bits ? 0 : a << shift;
    else if (op == "shr") *r = is_signed ? (uint64_t)(wide >> (shift > 63 ? 63 : shift)) : shift == (uint32_t)bits ? 0 : (a & all) >> shift;
    else if (op == "popc") *r = (uint64_t)__builtin_popcountll(a & all);
    else if (op == "clz") *r = (a & all) ? (uint64_t)(__builtin_clzll(a & all) - (64 - bits)) : (uint64_t)bits;
    else if (op == "bfind") {
        uint64_t x = (is_signed && wide < 0 ? ~a : a) & all;
        *r = x ? (uint64_t)(63 - __builtin_clzll(x)) : 0xffffffffu;
        if (i.has("shiftamt") && x) *r = (uint64_t)bits - 1 - *r;
    } else if (op == "brev") {
        *r = 0;
        for (int k = 0; k < bits; k++) *r = *r << 1 | (a >> k & 1);
    } else if (op == "bfe") {
        unsigned at = b & 255, n = c & 255;
        uint64_t mask = n >= 64 ? ~0ull : (1ull << n) - 1;
        *r = at < (unsigned)bits ? (uint64_t)(is_signed ? wide : (int64_t)(a & all)) >> at & mask : 0;
        if (is_signed && n && n < 64 && *r >> (n - 1) & 1) *r |= ~mask;
    } else if (op == "bfi") {
        unsigned at = c & 255, n = d & 255;
        uint64_t mask = (n >= 64 ? ~0ull : (1ull << n) - 1) << (at & 63);
        *r = at < (unsigned)bits ? (b & ~mask) | (a << at & mask) : b;
    } else if (op == "prmt") {
        *r = __byte_perm((unsigned)a, (unsigned)b, (unsigned)c);
        for (int k = 0; k < 4; k++) /* bit 3: copies of the sign */
            if (c >> (4 * k + 3) & 1) *r = (*r & ~(255ull << 8 * k)) | (*r >> (8 * k + 7) & 1 ? 255ull << 8 * k : 0);
    } else if (op == "shf") {
        unsigned n = i.has("wrap") ? c & 31 : c < 32 ? (unsigned)c : 32;
        uint64_t both = (b & 0xffffffffu) << 32 | (a & 0xffffffffu);
        *r = i.has("l") ? both << n >> 32 : n == 32 ? both >> 32 : both >> n;
    } else if (op == "lop3") {
        *r = 0;
        for (int k = 0; k < 8; k++)
            if (d >> k & 1) *r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    } else return false;
    *r &= bits >= 64 ? ~0ull : op == "popc" || op == "clz" || op == "bfind" ? 0xffffffffu : all;
    return true;
}

}  // namespace wbcpu
