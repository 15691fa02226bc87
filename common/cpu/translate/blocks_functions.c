/* blocks_functions.c - the __device__ functions that kernels call. A function that never
 * waits is called as it is. One that waits is written in place of its call (blocks_flat.c).
 *
 * Of overloaded functions none may wait. */
#include "blocks.h"
#include "headers.h"
#include "outline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct device_function *functions;
static int function_count, function_room;

/* --- the functions of a source ------------------------------------------------------ */

/* The first token of the declaration whose name is at i: after a ; { } or a line of the
 * preprocessor. Sets *device. */
static int start_of(const struct source *s, int i, int *device)
{
    int first = i;
    *device = 0;
    for (int p = previous(s, i); p >= 0; p = previous(s, p)) {
        const struct token *t = &s->tokens[p];
        if (t->in_directive || t->kind == DIRECTIVE || is(s, p, ";") || is(s, p, "{") ||
            is(s, p, "}"))
            break;
        if (is(s, p, ")") && mate(s, p) >= 0) p = mate(s, p);
        *device |= is(s, p, "__device__");
        first = p;
    }
    return first;
}

static void add_function(struct source *s, int open, int body)
{
    int name = previous(s, open), device;
    int start = is_name(s, name) ? start_of(s, name, &device) : -1;
    if (start < 0) return;
    struct name *n = look_up(s->tokens[name].start, s->tokens[name].length, 1);
    n->bodies++;
    if (!device) return;
    if (function_count == function_room) {
        function_room = function_room ? 2 * function_room : 64;
        functions =
            check_alloc(realloc(functions, (size_t)function_room * sizeof *functions));
    }
    int template = is(s, start, "template");
    functions[function_count] = (struct device_function){
        .s = s,
        .start = start,
        .head = template ? next(s, start) : -1,
        .name = name,
        .open = open,
        .body = body,
        .end = mate(s, body),
        .before = n->body - 1};
    n->body = ++function_count;
}

/* Bodies in classes are methods: only those of files and namespaces count. */
int find_functions(struct source *s)
{
    int before = function_count;
    if (check_mode) return 0; /* there all kernels run as fibers */
    for (int i = next(s, -1); i < s->count; i = next(s, i)) {
        if (!is(s, i, "{") || s->tokens[i].in_directive || mate(s, i) < i) continue;
        int p = previous(s, i);
        if (is(s, p, ")") && mate(s, p) >= 0) {
            add_function(s, mate(s, p), i);
        } else {
            int q = previous(s, p);
            int outer = is(s, p, "namespace") || is(s, q, "namespace") ||
                        (p >= 0 && s->tokens[p].kind == STRING);
            if (outer) continue;
        }
        i = mate(s, i);
    }
    return function_count - before;
}

struct device_function *function_at(const struct source *s, int i)
{
    const struct name *n =
        is_name(s, i) ? look_up(s->tokens[i].start, s->tokens[i].length, 0) : NULL;
    const unsigned others = KERNEL | NAMESPACE | MACRO;
    return n && n->body && !(n->flags & others) ? &functions[n->body - 1] : NULL;
}

int is_overloaded(const struct device_function *d)
{
    const struct token *t = &d->s->tokens[d->name];
    return look_up(t->start, t->length, 0)->bodies > 1;
}

/* --- does it wait? ------------------------------------------------------------------ */

static int add_globals_of(struct device_function *d, const struct device_function *other)
{
    for (int n = 0; n < other->global_count; n++) {
        if (d->global_count == MAX_GLOBALS) return 0;
        d->globals[d->global_count++] = other->globals[n];
    }
    return 1;
}

/* Those of the functions that it calls are the function's, too. */
static int note_globals(struct device_function *d, const struct kernel *k)
{
    for (int m = 0; m < k->own_call_count; m++)
        if (!add_globals_of(d, function_at(k->s, k->own_calls[m]))) return 0;
    for (int n = 0; n < k->global_count; n++) {
        if (template_parameter(k, k->globals[n].name)) continue;
        if (d->global_count == MAX_GLOBALS) return 0;
        const struct token *t = &k->s->tokens[k->globals[n].name];
        d->globals[d->global_count++] = format("%.*s", t->length, t->start);
    }
    return 1;
}

/* A call of d may be one of the other function. */
static int
join(struct device_function *d, struct kernel *k, const struct device_function *other)
{
    k->effects |= other->effects;
    d->by_reference |= other->by_reference;
    d->pointers &= other->pointers;
    d->returns_pointer |= other->returns_pointer;
    return add_globals_of(d, other);
}

int never_waits(struct device_function *d)
{
    enum { MAX_CALLED = 40 }; /* functions in functions */
    static int called;
    if (d->verdict != UNREAD) return d->verdict == RUNS;
    if (called == MAX_CALLED) return 0;
    d->verdict = BEING_READ; /* of two that call each other, one waits */
    struct kernel *k = check_alloc(malloc(sizeof *k));
    called++;
    int runs = read_function(k, d) && note_globals(d, k);
    struct device_function *other = d->before < 0 ? NULL : &functions[d->before];
    if (runs && other) runs = never_waits(other) && join(d, k, other);
    called--;
    d->effects = k->effects;
    d->verdict = runs ? RUNS : WAITS;
    free(k);
    return runs;
}

/* --- calls -------------------------------------------------------------------------- */

/* A thread's whole array */
static int read_array(struct kernel *k)
{
    int id = is_name(k->s, k->at) ? find_variable(k, k->at) : -1, n = next(k->s, k->at);
    if (id < 0 || !k->variables[id].indices || k->variables[id].kind == SHARED ||
        !(is(k->s, n, ",") || is(k->s, n, ")")))
        return 0;
    change_variable(k, id);
    k->meaning[k->at - k->body] = (short)(id + 1);
    k->at = n;
    return 1;
}

/* name<int, 3>( at k->at */
static int read_name(struct kernel *k)
{
    const struct source *s = k->s;
    k->at = next(s, k->at);
    if (!is(s, k->at, "<")) return is(s, k->at, "(");
    int close = close_angle(s, k->at);
    if (close < 0) return 0;
    for (k->at = next(s, k->at); k->at < close;) {
        int builtin;
        if (is_type(k, k->at)) {
            if (!read_type(k, &builtin)) return 0;
        } else if (
            !is_number(s, k->at) && template_parameter(k, k->at) != 'N' &&
            !is_constant_global(s, k->at) &&
            !(s->tokens[k->at].kind == MARK &&
              strchr(",+-*/", *s->tokens[k->at].start))) {
            return 0;
        } else {
            k->at = next(s, k->at);
        }
    }
    k->at = next(s, close);
    return is(s, k->at, "(");
}

/* The checks of the function's names from outside stand in the kernel: none of its
 * parameters may have such a name. */
static int inherit_globals(struct kernel *k, const struct device_function *d)
{
    for (int n = 0; n < d->global_count; n++)
        for (int m = 0; m < k->variable_count; m++) {
            const struct variable *v = &k->variables[m];
            if (v->kind == PARAMETER && is(k->s, v->name, d->globals[n])) return 0;
        }
    return 1;
}

int read_own_call(struct kernel *k)
{
    const struct source *s = k->s;
    struct device_function *d = function_at(s, k->at);
    int itself = d && k->function && d->s == s && d->body == k->body && !is_overloaded(d);
    if (!d || (!itself && !never_waits(d))) return 0;
    if (k->own_call_count == MAX_CALLS || !inherit_globals(k, d)) return 0;
    k->own_calls[k->own_call_count++] = k->at;
    k->effects |= CALLS | (d->effects & (READS | CHANGES | THREAD | DIVIDES));
    if (!read_name(k) || !accept(k, "(")) return 0;
    for (int n = 0; !is(s, k->at, ")"); n++) {
        int by_reference = n < 32 && d->by_reference >> n & 1;
        int pointer = n < 32 && d->pointers >> n & 1;
        if (pointer && !d->returns_pointer && read_array(k)) {
            ;
        } else if (by_reference ? !read_place(k) : !read_value(k)) {
            return 0;
        }
        if (!accept(k, ",") && !is(s, k->at, ")")) return 0;
    }
    return accept(k, ")");
}
