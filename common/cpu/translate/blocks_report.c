/* blocks_report.c - if the environment variable WBCPU_LOOPS is set: a line for each kernel
 * that says whether its threads run as loops, and if not, where the translator stopped.
 *
 *     sum.cu:9: kernel sum: loops, if these have plain types: total
 *     sum.cu:30: kernel wait: fibers: line 33 cannot be parsed, near `volatile`
 */
#include "blocks_write.h"

#include <stdlib.h>
#include <string.h>

static int is_wanted(void)
{
    const char *set = getenv("WBCPU_LOOPS");
    return set && *set && strcmp(set, "0") != 0;
}

static void
append_kernel(struct buffer *b, const struct source *s, const struct kernel *k)
{
    int name = previous(s, k->open);
    char *text = is_name(s, name) ? text_of(s, name, name + 1) : format("?");
    append_text(b, "kernel ");
    append_text(b, text);
    free(text);
}

void show_loops(const struct source *s, struct kernel *k, int i)
{
    struct buffer b = {0};
    const char *before = ", if these have plain types: ";
    if (!is_wanted()) return;
    append_kernel(&b, s, k);
    append_text(&b, ": loops");
    for (int n = 0; n < k->global_count; n++, before = " ")
        append_name(&b, k, before, k->globals[n].name);
    for (int n = 0; n < k->own_call_count; n++) {
        const struct device_function *d = function_at(s, k->own_calls[n]);
        for (int m = 0; m < d->global_count; m++, before = " ") {
            append_text(&b, before);
            append_text(&b, d->globals[m]);
        }
    }
    note_at(s, i, b.text);
    free(b.text);
}

void show_fibers(const struct source *s, struct kernel *k, int i)
{
    struct buffer b = {0};
    if (!is_wanted()) return;
    append_kernel(&b, s, k);
    append_text(&b, ": fibers: ");
    if (k->why) {
        append_text(&b, k->why);
    } else {
        int at = k->at < s->count ? k->at : s->count - 1;
        append_number(&b, "line %d cannot be parsed, near `", s->tokens[at].line);
        append_name(&b, k, "", at);
        append_text(&b, "`");
    }
    note_at(s, i, b.text);
    free(b.text);
}
