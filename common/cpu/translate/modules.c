/* modules.c - registers the kernels of a module: after each of them stands a record of its
 * parameters, so that programs find it by its name (wbcpu/modules.h). */
#include "headers.h"
#include "outline.h"

int module_mode;

void register_kernels(struct source *s)
{
    struct outline o;
    make_outline(&o, s);
    for (int i = 0; i < o.function_count && !o.lost; i++) {
        const struct function *f = &o.functions[i];
        if (f->space != KERNEL || f->is_template || f->name < 0) continue;
        const struct token *name = &s->tokens[o.token[f->name]];
        const char **after = &s->tokens[o.token[f->end]].after;
        *after = keep(
            s, format(
                   "%s WBCPU_MODULE_KERNEL(%.*s)", *after ? *after : "", name->length,
                   name->start));
    }
    free_outline(&o);
}
