/* spaces_uses.c - one use of a name in device code or in host code: does nvcc accept it? */
#include "spaces.h"

#include <stdlib.h>

/* Functions of CUDA that a host function of the same name would overload. */
#define OVERLOADED                                                                        \
    "abs min max ceil floor round trunc rint sqrt cbrt hypot exp exp2 exp10 expm1 log "   \
    "log2 log10 log1p pow sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh "   \
    "atanh erf erfc erfinv fabs fmin fmax fma fmod modf frexp ldexp rsqrt rcbrt sinpi "   \
    "cospi sincos copysign isnan isinf isfinite signbit norm normf saturate reduce sync " \
    "wait wait_prior this_thread_block this_grid tiled_partition coalesced_threads "      \
    "labeled_partition binary_partition memcpy_async inclusive_scan exclusive_scan "      \
    "load_matrix_sync store_matrix_sync fill_fragment mma_sync plus less greater swap"
/* Functions that nvcc accepts in host code only. */
#define HOST_LIBRARY                                                                     \
    "exit abort rand srand drand48 fprintf puts putchar fputs getchar fopen fclose "     \
    "fflush fwrite fread perror strcmp strncmp strcpy strcat sprintf snprintf vprintf "  \
    "getenv time calloc realloc memmove memcmp atoi atof strtof strtol qsort usleep "    \
    "sleep isdigit isalpha isspace tolower toupper cudaMemcpy"
#define HOST_STD                                                                         \
    "swap sort stable_sort fill fill_n copy copy_n accumulate reduce find "              \
    "count reverse iota transform for_each max_element min_element inner_product "       \
    "vector string map unordered_map set deque list cout cerr endl"
/* The same, but constexpr: --expt-relaxed-constexpr allows them. */
#define CONSTEXPR_STD "max min clamp numeric_limits"
/* What nvcc has for device code only. */
#define DEVICE_LIBRARY                                                                   \
    "__syncthreads __syncwarp __shfl_sync __shfl_xor_sync __shfl_down_sync "             \
    "__shfl_up_sync __ballot_sync __any_sync __all_sync atomicAdd atomicSub atomicMax "  \
    "atomicMin atomicExch atomicCAS atomicAnd atomicOr atomicXor __expf __logf"

int relaxed_constexpr;
static int unread; /* some header was not read */

void unread_header(void)
{
    unread = 1;
}

static void refuse(const struct body *b, int i, const char *verb, const char *rest)
{
    const struct outline *o = b->o;
    int name = b->f->name, at = o->token[i];
    int qualified = i > 2 && scope_mark(o, i - 2) && named(o, i - 3);
    char *what = text_of(o->s, qualified ? o->token[i - 3] : at, at + 1);
    char *own = name < 0 ? format("an operator")
                         : text_of(o->s, o->token[name], o->token[name] + 1);
    const char *kind = b->space == KERNEL            ? "kernel "
                       : b->space != b->f->space     ? "a __device__ lambda in "
                       : b->space == DEVICE_FUNCTION ? "__device__ function "
                       : b->space == HOST_FUNCTION   ? "host function "
                                                     : "__host__ __device__ function ";
    refuse_at(o->s, at, "%s%s %s %s%s", kind, own, verb, what, rest);
    free(what);
    free(own);
}

/* The '(' of the call f(...) or f<...>(...) at i, or -1 */
static int call_bracket(const struct outline *o, int i)
{
    int open = past_angles(o, i + 1);
    return word(o, open, "(") ? open : -1;
}

/* Is the name at i that of a member, or of an unknown namespace? */
static int is_foreign(const struct outline *o, int i)
{
    for (int n = 0; n < 8; n++, i -= 3) { /* a::b::c */
        if (word(o, i - 1, ".")) return 1;
        if (word(o, i - 1, ">") && word(o, i - 2, "-")) return 1;
        if (i < 2 || !scope_mark(o, i - 2)) return 0;
        if (word(o, i - 3, ">")) return 1;
        if (!named(o, i - 3) || is_keyword(o, i - 3)) return 0;
        const struct name *space = name_at(o, i - 3, 0);
        if (!space || space->flags != NAMESPACE) return 1;
    }
    return 1;
}

/* 1 if the value of an array's element must be known to the compiler, which nvcc allows:
 * constexpr float x = table[1]; */
static int is_constant_use(const struct outline *o, int i)
{
    if (word(o, i - 1, "[") || word(o, i - 1, "<")) return 1;
    for (int n = 0; n < 200 && i >= 0; n++, i--) {
        if (word(o, i, ";") || word(o, i, "{") || word(o, i, "}")) return 0;
        if (in_list(o, i, "constexpr static_assert case")) return 1;
    }
    return 0;
}

void check_device_use(const struct body *b, int i)
{
    const struct outline *o = b->o;
    const struct name *n = name_at(o, i, 0);
    int call = call_bracket(o, i) > 0;
    unsigned flags = n ? n->flags : 0;
    if (i > 2 && scope_mark(o, i - 2) && word(o, i - 3, "std")) {
        if (in_list(o, i, HOST_STD) ||
            (!relaxed_constexpr && in_list(o, i, CONSTEXPR_STD)))
            refuse(
                b, i, "uses",
                in_list(o, i, "max min") ? ", which is host code: write it without std::"
                                         : ", which is host code: write device code");
        return;
    }
    if (word(o, i, "__constant__")) {
        refuse(b, i, "declares a", " variable: declare it outside of functions");
        return;
    }
    if (in_list(o, i, "throw try")) {
        refuse(b, i, "has a", ": there are no exceptions in device code");
        return;
    }
    if (is_foreign(o, i) || is_local(o, i)) return;
    if (flags == HOST_VARIABLE) {
        refuse(b, i, "uses the host variable", ": pass it as an argument");
    } else if (flags == TEXTURE_REFERENCE) {
        refuse(
            b, i, "uses the texture or surface reference",
            ": CUDA 12 removed these; pass a cudaTextureObject_t or cudaSurfaceObject_t");
    } else if (flags == HOST_ARRAY) {
        if (!is_constant_use(o, i))
            refuse(b, i, "uses the host array", ": declare it __constant__");
    } else if (!call || (named(o, i - 1) && !is_keyword(o, i - 1))) {
        return;
    } else if ((flags & ~(unsigned)CONSTEXPR) == HOST_FUNCTION) {
        if (relaxed_constexpr && flags & CONSTEXPR) return;
        if (unread || in_list(o, i, OVERLOADED)) return;
        refuse(
            b, i, "calls",
            flags & CONSTEXPR
                ? ", a constexpr host function: write __host__ __device__ before it"
                : ", a host function: write __device__ before it");
    } else if (!flags && word(o, i, "cudaDeviceSynchronize")) {
        refuse(
            b, i, "calls",
            ", which CUDA 12 removed from device code: launch what follows as a kernel on "
            "cudaStreamTailLaunch");
    } else if (!flags && in_list(o, i, HOST_LIBRARY)) {
        refuse(
            b, i, "calls",
            ", a function of the host's library: device code cannot call it");
    }
}

void check_host_use(const struct body *b, int i)
{
    const struct outline *o = b->o;
    const struct name *n = name_at(o, i, 0);
    unsigned flags = n ? n->flags : 0;
    if (word(o, i, "__shared__") && b->space == HOST_FUNCTION &&
        !word(o, i - 1, "extern") && !word(o, i + 1, "extern")) {
        refuse(b, i, "declares a", " variable: only kernels have shared memory");
        return;
    }
    if (is_foreign(o, i) || is_local(o, i) || call_bracket(o, i) < 0 ||
        (named(o, i - 1) && !is_keyword(o, i - 1)))
        return;
    if (flags == DEVICE_FUNCTION && !unread && !in_list(o, i, OVERLOADED))
        refuse(
            b, i, "calls",
            ", a __device__ function: write __host__ __device__ before it");
    else if (!flags && b->space == HOST_FUNCTION && in_list(o, i, DEVICE_LIBRARY))
        refuse(b, i, "calls", ", a device function: only device code can call it");
}
