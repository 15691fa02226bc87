/* ptx.cpp - executes inline PTX, one instruction after another, for the running thread. */
#include "ptx.h"

#include "include/cuda_fp16.h"
#include "include/wbcpu/checked.h"

#include <cmath>
#include <unordered_map>

namespace wbcpu
{
int ptx_bytes(const std::string &t)
{
    if (t == "pred") return 8;
    size_t digits = t.find_first_of("0123456789");
    if (t.empty() || digits > 2 || digits == 0) return 0;
    int bits = atoi(t.c_str() + digits);
    if (t.find("x2") != std::string::npos) bits *= 2;
    return bits >= 8 && bits <= 128 ? bits / 8 : 0;
}
static uint64_t special(const std::string &name)
{
    unsigned lane = wbcpu_lane();
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        {"laneid", lane},
        {"warpid", wbcpu_tid() / 32},
        {"nwarpid", (wbcpu_self->threads + 31) / 32},
        {"lanemask_eq", 1u << lane},
        {"lanemask_lt", (1u << lane) - 1},
        {"lanemask_le", (2u << lane) - 1},
        {"lanemask_gt", ~((2u << lane) - 1)},
        {"lanemask_ge", ~((1u << lane) - 1)},
        {"tid.x", threadIdx.x},
        {"tid.y", threadIdx.y},
        {"tid.z", threadIdx.z},
        {"ntid.x", blockDim.x},
        {"ntid.y", blockDim.y},
        {"ntid.z", blockDim.z},
        {"ctaid.x", blockIdx.x},
        {"ctaid.y", blockIdx.y},
        {"ctaid.z", blockIdx.z},
        {"nctaid.x", gridDim.x},
        {"nctaid.y", gridDim.y},
        {"nctaid.z", gridDim.z},
        {"smid", 0},
        {"nsmid", 1},
        {"gridid", 0},
        {"clock", (uint64_t)wbcpu_nanoseconds()},
        {"clock64", (uint64_t)wbcpu_nanoseconds()},
        {"globaltimer", (uint64_t)wbcpu_nanoseconds()},
    };
    for (const auto &s : all)
        if (name == s.name) return s.value;
    stop(nullptr, "inline PTX: the special register %%%s is not supported", name.c_str());
}
uint64_t ptx_run::get(const ptx_operand &o) const
{
    switch (o.kind) {
    case ptx_operand::OPERAND:
        return o.index < count ? operands[o.index].bits : 0;
    case ptx_operand::REGISTER:
        return registers[(size_t)o.index];
    case ptx_operand::NUMBER:
        return o.number;
    case ptx_operand::SPECIAL:
        return special(o.name);
    default:
        return 0;
    }
}
void ptx_run::set(const ptx_operand &o, uint64_t value)
{
    if (o.kind == ptx_operand::OPERAND && o.index < count)
        operands[o.index].bits = value;
    else if (o.kind == ptx_operand::REGISTER)
        registers[(size_t)o.index] = value;
}

/* --- arithmetic ---------------------------------------------------------------------- */

template <class T> static T as(uint64_t bits)
{
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T> static uint64_t bits_of(T value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

/* Calls f with a value of the type's C++ type; false: no such type. */
template <class F> static bool with_type(const std::string &t, F f)
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

template <class T> static T multiply_add(T a, T b, T c)
{
    if constexpr (std::is_same_v<T, __half>) return __hfma(a, b, c);
    else if constexpr (std::is_same_v<T, __half2>) return __hfma2(a, b, c);
    else if constexpr (std::is_floating_point_v<T>) return std::fma(a, b, c);
    else return a * b + c;
}
template <class T> static bool arithmetic(const std::string &op, T a, T b, T c, T *r)
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
/* .hi: the upper half of the product, .wide: all of it */
static uint64_t product(const ptx_instruction &i, uint64_t a, uint64_t b)
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
template <class T> static bool compare(const std::string &op, T a, T b)
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
static uint64_t convert(const ptx_instruction &i, uint64_t from)
{
    const std::string &to_type = i.parts[i.parts.size() - 2];
    uint64_t result = 0;
    with_type(i.type(), [&](auto source) {
        typedef decltype(source) S;
        with_type(to_type, [&](auto target) {
            typedef decltype(target) T;
            if constexpr (!std::is_same_v<S, __half2> && !std::is_same_v<T, __half2>) {
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

/* Instructions on bits; false: not one of them */
static bool on_bits(const ptx_instruction &i, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t *r)
{
    const std::string &op = i.parts[0];
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

/* --- memory ----------------------------------------------------------------------------- */

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

/* --- one instruction -------------------------------------------------------------------- */

static bool execute(ptx_run &run, const ptx_instruction &i)
{
    const std::string &op = i.parts[0];
    auto in = [&](size_t k) { return k < i.operands.size() ? run.get(i.operands[k]) : 0; };
    uint64_t r = 0;
    if (op == "membar" || op == "fence") return __threadfence(), true;
    if (op == "nanosleep") return wbcpu_yield(), true;
    if (op == "trap") return wbcpu_trap(), true;
    if (op == "prefetch" || op == "prefetchu" || op == "griddepcontrol" || op == "discard" || op == "applypriority") return true;
    if (op == "cp") return copy_async(run, i);
    if (op == "ld" || op == "ldu") return load_or_store(run, i, true);
    if (op == "st") return load_or_store(run, i, false);
    if (op == "atom" || op == "red") return atomic(run, i, op == "atom");
    if (run_warp_ptx(run, i)) return true;
    if (i.operands.empty()) return false;
    if (op == "cvta") {
        r = !i.has("shared") ? in(1) : i.has("to") ? __cvta_generic_to_shared((void *)in(1)) : (uint64_t)__cvta_shared_to_generic(in(1));
    } else if (op == "mov" && i.operands[1].kind == ptx_operand::LIST) { /* packs */
        int part = ptx_bytes(i.type()) / (int)i.operands[1].list.size() * 8;
        for (size_t k = 0; k < i.operands[1].list.size(); k++)
            r |= (run.get(i.operands[1].list[k]) & ((1ull << part) - 1)) << (int)k * part;
    } else if (op == "mov" && i.operands[0].kind == ptx_operand::LIST) {
        int part = ptx_bytes(i.type()) / (int)i.operands[0].list.size() * 8;
        for (size_t k = 0; k < i.operands[0].list.size(); k++)
            run.set(i.operands[0].list[k], in(1) >> (int)k * part & ((1ull << part) - 1));
        return true;
    } else if (op == "setp") {
        with_type(i.type(), [&](auto t) {
            typedef decltype(t) T;
            if constexpr (is_number<T>) r = compare(i.parts[1], as<T>(in(1)), as<T>(in(2)));
        });
    } else if (op == "selp") {
        r = in(3) ? in(1) : in(2);
    } else if (op == "cvt") {
        if (ptx_bytes(i.type()) == 0 || i.parts.size() < 3) return false;
        r = convert(i, in(1));
    } else if ((op == "mul" || op == "mad") && (i.has("wide") || i.has("hi"))) {
        r = product(i, in(1), in(2)) + (op == "mad" ? in(3) : 0);
    } else if (op == "addc" || i.has("cc")) { /* with carry, 32 or 64 bits */
        unsigned __int128 sum = (unsigned __int128)in(1) + in(2) + (op == "addc" && run.carry);
        if (op != "addc" && op != "add") return false;
        int bits = ptx_bytes(i.type()) * 8;
        if (bits == 32) sum = (unsigned __int128)(uint32_t)in(1) + (uint32_t)in(2) + (op == "addc" && run.carry);
        if (i.has("cc")) run.carry = sum >> bits & 1;
        r = (uint64_t)sum;
    } else if (!on_bits(i, in(1), in(2), in(3), in(4), &r)) {
        bool known = false;
        with_type(i.type(), [&](auto t) {
            typedef decltype(t) T;
            T result = T();
            known = arithmetic<T>(op, as<T>(in(1)), as<T>(in(2)), as<T>(in(3)), &result);
            r = bits_of(result);
        });
        if (!known) return false;
    }
    run.set(i.operands[0], r);
    return true;
}

extern "C" void wbcpu_run_ptx(
    const char *file, int line, const char *text, wbcpu_ptx_operand *operands, int count)
{
    const ptx_code &code = parse_ptx(text);
    if (!code.error.empty())
        stop(
            nullptr, "%s:%d: inline PTX: %s is not supported by the CPU back end: guard it "
            "with #ifndef __CUDACPU__", file, line, code.error.c_str());
    ptx_run run = {operands, count, std::vector<uint64_t>((size_t)code.registers)};
    for (const ptx_instruction &i : code.instructions) {
        if (i.predicated && (run.get(i.predicate) != 0) == i.negated) continue;
        if (!execute(run, i))
            stop(
                nullptr, "%s:%d: inline PTX: %s is not supported by the CPU back end: guard it "
                "with #ifndef __CUDACPU__", file, line, i.text.c_str());
    }
}
}  // namespace wbcpu
