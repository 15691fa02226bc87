/* architecture.c - __CUDA_ARCH__. nvcc compiles a source twice: for the device, where the
 * macro has a value, and for the host, where it has none. Here one pass serves both: it
 * becomes WBCPU_CUDA_ARCH, which has a value, except in functions of the host. A function
 * for both gets two bodies:
 *
 *     __host__ __device__ int f()          int f()
 *     {                                    { if (::wbcpu_on_device()) {
 *     #ifdef __CUDA_ARCH__                 #ifdef WBCPU_CUDA_ARCH
 *         return 1;                            return 1;
 *     #endif                       ->      #endif
 *         return 0;                            return 0;
 *     }                                    } else {
 *                                              ... the body as it was
 *                                          }} */
#include "outline.h"

#include <stdlib.h>

void name_architecture(struct source *s, const struct outline *o)
{
    int k = 0; /* the first function that does not end before token i */
    for (int i = 0; i < s->count; i++) {
        if (!is(s, i, "__CUDA_ARCH__")) continue;
        while (k < o->function_count && o->token[o->functions[k].end] < i)
            k++;
        const struct function *f = &o->functions[k];
        int inside = k < o->function_count && o->token[f->body] < i;
        if (inside && (f->for_both || f->space == (HOST_FUNCTION | DEVICE_FUNCTION)))
            s->tokens[o->token[f->body]].has_versions = 1;
        else if (!inside || !(f->space & HOST_FUNCTION))
            s->tokens[i].text = "WBCPU_CUDA_ARCH";
    }
}

/* A label in both bodies would be an error: such a function has the host's only. */
static int has_labels(const struct source *s, int body)
{
    for (int i = body; i < mate(s, body); i++)
        if (is(s, i, "goto")) return 1;
    return 0;
}

void write_versions(struct source *s)
{
    for (int body = 0; body < s->count; body++) {
        struct token *brace = &s->tokens[body];
        if (!brace->has_versions || has_labels(s, body)) continue;
        struct buffer b = {0};
        const char *first = brace->after ? brace->after : "";
        struct token *end = &s->tokens[mate(s, body)];
        append_text(&b, " if (::wbcpu_on_device()) {");
        append_text(&b, first);
        for (int i = body + 1; i < mate(s, body); i++)
            append_token(
                &b, &s->tokens[i], is(s, i, "__CUDA_ARCH__") ? "WBCPU_CUDA_ARCH" : NULL);
        char *path = as_string(s->path);
        char *line = format("} else {\n#line %d \"%s\"\n%s", brace->line, path, first);
        append_text(&b, line);
        free(line);
        free(path);
        brace->after = keep(s, b.text);
        end->before = keep(s, format("%s}", end->before ? end->before : ""));
    }
}
