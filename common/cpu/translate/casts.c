/* casts.c - (void *)kernel loses the types of the kernel's parameters, which the launch by
 * cudaLaunchKernel or a graph's node needs. It becomes wbcpu::kernel_address(kernel). */
#include "outline.h"

/* The last token of a cast to a pointer to void that starts at i, or -1. */
static int end_of_cast(const struct source *s, int i)
{
    static const char *const words[] = {"const", "void", "const", "*"};
    int k, end = mate(s, i);
    if (is(s, i, "(") && end > i) {
        k = next(s, i);
    } else if (is(s, i, "reinterpret_cast") && is(s, next(s, i), "<")) {
        end = close_angle(s, next(s, i));
        k = next(s, next(s, i));
    } else {
        return -1;
    }
    int stars = 0, voids = 0;
    for (int w = 0; w < 4; w++)
        if (is(s, k, words[w])) {
            voids += w == 1;
            stars += w == 3;
            k = next(s, k);
        }
    return voids && stars && k == end ? end : -1;
}

/* The token after kernel, ns::kernel or kernel<T> at i, or -1. */
static int after_kernel(const struct source *s, int i)
{
    while (is_name(s, i) && run_of(s, next(s, i), ':', 2))
        i = next(s, next(s, next(s, i)));
    if (!is_name(s, i)) return -1;
    const struct name *n = look_up(s->tokens[i].start, s->tokens[i].length, 0);
    if (!n || !(n->flags & KERNEL)) return -1;
    int k = next(s, i);
    if (is(s, k, "<") && !run_of(s, k, '<', 3))
        k = close_angle(s, k) > 0 ? next(s, close_angle(s, k)) : -1;
    return k;
}

void rewrite_casts(struct source *s)
{
    for (int i = 0; i < s->count && !given_up; i++) {
        int cast = end_of_cast(s, i), first = next(s, cast), bracket = first;
        if (cast < 0) continue;
        if (is(s, first, "(")) first = next(s, first); /* or (void *)(kernel) */
        if (is(s, first, "&")) first = next(s, first);
        int end = after_kernel(s, first);
        if (end < 0 || (is(s, bracket, "(") && end != mate(s, bracket))) continue;
        erase(s, i, cast + 1);
        s->tokens[i].before = "(void *)::wbcpu::kernel_address(";
        s->tokens[end].before = ")";
    }
}
