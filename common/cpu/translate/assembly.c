/* assembly.c - inline PTX: asm("code" : outputs : inputs : clobbers) becomes a call that
 * interprets the code (wbcpu/ptx.h). asm("") is a compiler barrier and is left as it is,
 * and so is asm in host functions, such as rdtsc. */
#include "outline.h"

/* An operand, [name] "=r"(x): name and string at i. Returns the token after its ')'. */
static int operand(struct source *s, int i, int end, int is_output)
{
    if (is(s, i, "[") && mate(s, i) > 0) { /* a name, which few programs use: by number */
        int after = next(s, mate(s, i));
        erase(s, i, mate(s, i) + 1);
        i = after;
    }
    int open = next(s, i);
    if (i >= end || s->tokens[i].kind != STRING || !is(s, open, "(") || mate(s, open) < 0)
        return end;
    s->tokens[i].before = is_output ? ", ::wbcpu::ptx_out(" : ", ::wbcpu::ptx_in(";
    s->tokens[i].after = ", ";
    s->tokens[mate(s, open)].after = ")";
    return next(s, mate(s, open));
}

/* The operands from i to end, in sections that begin with ':'. */
static void operands(struct source *s, int i, int end)
{
    int section = 0;
    while (i < end) {
        if (is(s, i, ":")) {
            section++;
            erase(s, i, i + 1);
            i = next(s, i);
        } else if (section > 2) {
            erase(s, i, end); /* clobbers */
            return;
        } else if (is(s, i, ",")) {
            erase(s, i, i + 1);
            i = next(s, i);
        } else {
            i = operand(s, i, end, section == 1);
        }
    }
}

static void assembly(struct source *s, int i)
{
    int open = next(s, i);
    while (is_name(s, open)) /* volatile, __volatile__, ... */
        open = next(s, open);
    int end = mate(s, open), first = next(s, open), after = next(s, first);
    if (is(s, first, "\"\"") && (is(s, after, ":") || after == end)) return;
    s->tokens[i].text = "::wbcpu::ptx"; /* whatever follows: no assembly for the CPU */
    if (!is(s, open, "(") || end < 0) return;
    s->tokens[open].after = "WBCPU_PTX_SITE(";
    s->tokens[previous(s, find_outside(s, first, end, ":"))].after = ")";
    operands(s, find_outside(s, first, end, ":"), end);
    erase(s, i + 1, open);
}

static int is_assembly(const struct source *s, int i)
{
    return is(s, i, "asm") || is(s, i, "__asm__") || is(s, i, "__asm");
}

/* In a host function that contains a device lambda, all asm counts as PTX. */
static int has_device_code(const struct outline *o, const struct function *f)
{
    for (int i = f->body; i < f->end; i++)
        if (word(o, i, "__device__")) return 1;
    return 0;
}

void find_host_assembly(struct source *s, const struct outline *o)
{
    for (int k = 0; k < o->function_count; k++) {
        const struct function *f = &o->functions[k];
        if (f->space != HOST_FUNCTION || has_device_code(o, f)) continue;
        for (int i = f->body; i < f->end; i++)
            if (is_assembly(s, o->token[i])) s->tokens[o->token[i]].is_host_code = 1;
    }
}

void rewrite_assembly(struct source *s)
{
    for (int i = 0; i < s->count && !given_up; i++)
        if (is_assembly(s, i) && !s->tokens[i].is_host_code) assembly(s, i);
}
