/* eval.c - `tinylm eval`: the validation loss of a checkpoint. */
#include "checkpoint.h"
#include "commands.h"
#include "corpus.h"
#include "kernels.h"
#include "trainer.h"

typedef struct run {
    model_config config;
    model m;
    corpus text;
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
    if (tokenizer_load(&r->text.tokenizer, folder, err)) return -1;
    if (r->text.tokenizer.vocab > c->shape.vocab)
        return error_set(
            err, "%s: tokenizer.json has more tokens than config.json", folder);
    int context = c->shape.context;
    if (model_create(&r->m, c, (int)o->batch, context, 1, MODEL_EVALUATE, err)) return -1;
    return checkpoint_load(&r->m, folder, err);
}

static int evaluate(run *r, const options *o, wb_error *err)
{
    char name[1100];
    corpus *text = &r->text;
    if (corpus_encode(text, &o->data, err)) return -1;
    size_t n = text->length - text->train_length;
    if (n < (size_t)r->config.shape.context + 1)
        return error_set(
            err, "%s: %zu validation tokens: too short for a context of %d",
            corpus_name(name, &o->data), n, r->config.shape.context);
    wb_say_kernels(stderr, o->gen.kernels, o->gen.quiet);
    printf(
        "val loss %.4f nats/token over the last %zu of %zu tokens%s\n",
        evaluate_text(&r->m, text->token + text->train_length, n), n, text->length,
        o->data.count > 1 ? " (of every text its last tenth)" : "");
    return 0;
}

int eval_main(const options *o)
{
    run r = {.status = FAILED};
    wb_error err;
    bool model = o->gen.model && *o->gen.model;
    if (!model) error_set(&err, "no model: give --model FOLDER (see --help)");
    if (!o->data.count) error_set(&err, "no text: give --data FILE");
    if (!model || !o->data.count) return complain(&err, WRONG_OPTION);
    int rc = open_checkpoint(&r, o, &err) || evaluate(&r, o, &err);
    model_destroy(&r.m);
    corpus_free(&r.text);
    return rc ? complain(&err, r.status) : 0;
}
