/* eval.c - `tinylm eval`: the validation loss of a checkpoint. */
#include "checkpoint.h"
#include "commands.h"
#include "kernels.h"
#include "trainer.h"

#include <stdlib.h>

typedef struct run {
    model_config config;
    model m;
    tokenizer tokenizer;
    char *text;
    int *ids;
    size_t count;
    int status; /* of the program after an error */
} run;

static int open_checkpoint(run *r, const options *o, wb_error *err)
{
    const char *folder = o->gen.model;
    model_config *c = &r->config;
    if (checkpoint_config(c, folder, err)) return -1;
    if (o->hf_window) c->shape.hf_window = true;
    r->status = WRONG_OPTION;
    if (model_choose_attention(c, o->attention, err)) return -1;
    r->status = FAILED;
    if (tokenizer_load(&r->tokenizer, folder, err)) return -1;
    if (r->tokenizer.vocab > c->shape.vocab)
        return error_set(
            err, "%s: tokenizer.json has more tokens than config.json", folder);
    int context = c->shape.context;
    if (model_create(&r->m, c, (int)o->batch, context, 1, MODEL_EVALUATE, err)) return -1;
    return checkpoint_load(&r->m, folder, err);
}

static int evaluate(run *r, const options *o, wb_error *err)
{
    size_t bytes;
    r->text = read_text(o->data, &bytes, err);
    if (!r->text) return -1;
    r->ids = tokenizer_encode(&r->tokenizer, r->text, bytes, o->data, &r->count, err);
    if (!r->ids) return -1;
    size_t from = validation_start(r->count), n = r->count - from;
    if (n < (size_t)r->config.shape.context + 1)
        return error_set(
            err, "%s: %zu validation tokens: too short for a context of %d", o->data, n,
            r->config.shape.context);
    wb_say_kernels(stderr, o->gen.kernels, o->gen.quiet);
    printf(
        "val loss %.4f nats/token over the last %zu of %zu tokens\n",
        evaluate_text(&r->m, r->ids + from, n), n, r->count);
    return 0;
}

int eval_main(const options *o)
{
    run r = {.status = FAILED};
    wb_error err;
    bool model = o->gen.model && *o->gen.model;
    if (!model) error_set(&err, "no model: give --model FOLDER (see --help)");
    if (!o->data[0]) error_set(&err, "no text: give --data FILE");
    if (!model || !o->data[0]) return complain(&err, WRONG_OPTION);
    int rc = open_checkpoint(&r, o, &err) || evaluate(&r, o, &err);
    model_destroy(&r.m);
    tokenizer_free(&r.tokenizer);
    free(r.ids);
    free(r.text);
    return rc ? complain(&err, r.status) : 0;
}
