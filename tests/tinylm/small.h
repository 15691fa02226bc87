/* small.h - models for tests, from the options of `tinylm train`. */
#ifndef SMALL_H
#define SMALL_H
#include "../../tinylm/from_options.h"
#include "../../tinylm/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* A model to train, with its recipe, from n words such as --layers 2. */
static inline void small_model(model *m, model_recipe *r, int vocab, int n, char **words)
{
    static options o;
    model_config c;
    wb_error err;
    options_default(&o);
    if (options_flags(&o, n, words, FOR_TRAIN, &err) ||
        config_from_options(&c, &o, vocab, &err) || recipe_from_options(r, &o, &err) ||
        model_create(m, &c, (int)o.batch, c.shape.context, r->accum, MODEL_TRAIN, &err))
        fail(err.text);
}

/* The same from one line. */
static inline void
small_model_line(model *m, model_recipe *r, int vocab, const char *line)
{
    char *copy = strdup(line), *rest = copy, *words[64];
    int n = 0;
    for (char *word; (word = strsep(&rest, " "));)
        if (*word && n < 64) words[n++] = word;
    small_model(m, r, vocab, n, words);
    free(copy);
}

#endif
