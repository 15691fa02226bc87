/* plain.c - the part of CUDA C++ that blocks_read.c understands. Whatever is not in these
 * lists makes a kernel run as fibers. */
#include "blocks.h"
#include "outline.h"

#include <string.h>

#define TYPES                                                                            \
    "bool char short int long float double unsigned signed size_t int8_t uint8_t "       \
    "int16_t uint16_t int32_t uint32_t int64_t uint64_t uint uchar ushort const "        \
    "constexpr"
#define WORDS                                                                            \
    "if else for while do break continue return sizeof true false static_cast "          \
    "reinterpret_cast const_cast __restrict__ __restrict auto void __shared__ extern "   \
    "threadIdx blockIdx blockDim gridDim warpSize __syncthreads"
#define REFUSED                                                                          \
    "goto switch case default asm __asm__ volatile static thread_local struct class "    \
    "union enum using typedef template typename operator new delete throw try catch "    \
    "decltype this namespace register mutable co_await co_yield alignas _Pragma "        \
    "__attribute__ cuda std"
/* Functions of their arguments alone */
#define PURE                                                                             \
    "abs fabs fabsf max min fmax fmin fmaxf fminf exp expf exp2f exp10f expm1f log "     \
    "logf log2f log10f log1pf sqrt sqrtf rsqrt rsqrtf cbrtf sin cos tan sinf cosf tanf " \
    "asinf acosf atanf atan2f sinhf coshf tanh tanhf pow powf floor ceil floorf ceilf "  \
    "round roundf rintf truncf fma fmaf fmod fmodf erf erff hypotf copysignf isnan "     \
    "isinf isfinite __expf __exp10f __logf __log2f __powf __sinf __cosf __tanf "         \
    "__fdividef __fmaf_rn __fadd_rn __fmul_rn __fsqrt_rn __frcp_rn __saturatef __ldg "   \
    "__popc __popcll __clz __clzll __ffs __ffsll __brev __mul24 __umul24 __umulhi "      \
    "__mulhi __float_as_int __int_as_float __float_as_uint __uint_as_float "             \
    "__float2int_rn __float2int_rd __float2int_rz __int2float_rn __half2float "          \
    "__float2half __float2half_rn __bfloat162float __float2bfloat16 make_float2 "        \
    "make_float3 make_float4 make_int2 make_int3 make_int4 make_uint2 make_uint3 "       \
    "make_uint4 make_uchar4 make_double2"
#define ATOMIC                                                                           \
    "atomicAdd atomicSub atomicMin atomicMax atomicAnd atomicOr atomicXor atomicInc "    \
    "atomicDec"

int token_in(const struct source *s, int i, const char *list)
{
    if (!is_name(s, i)) return 0;
    const struct token *t = &s->tokens[i];
    for (const char *w = list; *w; w += *w == ' ') {
        size_t n = strcspn(w, " ");
        if (n == (size_t)t->length && memcmp(w, t->start, n) == 0) return 1;
        w += n;
    }
    return 0;
}

int is_type(const struct source *s, int i)
{
    return token_in(s, i, TYPES);
}

int is_atomic(const struct source *s, int i)
{
    return token_in(s, i, ATOMIC);
}

int stands_alone(const struct source *s, int i)
{
    int p = previous(s, i);
    return !is(s, p, ".") && !(is(s, p, ">") && is(s, p - 1, "-"));
}

static unsigned flags_of(const struct source *s, int i)
{
    const struct name *n = look_up(s->tokens[i].start, s->tokens[i].length, 0);
    return n ? n->flags : 0;
}

/* The names in #define NAME of the source */
static struct token_index macros;

void index_macros(const struct source *s)
{
    macros.count = 0;
    for (int i = 0; i < s->count; i++)
        if (is_name(s, i) && s->tokens[i].in_directive && is(s, previous(s, i), "define"))
            index_add(&macros, i);
    index_sort(&macros, s);
}

/* 1 if the macro is defined once, here, of numbers and marks: (32 * 4). */
static int is_number_macro(const struct source *s, int i)
{
    int found;
    int first = index_find(&macros, s, s->tokens[i].start, s->tokens[i].length, &found);
    if (found != 1) return 0;
    for (int v = next(s, macros.tokens[first]); v < s->count; v = next(s, v)) {
        if (!s->tokens[v].in_directive) break;
        if (s->tokens[v].kind != NUMBER &&
            !(s->tokens[v].kind == MARK && strchr("()+-*/%<>", *s->tokens[v].start)))
            return 0;
    }
    return 1;
}

/* 1 if the name at i may be called, or is no call. */
static int is_plain_name(const struct source *s, int i)
{
    int n = next(s, i), called = is(s, n, "(");
    if (!stands_alone(s, i)) return !called;
    if (token_in(s, i, REFUSED) || is(s, n, "{")) return token_in(s, i, "else do");
    if (is_type(s, i) || token_in(s, i, WORDS)) return 1;
    unsigned flags = flags_of(s, i);
    if (called) return !flags && (token_in(s, i, PURE) || is_atomic(s, i));
    if (is(s, n, "<")) { /* f<3>(x) */
        int close = close_angle(s, n);
        if (close > 0 && is(s, next(s, close), "(")) return 0;
    }
    return !(flags & MACRO) || is_number_macro(s, i);
}

static int is_plain_mark(const struct source *s, int i)
{
    const struct token *t = &s->tokens[i];
    int p = previous(s, i), n = next(s, i), after = next(s, n);
    if (strchr("#\\@`$", *t->start)) return 0;
    if (*t->start == ':' && is(s, i + 1, ":")) return 0;
    if (*t->start == '(' && is(s, p, "]")) return 0; /* f[0](x) */
    if (*t->start == '(' && is(s, p, ")")) /* a cast or a statement, or (*f)(x) */
        return is_type(s, previous(s, p)) ||
               token_in(s, previous(s, mate(s, p)), "if for while");
    if (*t->start == '[') /* else a lambda or an attribute */
        return is_name(s, p) || is(s, p, "]") || is(s, p, ")");
    /* A reference: int &a = b, auto &a : b, int (&a)[2] = b */
    return *t->start != '&' || !is_name(s, n) ||
           !((is(s, after, "=") && !is(s, after + 1, "=")) || is(s, after, ":") ||
             (is(s, after, ")") && is(s, next(s, after), "[")));
}

int is_plain(const struct source *s, int first, int end)
{
    int atomic = 0, waits = 0;
    for (int i = next(s, first - 1); i < end; i = next(s, i)) {
        const struct token *t = &s->tokens[i];
        if (t->kind == DIRECTIVE) {
            if (t->length < 14 || memcmp(t->start, "#pragma unroll", 14) != 0) return 0;
            continue;
        }
        if (t->in_directive || t->kind == STRING) return 0;
        if (t->kind == NAME && !is_plain_name(s, i)) return 0;
        if (t->kind == MARK && !is_plain_mark(s, i)) return 0;
        atomic |= is_atomic(s, i);
        waits |= token_in(s, i, "while do");
        if (is(s, i, "for")) { /* all three parts, and no atomic in them */
            int semicolon = 0, empty = 1;
            for (int k = next(s, next(s, i)), to = mate(s, next(s, i)); k <= to;
                 k = next(s, k)) {
                if (is_atomic(s, k)) return 0;
                if (is(s, k, ";") || k == to)
                    waits |= empty, empty = 1, semicolon++;
                else
                    empty = 0;
            }
            if (semicolon != 3) return 0;
        }
    }
    return !(atomic && waits); /* a thread could wait for another one */
}

int is_assigned(const struct source *s, int i)
{
    int p = previous(s, i), before = previous(s, p), n = next(s, i), member = 0;
    while (is(s, n, ".") || (member && is(s, n, "["))) {
        member = 1;
        n = is(s, n, "[") ? next(s, mate(s, n)) : next(s, next(s, n));
    }
    int binary = before >= 0 && (s->tokens[before].kind == NUMBER || is(s, before, ")") ||
                                 is(s, before, "]") || is_name(s, before));
    int pointed = is(s, p, "*") && !binary; /* *a = b; */
    if (is(s, n, "=") && !is(s, n + 1, "=")) return !pointed;
    if (s->tokens[i].kind == NAME && n < s->count && s->tokens[n].kind == MARK) {
        char c = *s->tokens[n].start;
        if (strchr("+-*/%&|^", c) && is(s, n + 1, "=")) return !pointed;
        if ((c == '<' || c == '>') && run_of(s, n, c, 2) && is(s, n + 2, "="))
            return !pointed;
        if ((c == '+' || c == '-') && run_of(s, n, c, 2)) return 1;
    }
    if ((is(s, p, "+") && is(s, p - 1, "+")) || (is(s, p, "-") && is(s, p - 1, "-")))
        return 1;
    return is(s, p, "&") && !is(s, p - 1, "&") && !(binary && !is(s, before, "return")) &&
           !is(s, n, "[");
}
