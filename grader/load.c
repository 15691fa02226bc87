/* load.c - one variant of a case, with its data and what the report calls it. */
#include "load.h"

#include "data.h"

#include <stdio.h>
#include <string.h>

static void
make_shape(char *title, size_t room, const struct case_data *d, const char *dtype)
{
    size_t n = 0;
    *title = 0;
    for (int i = 0; i < d->views; i++) {
        const struct view *v = &d->view[i];
        if (d->dry ? v->role != ROLE_OUT : !d->set[0].want[i]) continue;
        for (int k = 0; k < v->dims && n < room; k++)
            n +=
                (size_t)snprintf(title + n, room - n, "%s%zu", k ? "x" : "", v->shape[k]);
        break;
    }
    if (n < room) snprintf(title + n, room - n, "%s%s", n ? " " : "", dtype);
}

int variants_of(const struct report *r, size_t i)
{
    return r->first ? 1 : r->lab->cases[i].variants;
}

bool load_variant(
    struct report *r, const char *data, int sets, size_t i, int k, struct graded_case *v,
    struct case_data *d, struct title *t)
{
    json_t *record = r->build->record;
    struct judgement *j = &r->judgement[i];
    char error[512];
    j->variant = k;
    case_variant(v, &r->lab->cases[i], k, t->words, sizeof t->words);
    if (data_load(d, data, v->name, sets, error, sizeof error) != 0) {
        j->verdict = BROKEN;
        say(&j->findings, "%s", error);
        return false;
    }
    d->threads_apart = json_is_false(json_object_get(record, "threads_meet"));
    d->no_halves = json_is_false(json_object_get(record, "halves"));
    snprintf(
        t->words + strlen(t->words), sizeof t->words - strlen(t->words), "%s%s",
        *t->words && *d->drawn ? " " : "", d->drawn);
    make_shape(t->shape, sizeof t->shape, d, v->dtype);
    return true;
}
