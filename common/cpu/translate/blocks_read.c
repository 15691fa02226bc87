/* blocks_read.c - reads a kernel as statements between barriers, and its variables. */
#include "blocks.h"

#include "outline.h"

#include <string.h>

#define STATEMENTS "if else for while do return break continue"

const struct variable *variable_at(const struct kernel *k, int i)
{
    const struct token *t = &k->s->tokens[i];
    if (t->kind != NAME || !stands_alone(k->s, i)) return NULL;
    for (int n = k->variable_count - 1; n >= 0; n--) {
        const struct variable *v = &k->variables[n];
        const struct token *name = &k->s->tokens[v->name];
        if (v->from <= i && i < v->to && name->length == t->length &&
            memcmp(name->start, t->start, (size_t)t->length) == 0)
            return v;
    }
    return NULL;
}

/* 0 if it hides another one: names must be enough to tell them apart. */
static int
add_variable(struct kernel *k, enum variable_kind kind, int name, int from, int to)
{
    if (k->variable_count == MAX_VARIABLES || !is_name(k->s, name)) return 0;
    const struct token *t = &k->s->tokens[name];
    const struct name *known = look_up(t->start, t->length, 0);
    if (variable_at(k, name) || (known && known->flags & MACRO) || is_type(k->s, name))
        return 0;
    struct variable *v = &k->variables[k->variable_count++];
    *v = (struct variable){
        .kind = kind,
        .name = name,
        .from = name,
        .to = to,
        .item = k->item_count - 1,
        .type = -1};
    const int own = kind == PARAMETER || kind == COUNTER;
    for (int i = own ? from : next(k->s, name); i < to; i++)
        if (is_name(k->s, i) && is_assigned(k->s, i) && variable_at(k, i) == v)
            v->modified = 1;
    return 1;
}

static int add_item(struct kernel *k, enum item_kind kind, int first, int end, int depth)
{
    if (k->item_count == MAX_ITEMS) return 0;
    k->items[k->item_count++] = (struct item){
        .kind = kind, .first = first, .end = end, .depth = depth, .phase = -1};
    return 1;
}

static int has(const struct source *s, int first, int end, const char *words)
{
    for (int i = first; i < end; i++)
        if (token_in(s, i, words)) return 1;
    return 0;
}

/* --- expressions -------------------------------------------------------------------- */

/* 1 if a value ends at i, so that a * after it multiplies: not after the cast (int) or (T). */
static int ends_value(const struct kernel *k, int i)
{
    const struct source *s = k->s;
    if (!is(s, i, ")")) return is_name(s, i) || (i >= 0 && s->tokens[i].kind == NUMBER);
    int last = previous(s, i), single = previous(s, last) == mate(s, i);
    return !is_type(s, last) && !is(s, last, "*") &&
           !(single && is_name(s, last) && !variable_at(k, last));
}

/* 1 if [first, end) always has the same value: it reads nothing but parameters, indices
 * and variables of that kind. uniform: and in all threads of a block. */
static int is_constant(const struct kernel *k, int first, int end, int uniform)
{
    const struct source *s = k->s;
    for (int i = next(s, first - 1); i < end; i = next(s, i)) {
        int p = previous(s, i), n = next(s, i);
        if (s->tokens[i].kind == MARK) {
            int value = p >= first && ends_value(k, p);
            int second = is(s, i, "&") && is(s, i - 1, "&") && !is(s, i - 2, "&");
            if (strchr("[{", *s->tokens[i].start)) return 0;
            if (strchr("*&", *s->tokens[i].start) && !value && !second) return 0;
            if (is(s, i, "-") && is(s, i + 1, ">")) return 0;
        }
        if (!is_name(s, i) || !stands_alone(s, i) || is_type(s, i)) continue;
        if (is(s, i, "sizeof")) continue;
        if (is(s, n, "(")) return 0;
        const struct variable *v = variable_at(k, i);
        if (v && v->kind == LOCAL) {
            const struct item *made = &k->items[v->item];
            if (made->kind != FOR_BLOCK && (uniform || !made->again)) return 0;
        } else if (v) {
            if (v->modified || v->kind == SHARED) return 0;
        } else {
            const struct token *t = &s->tokens[i];
            const struct name *known = look_up(t->start, t->length, 0);
            if (known && known->flags & (DEVICE_VARIABLE | SHARED_VARIABLE)) return 0;
            if (uniform && is(s, i, "threadIdx")) return 0;
        }
    }
    return 1;
}

/* --- declarations ------------------------------------------------------------------- */

/* The token after the type at i, or -1 if no declaration begins there. */
static int after_type(const struct source *s, int i, int *known)
{
    for (*known = 0; is_type(s, i); i = next(s, i))
        *known |= !token_in(s, i, "const constexpr");
    if (*known) return i;
    int n = next(s, i);
    while (is(s, n, "*") || token_in(s, n, "const __restrict__ __restrict"))
        n = next(s, n);
    return is_name(s, i) && is_name(s, n) && !token_in(s, i, STATEMENTS) ? next(s, i)
                                                                         : -1;
}

/* 1 if the statement at i surely declares nothing. */
static int is_code(const struct source *s, int i)
{
    int n = next(s, i);
    if (token_in(s, i, STATEMENTS)) return 1;
    if (!is_name(s, i))
        return is(s, i, "{") || is(s, i, "*") || is(s, i, ";") || is(s, i, "(") ||
               is(s, i, "+") || is(s, i, "-");
    if (is(s, n, "[")) return !is(s, i, "auto");
    return is(s, n, "=") || is(s, n, "(") || is(s, n, ".") || is_assigned(s, i) ||
           (is(s, n, "-") && is(s, n + 1, ">"));
}

/* Reads the declaration [first, end) whose type ends at i: the last item. Its scope ends at
 * `to`. */
static int
read_declaration(struct kernel *k, int first, int i, int end, int to, int known)
{
    const struct source *s = k->s;
    struct item *item = &k->items[k->item_count - 1];
    const int type_end = i;
    int again = known, uniform = known;
    while (i < end) {
        int stars = 0, storable = known && !has(s, first, type_end, "constexpr");
        for (; is(s, i, "*") || token_in(s, i, "const __restrict__ __restrict");
             i = next(s, i)) {
            stars += is(s, i, "*");
            if (is(s, i, "const")) storable = 0;
        }
        if (!add_variable(k, LOCAL, i, i, to)) return 0;
        struct variable *v = &k->variables[k->variable_count - 1];
        for (i = next(s, i); is(s, i, "["); i = next(s, mate(s, i)))
            storable = again = uniform = 0, k->addresses = 1;
        if (!is(s, i, "=") && !is(s, i, ",") && !is(s, i, ";")) return 0; /* int a(1) */
        int value = is(s, i, "=") ? next(s, i) : -1;
        while (i < end - 1 && !is(s, i, ","))
            i = next(s, mate(s, i) > i ? mate(s, i) : i);
        v->type = storable ? first : -1, v->type_end = type_end, v->stars = stars;
        again = again && value > 0 && !v->modified && is_constant(k, value, i, 0);
        uniform = uniform && again && is_constant(k, value, i, 1);
        item->again = again; /* the next variables may use this one */
        i = next(s, i);
    }
    item->kind = uniform ? FOR_BLOCK : DECLARATION;
    return 1;
}

/* 1 if no rule of the translator has changed the tokens. */
static int is_untouched(const struct source *s, int first, int end)
{
    for (int i = first; i < end; i++) {
        const struct token *t = &s->tokens[i];
        if (t->before || t->after || (t->text && t->kind != DIRECTIVE)) return 0;
    }
    return 1;
}

/* The arrays of the declaration [i, end); their scope ends at `to`. */
static int read_shared(struct kernel *k, int i, int end, int to)
{
    const struct source *s = k->s;
    int known = 0, pointer = 0;
    for (int n = i; n < end; n = next(s, n)) {
        int after = next(s, n);
        known |= is_type(s, n) && !is(s, n, "const");
        pointer |= is(s, n, "*");
        if (is(s, n, "[") || is(s, n, "("))
            n = mate(s, n);
        else if (
            is_name(s, n) &&
            (is(s, after, "[") || is(s, after, ",") || is(s, after, ";"))) {
            if (!add_variable(k, SHARED, n, n, to)) return 0;
            if (known && !pointer) k->variables[k->variable_count - 1].type = i;
        }
    }
    return !pointer;
}

/* --- statements --------------------------------------------------------------------- */

/* What follows the statement at i */
static int after_statement(const struct source *s, int i)
{
    int head = next(s, i);
    if (i >= s->count) return i;
    if (token_in(s, i, "if for while") && !is(s, head, "(")) return s->count + 1;
    if (s->tokens[i].kind == DIRECTIVE) return after_statement(s, head);
    if (is(s, i, "{")) return mate(s, i) + 1;
    if (is(s, i, "do")) {
        i = after_statement(s, head);
        while (i < s->count && !is(s, i, ";"))
            i++;
        return i + 1;
    }
    if (token_in(s, i, "if for while")) {
        i = after_statement(s, next(s, mate(s, head)));
        return is(s, next(s, i - 1), "else") ? after_statement(s, next(s, next(s, i - 1)))
                                             : i;
    }
    while (i < s->count && !is(s, i, ";") && !is(s, i, "}"))
        i = mate(s, i) > i ? mate(s, i) + 1 : i + 1;
    return i + 1;
}

/* The head of a loop with barriers: for (int d = 1; d < n; d *= 2), the same in all
 * threads. */
static int read_head(struct kernel *k, int open, int body)
{
    const struct source *s = k->s;
    int close = mate(s, open), i = next(s, open), known;
    int name = after_type(s, i, &known), part = 0, first = next(s, next(s, name));
    if (!known || name < 0 || !is(s, next(s, name), "=")) return 0;
    if (!add_variable(k, COUNTER, name, next(s, body), mate(s, body))) return 0;
    if (k->variables[k->variable_count - 1].modified) return 0;
    for (i = first; i <= close; i = next(s, i)) {
        if (is(s, i, ",")) return 0;
        if (!is(s, i, ";") && i != close) continue;
        if (first == i || !is_constant(k, first, i, 1)) return 0;
        first = next(s, i), part++;
    }
    return part == 3;
}

static int read_items(struct kernel *k, int i, int end, int depth)
{
    const struct source *s = k->s;
    int running = 0, known; /* running: a phase goes on */
    for (; i < end; i = next(s, i)) {
        int to = after_statement(s, i), type = after_type(s, i, &known), runs = 0;
        if (to <= i || to > end) return 0;
        int start = s->tokens[i].kind == DIRECTIVE ? next(s, i) : i;
        if (token_in(s, i, "__shared__ extern")) {
            if (!add_item(k, FOR_BLOCK, i, to, depth)) return 0;
            if (!read_shared(k, i, to, end)) return 0;
        } else if (is(s, i, "__syncthreads")) {
            if (!add_item(k, BARRIER, i, to, depth)) return 0;
            running = 0, k->barriers--;
        } else if (is(s, start, "for") && has(s, i, to, "__syncthreads")) {
            int open = next(s, start), body = next(s, mate(s, open));
            if (!is(s, body, "{") || !add_item(k, LOOP, start, body, depth)) return 0;
            if (!is_untouched(s, i, body) || !read_head(k, open, body)) return 0;
            if (!read_items(k, next(s, body), mate(s, body), depth + 1)) return 0;
            if (!add_item(k, LOOP_END, mate(s, body), to, depth)) return 0;
            running = 0;
        } else {
            if (!add_item(k, CODE, i, to, depth)) return 0;
            if (type > 0 && !read_declaration(k, i, type, to, end, known)) return 0;
            /* A break would leave the loop over threads. */
            if (type < 0 && depth && !token_in(s, start, "for while do") &&
                has(s, i, to, "break continue"))
                return 0;
            if (!is_untouched(s, i, to) || (type < 0 && !is_code(s, start))) return 0;
            runs = k->items[k->item_count - 1].kind != FOR_BLOCK;
        }
        if (runs && !running) running = 1, k->phases++;
        if (k->phases > MAX_PHASES) return 0;
        if (runs) k->items[k->item_count - 1].phase = k->phases - 1;
        i = to - 1;
    }
    return 1;
}

/* --- the whole kernel --------------------------------------------------------------- */

static int read_parameters(struct kernel *k)
{
    const struct source *s = k->s;
    for (int i = next(s, k->open), close = mate(s, k->open); i <= close; i = next(s, i)) {
        int p = previous(s, i);
        if (s->tokens[i].kind == MARK && strchr("([=.&:", *s->tokens[i].start)) return 0;
        if (s->tokens[i].in_directive || is(s, i, "volatile")) return 0;
        if (is(s, i, "<") && close_angle(s, i) > 0) i = close_angle(s, i);
        if ((is(s, i, ",") || i == close) && p != k->open &&
            !add_variable(k, PARAMETER, p, k->body, k->end))
            return 0;
    }
    return 1;
}

/* Finds the phases in which each variable appears; 0 if one cannot be kept between two. */
static int find_kept(struct kernel *k)
{
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        for (int i = item->first; item->phase >= 0 && i < item->end; i++) {
            struct variable *v = (struct variable *)variable_at(k, i);
            if (v) v->phases |= 1ull << item->phase;
            if (v && v->kind != SHARED && is(k->s, previous(k->s, i), "&") &&
                is_assigned(k->s, i))
                k->addresses = 1;
        }
    }
    for (int n = 0; n < k->variable_count; n++) {
        struct variable *v = &k->variables[n];
        int several = (v->phases & (v->phases - 1)) != 0;
        if (v->kind == PARAMETER && v->modified) { /* each thread changes its own */
            if (several) return 0;
            for (int m = 0; m < k->item_count; m++)
                if (k->items[m].phase >= 0 && v->phases >> k->items[m].phase & 1 &&
                    k->items[m].depth)
                    return 0;
        }
        if (v->kind != LOCAL || k->items[v->item].kind != DECLARATION) continue;
        v->kept = several && !k->items[v->item].again;
        /* No address of a variable goes to the next phase, where it is another one. */
        if (v->kept && (v->type < 0 || (v->stars && k->addresses))) return 0;
    }
    return 1;
}

/* A thread may exit in the last phase, unless that is in a loop. */
static int exits_late(const struct kernel *k)
{
    for (int n = 0; n < k->item_count; n++) {
        const struct item *item = &k->items[n];
        if (has(k->s, item->first, item->end, "return") &&
            (item->phase != k->phases - 1 || item->depth))
            return 0;
    }
    return 1;
}

int read_kernel(struct kernel *k, struct source *s, int i)
{
    *k = (struct kernel){.s = s, .open = -1};
    for (int n = 0; n < 200 && i < s->count && !is(s, i, "{"); n++, i = next(s, i)) {
        if (s->tokens[i].in_directive || is(s, i, ";") || is(s, i, "}")) return 0;
        if (!is(s, i, "(")) continue;
        if (!token_in(s, previous(s, i), "__launch_bounds__ __attribute__")) k->open = i;
        i = mate(s, i);
        if (i < 0) return 0;
    }
    k->body = i, k->end = mate(s, i);
    if (k->open < 0 || !is(s, i, "{") || k->end < 0 || k->end - i > MAX_KERNEL) return 0;
    if (!is_plain(s, i + 1, k->end)) return 0;
    for (int n = i; n < k->end; n++)
        k->barriers += is(s, n, "__syncthreads");
    return read_parameters(k) && read_items(k, next(s, i), k->end, 0) && !k->barriers &&
           k->phases && find_kept(k) && exits_late(k);
}
