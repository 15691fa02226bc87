/* causes.c - see causes.h */
#include "causes.h"

#include "data.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

static void forget(struct causes *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->all[i].words);
    free(c->all);
    c->all = NULL, c->count = 0;
}

/* A tensor NAME.if.CAUSE, or NAME.times.CAUSE with a factor for each row */
static void add(struct causes *c, const char *key, const char *words)
{
    const struct view *v = c->of;
    const char *kind = key + strlen(v->name);
    bool factor = !strncmp(kind, ".times.", 7);
    const float *value = tensor(c->file, key, ST_F32, factor ? v->rows : v->elements);
    if (!value) return;
    c->all[c->count++] = (struct cause){
        .words = text_of("%s", words),
        .value = value,
        .factor = factor,
        .partial = !strncmp(kind, ".if.some_", 9),
        .nan = !strncmp(kind, ".if.nan_", 8)};
}

void causes_read(struct causes *c, const struct view *output)
{
    const char *key;
    json_t *words;
    size_t length = strlen(output->name);
    if (c->of == output || !c->path) return;
    if (!c->file) c->file = st_open(c->path, NULL);
    json_t *causes = c->file ? json_metadata(c->file, "causes") : NULL;
    forget(c);
    c->of = output;
    c->all = xalloc((json_object_size(causes) + 1) * sizeof *c->all);
    json_object_foreach(causes, key, words)
        if (!strncmp(key, output->name, length) && key[length] == '.')
            add(c, key, json_string_value(words));
    json_decref(causes);
}

void causes_free(struct causes *c)
{
    if (!c) return;
    forget(c);
    st_close(c->file);
    free(c->path);
    free(c);
}
