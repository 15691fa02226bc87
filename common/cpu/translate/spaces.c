/* spaces.c - refuses what nvcc refuses and g++ would accept, because here __device__ and
 * __global__ are empty macros: calls between host and device code, host variables in
 * device code, __shared__ in host code, kernels that return a value, exceptions.
 *
 * A name says which declarations it may mean. Only if all of them are of the wrong side is
 * the use an error. What is unsure is accepted: members, names in macros, names with a
 * local declaration, code in #if. */
#include "outline.h"

#include <stdlib.h>
#include <string.h>

/* Functions of CUDA that a host function of the same name would overload. */
#define OVERLOADED                                                                        \
    "abs min max ceil floor round trunc rint sqrt cbrt hypot exp exp2 exp10 expm1 log "   \
    "log2 log10 log1p pow sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh "   \
    "atanh erf erfc erfinv fabs fmin fmax fma fmod modf frexp ldexp rsqrt rcbrt sinpi "   \
    "cospi sincos copysign isnan isinf isfinite signbit norm normf saturate reduce sync " \
    "wait wait_prior this_thread_block this_grid tiled_partition coalesced_threads "      \
    "labeled_partition binary_partition memcpy_async inclusive_scan exclusive_scan "      \
    "load_matrix_sync store_matrix_sync fill_fragment mma_sync plus less greater swap"
/* What nvcc has for host code only. */
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
#define KEYWORDS                                                                         \
    "return else do case goto throw sizeof new delete and or not if while for switch "   \
    "co_return co_yield"

int relaxed_constexpr;
static int unread; /* some header was not read */

void unread_header(void)
{
    unread = 1;
}

/* --- local names -------------------------------------------------------------------- */

static int functions_seen; /* the number of the function being checked */

static int is_local(const struct outline *o, int i)
{
    const struct name *n = name_at(o, i, 0);
    return n && n->local == functions_seen;
}

/* Steps left over the words of a type, such as `const ns::T`, which ends at i. */
static int before_type(const struct outline *o, int i)
{
    for (int n = 0; n < 16; n++, i--) {
        if (scope_mark(o, i - 1))
            i--;
        else if (!named(o, i) || in_list(o, i, KEYWORDS))
            break;
    }
    return i;
}

/* Does the name at i look declared: float x, T *x, vec<E> x, auto [x, y], [x](...)? An
 * expression may look so too; then a wrong use is missed. inner: the bracket around it. */
static int is_declared(const struct outline *o, int i, int inner)
{
    int p = i - 1, q = p - 1;
    if (word(o, p, "{")) return word(o, q, "enum") || word(o, q - 1, "enum");
    if (named(o, p)) /* not the type in `const T *x` or `typename T` */
        return !in_list(o, p, KEYWORDS " typename class") && !named(o, i + 1) &&
               !word(o, i + 1, "*") && !word(o, i + 1, "&") && !word(o, i + 1, "<");
    if (word(o, inner, "[")) /* a capture; not an index */
        return !named(o, inner - 1) && !word(o, inner - 1, ")") &&
               !word(o, inner - 1, "]");
    if (word(o, p, ",")) return !word(o, inner, "(") || word(o, inner - 1, "for");
    if (word(o, p, ">")) {
        int open = open_angle(o->s, o->token[p]);
        return open >= 0 && o->place[open] > 0 && named(o, o->place[open] - 1);
    }
    while (word(o, p, "*") || word(o, p, "&") || word(o, p, "const"))
        p--;
    if (p == i - 1) return 0;
    if (word(o, p, "("))
        return word(o, i + 1, ")") && (word(o, i + 2, "(") || word(o, i + 2, "["));
    if (word(o, p, ",")) return !word(o, inner, "(");
    if (word(o, p, ">")) return open_angle(o->s, o->token[p]) >= 0;
    if (!named(o, p) || is_local(o, p)) return 0;
    p = before_type(o, p);
    return word(o, p, ";") || word(o, p, "{") || word(o, p, "}") || word(o, p, "(") ||
           word(o, p, ",") || word(o, p, ")") || word(o, p, "<") || word(o, p, ">");
}

/* Marks the names that a function declares. */
static void find_locals(const struct outline *o, const struct function *f)
{
    int open[MAX_NESTING + 1], depth = 0;
    open[0] = -1;
    functions_seen++;
    for (int i = f->first; i <= f->end; i++) {
        int m = other(o, i);
        if (m > i && depth < MAX_NESTING) open[++depth] = i;
        if (m >= 0 && m < i && depth) depth--;
        if (i != f->name && named(o, i) && is_declared(o, i, open[depth]))
            name_at(o, i, 1)->local = functions_seen;
    }
}

/* --- one use of a name -------------------------------------------------------------- */

struct body {
    const struct outline *o;
    const struct function *f;
    unsigned space; /* of the function, or of the lambda in it */
};

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

/* The past of the call f(...) or f<...>(...) at i: the '(' , or -1. */
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
        if (!named(o, i - 3) || in_list(o, i - 3, KEYWORDS)) return 0;
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

static void check_device_use(const struct body *b, int i)
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
    } else if (flags == HOST_ARRAY) {
        if (!is_constant_use(o, i))
            refuse(b, i, "uses the host array", ": declare it __constant__");
    } else if (!call || (named(o, i - 1) && !in_list(o, i - 1, KEYWORDS))) {
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
        refuse(b, i, "calls", ", a function of the host's library: device code has none");
    }
}

static void check_host_use(const struct body *b, int i)
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
        (named(o, i - 1) && !in_list(o, i - 1, KEYWORDS)))
        return;
    if (flags == DEVICE_FUNCTION && !unread && !in_list(o, i, OVERLOADED))
        refuse(
            b, i, "calls",
            ", a __device__ function: write __host__ __device__ before it");
    else if (!flags && b->space == HOST_FUNCTION && in_list(o, i, DEVICE_LIBRARY))
        refuse(b, i, "calls", ", which only device code can do");
}

/* --- bodies ------------------------------------------------------------------------- */

/* The body of the lambda whose '[' is at i, or -1. Sets *space if it is annotated. */
static int lambda_body(const struct outline *o, int i, unsigned *space)
{
    int k = other(o, i) + 1, device = 0, host = 0;
    if ((named(o, i - 1) && !word(o, i - 1, "return")) || word(o, i - 1, ")") ||
        word(o, i - 1, "]"))
        return -1;
    for (int n = 0; n < 40 && k < o->count && !word(o, k, "{"); n++, k++) {
        if (word(o, k, ";") || word(o, k, ")") || word(o, k, "}") || word(o, k, "]"))
            return -1;
        device |= word(o, k, "__device__");
        host |= word(o, k, "__host__");
        if (other(o, k) > k) k = other(o, k);
    }
    if (!word(o, k, "{")) return -1;
    if (device) *space = host ? HOST_FUNCTION | DEVICE_FUNCTION : DEVICE_FUNCTION;
    return k;
}

static int is_macro_call(const struct outline *o, int i)
{
    const struct name *n = name_at(o, i, 0);
    if (!word(o, i + 1, "(")) return 0;
    if (n) return (n->flags & MACRO) != 0;
    const struct token *t = &o->s->tokens[o->token[i]];
    for (int k = 0; k < t->length; k++)
        if (t->start[k] >= 'a' && t->start[k] <= 'z') return 0;
    return 1; /* ALL_CAPITALS, from a header that was not read */
}

/* Checks the tokens between the braces. */
static void check_body(const struct body *b, int body)
{
    const struct outline *o = b->o;
    int end = other(o, body);
    for (int i = body + 1; i < end && !given_up; i++) {
        int inner = -1;
        struct body lambda = *b;
        if (word(o, i, "[")) inner = lambda_body(o, i, &lambda.space);
        if (inner > i && inner < end) {
            if (lambda.space == b->space) continue;
            check_body(&lambda, inner);
            i = other(o, inner);
        } else if (
            in_list(o, i, "struct class union") &&
            word(o, i + 1 + named(o, i + 1), "{")) {
            i = other(o, i + 1 + named(o, i + 1));
        } else if (in_list(o, i, "sizeof decltype noexcept alignof typeid")) {
            i = word(o, i + 1, "(") ? other(o, i + 1) : i + 1;
        } else if (!named(o, i)) {
            continue;
        } else if (is_macro_call(o, i)) {
            i = other(o, i + 1);
        } else if (o->depth[i] > o->depth[b->f->first]) {
            continue;
        } else if (b->space & (DEVICE_FUNCTION | KERNEL) && !(b->space & HOST_FUNCTION)) {
            check_device_use(b, i);
        } else {
            check_host_use(b, i);
        }
    }
}

/* --- variable-length arrays --------------------------------------------------------- */

/* g++ knows them. In the body of device code, its warning becomes an error. g++ reads the
 * bodies of a class's functions after the class: both pragmas lie between the braces. */
static void forbid_variable_arrays(struct source *s, int body, int end)
{
    struct token *after = &s->tokens[body + 1]; /* a blank: no other rule writes there */
    if (after->kind != BLANK || s->tokens[end].before) return;
    after->before = " _Pragma(\"GCC diagnostic push\")"
                    " _Pragma(\"GCC diagnostic error \\\"-Wvla\\\"\")";
    s->tokens[end].before = "_Pragma(\"GCC diagnostic pop\") ";
}

/* --- all functions ------------------------------------------------------------------ */

static void names_of(struct token_index *x, const struct outline *o)
{
    for (int i = 0; i < o->count; i++)
        if (named(o, i)) index_add(x, o->token[i]);
    index_sort(x, o->s);
}

/* A template is compiled if it is used: its name occurs again. */
static int is_used(
    const struct outline *o, const struct function *f, const struct token_index *names)
{
    int equal = 0;
    if (!f->is_template) return 1;
    if (f->name < 0) return 0;
    const struct token *t = &o->s->tokens[o->token[f->name]];
    index_find(names, o->s, t->start, t->length, &equal);
    return equal > 1;
}

/* Discarded branches of a template are not compiled. */
static int has_discarded(const struct outline *o, const struct function *f)
{
    for (int i = f->body; i < f->end; i++)
        if (word(o, i, "if") && word(o, i + 1, "constexpr")) return 1;
    return 0;
}

static void check_function(
    const struct outline *o, const struct function *f, const struct token_index *names)
{
    struct body b = {o, f, f->space};
    if (!f->space || o->depth[f->first] || !is_used(o, f, names)) return;
    if (f->space == KERNEL && f->returns && f->name >= 0)
        refuse_at(
            o->s, o->token[f->name],
            "a kernel must return void: write the results to an array");
    if (has_discarded(o, f)) return;
    if (f->is_template && f->space == (HOST_FUNCTION | DEVICE_FUNCTION)) return;
    find_locals(o, f);
    check_body(&b, f->body);
}

void check_spaces(struct source *s)
{
    struct outline o;
    struct token_index names = {0};
    make_outline(&o, s);
    name_architecture(s, &o);
    rewrite_shifts(s, &o);
    static int lost;
    lost |= o.lost;
    names_of(&names, &o);
    for (int i = 0; i < o.function_count && !lost && !given_up; i++) {
        const struct function *f = &o.functions[i];
        check_function(&o, f, &names);
        if (f->space == KERNEL || f->space == DEVICE_FUNCTION)
            forbid_variable_arrays(s, o.token[f->body], o.token[f->end]);
    }
    free(names.tokens);
    free_outline(&o);
}
