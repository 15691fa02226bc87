/* blocks_words.c - the names that a kernel may use if its threads run as loops. */
#include "blocks.h"
#include "outline.h"

#include <ctype.h>
#include <string.h>

#define DIGITS "0123456789."
#define LETTERS "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define BUILTIN                                                                          \
    "bool char short int long float double unsigned signed size_t int8_t uint8_t "       \
    "int16_t uint16_t int32_t uint32_t int64_t uint64_t const constexpr"
#define CLASSES                                                                          \
    "float2 float3 float4 double2 int2 int3 int4 uint2 uint3 uint4 uchar4 dim3 half "    \
    "__half half2 __half2 __nv_bfloat16 __nv_bfloat162"
/* Names of number types; the C++ compiler checks them. */
#define NUMBERS "uint ushort ulong clock_t"
#define INDICES "threadIdx blockIdx blockDim gridDim"
#define CONSTANTS                                                                        \
    "true false nullptr NULL warpSize INFINITY NAN FLT_MAX FLT_MIN FLT_EPSILON DBL_MAX " \
    "INT_MAX INT_MIN UINT_MAX LLONG_MAX M_PI"
#define WORDS                                                                            \
    "if else for while do break continue return sizeof static_cast reinterpret_cast "    \
    "auto void __shared__ extern __restrict__ __restrict __syncthreads __syncwarp "      \
    "volatile struct "                                                                   \
    "class union enum static register template typename typedef using new delete "       \
    "operator goto switch case default asm this throw try catch namespace mutable "      \
    "alignas decltype static_assert thread_local const_cast public private"
/* Functions of their arguments alone, and loads of memory that no thread writes */
#define PURE                                                                                   \
    "abs fabs fabsf max min fmax fmin fmaxf fminf exp expf exp2f exp10f expm1f log "           \
    "logf log2f log10f log1pf sqrt sqrtf rsqrt rsqrtf cbrtf sin cos tan sinf cosf tanf "       \
    "asinf acosf atanf atan2f sinhf coshf tanh tanhf pow powf floor ceil floorf ceilf "        \
    "round roundf rintf truncf umin umax fma fmaf fmod fmodf erf erff hypotf copysignf isnan " \
    "isinf isfinite __expf __exp10f __logf __log2f __powf __sinf __cosf __tanf "               \
    "__fdividef __fmaf_rn __fadd_rn __fmul_rn __fsqrt_rn __frcp_rn __saturatef __ldg "         \
    "__popc __popcll __clz __clzll __ffs __ffsll __brev __mul24 __umul24 __umulhi "            \
    "__mulhi __float_as_int __int_as_float __float_as_uint __uint_as_float "                   \
    "__float2int_rn __float2int_rd __float2int_rz __int2float_rn"
#define PURE_CLASSES                                                                     \
    "__half2float __float2half __float2half_rn __bfloat162float __float2bfloat16 "       \
    "make_float2 make_float3 make_float4 make_int2 make_int3 make_int4 make_uint2 "      \
    "make_uint3 make_uint4 make_uchar4 make_double2"
#define ATOMIC                                                                           \
    "atomicAdd atomicSub atomicMin atomicMax atomicAnd atomicOr atomicXor atomicInc "    \
    "atomicDec atomicExch"

#define COLLECTIVE                                                                       \
    "__shfl_sync __shfl_up_sync __shfl_down_sync __shfl_xor_sync __ballot_sync "         \
    "__any_sync __all_sync __reduce_add_sync wbcpu_lockstep_sync "                       \
    "__reduce_and_sync __reduce_or_sync __reduce_xor_sync"

/* --- what the source declares ------------------------------------------------------- */

static int operators; /* this source or an earlier one may declare some */

static int include; /* the last #include of this source */

void index_names(const struct source *s)
{
    include = -1;
    for (int i = 0; i < s->count; i++) {
        const struct token *t = &s->tokens[i];
        operators |= is(s, i, "operator");
        if (t->kind == DIRECTIVE && memmem(t->start, (size_t)t->length, "include", 7))
            include = i;
    }
}

int last_include(void)
{
    return include;
}

static const struct name *known(const struct source *s, int i)
{
    static const struct name none;
    const struct name *n = look_up(s->tokens[i].start, s->tokens[i].length, 0);
    return n ? n : &none;
}

int is_macro(const struct source *s, int i)
{
    return is_name(s, i) && known(s, i)->flags & MACRO;
}

/* 1 if a macro is defined once, of numbers, marks and such macros: (WARPS * 4) */
static int is_number_macro(const struct name *n, int depth)
{
    if (n->defined != 1 || n->takes || !n->macro || depth == MAX_DEPTH) return 0;
    int numbers = 0;
    for (const char *c = n->macro; *c;) {
        int length = (int)strspn(c, LETTERS DIGITS);
        const struct name *inner = isdigit(*c) ? NULL : look_up(c, length, 0);
        if (!length && !strchr("()+-*/%<> ", *c)) return *c == ';' && !c[1] && numbers;
        if (length && !isdigit(*c) && !(inner && is_number_macro(inner, depth + 1)))
            return 0;
        numbers += length > 0;
        c += length ? length : 1;
    }
    return numbers > 0;
}

static int is_declared(const struct source *s, int i)
{
    return known(s, i)->flags != 0 || known(s, i)->variable;
}

/* --- names -------------------------------------------------------------------------- */

int is_free(const struct source *s, int i)
{
    return is_name(s, i) && !is_macro(s, i) && !is_builtin(s, i) &&
           !token_in(s, i, INDICES) && !token_in(s, i, CONSTANTS) &&
           !token_in(s, i, WORDS) && !token_in(s, i, PURE) &&
           !token_in(s, i, PURE_CLASSES) && !token_in(s, i, ATOMIC) &&
           !token_in(s, i, COLLECTIVE);
}

int is_number(const struct source *s, int i)
{
    const struct token *t = &s->tokens[i];
    if (i < s->count && t->kind == NUMBER) /* 5_km calls a function */
        return !memchr(t->start, '_', (size_t)t->length);
    if (is_macro(s, i)) return is_number_macro(known(s, i), 0);
    return token_in(s, i, CONSTANTS) && !is_declared(s, i);
}

int is_pure(const struct source *s, int i)
{
    return (token_in(s, i, PURE) || (!operators && token_in(s, i, PURE_CLASSES))) &&
           !is_declared(s, i);
}

int is_atomic(const struct source *s, int i)
{
    return token_in(s, i, ATOMIC) && !is_declared(s, i);
}

int is_collective(const struct source *s, int i)
{
    return token_in(s, i, COLLECTIVE) && !is_declared(s, i);
}

int is_global(const struct source *s, int i)
{
    const unsigned others = HOST_FUNCTION | DEVICE_FUNCTION | KERNEL | NAMESPACE | MACRO;
    return is_free(s, i) && known(s, i)->variable && !(known(s, i)->flags & others);
}

int is_constant_global(const struct source *s, int i)
{
    return is_global(s, i) && known(s, i)->variable == FIXED;
}

int is_index(const struct source *s, int i)
{
    return token_in(s, i, INDICES) && !is_declared(s, i);
}

/* --- types -------------------------------------------------------------------------- */

int is_builtin(const struct source *s, int i)
{
    return token_in(s, i, BUILTIN) && !is_macro(s, i);
}

int has_operators(void)
{
    return operators;
}

int is_class(const struct source *s, int i)
{
    if (!is_name(s, i) || is_macro(s, i)) return 0;
    return is_number_type(s, i) || known(s, i)->alias ||
           (token_in(s, i, CLASSES) && !operators);
}

int is_number_type(const struct source *s, int i)
{
    return is_name(s, i) && !is_macro(s, i) &&
           (known(s, i)->alias == NUMBER_TYPE ||
            (token_in(s, i, NUMBERS) && !is_declared(s, i)));
}
