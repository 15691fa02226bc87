/* generate.c - `tinylm generate` and `tinylm eval`: a checkpoint at work. */
#include "checkpoint.h"
#include "commands.h"
#include "generator.h"
#include "kernels.h"
#include "progress.h"
#include "trainer.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    model m;
    tokenizer tokenizer;
    generator g;
    int *prompt, length;
} writer;

static int open_model(writer *w, const options *o, wb_error *err)
{
    model_config c;
    size_t count;
    if (!o->checkpoint[0]) return error_set(err, "no model: give --checkpoint FOLDER");
    if (!o->prompt[0])
        return error_set(err, "--prompt is empty: the text needs a first token");
    if (checkpoint_config(&c, o->checkpoint, err)) return -1;
    if (o->hf_window) c.hf_window = true;
    if (tokenizer_load(&w->tokenizer, o->checkpoint, err)) return -1;
    if (w->tokenizer.vocab != c.vocab)
        return error_set(
            err, "%s: tokenizer.json has %d tokens, config.json %d", o->checkpoint,
            w->tokenizer.vocab, c.vocab);
    w->prompt = tokenizer_encode(
        &w->tokenizer, o->prompt, strlen(o->prompt), "--prompt", &count, err);
    if (!w->prompt) return -1;
    w->length = (int)count;
    if (model_create(&w->m, &c, 1, 1, 1, MODEL_EVALUATE, err)) return -1;
    return checkpoint_load(&w->m, o->checkpoint, err);
}

// All texts start from the same prompt; each has its own seed.
static int start(writer *w, const options *o, wb_error *err)
{
    const generator_settings set = {
        .batch = (int)o->texts,
        .tokens = (int)o->tokens,
        .longest = w->length,
        .cache = o->cache,
        .graph = o->graph,
        .temperature = (float)o->temperature,
        .top_k = (int)o->top_k,
        .top_p = (float)o->top_p,
        .penalty = (float)o->penalty};
    if (generator_create(&w->g, &w->m, &set, err)) return -1;
    size_t B = (size_t)o->texts;
    const int **prompt = malloc(B * sizeof *prompt);
    int *length = malloc(B * sizeof *length);
    uint64_t *seed = malloc(B * sizeof *seed);
    int rc = prompt && length && seed ? 0 : error_set(err, "no memory");
    for (size_t b = 0; b < B && !rc; b++)
        prompt[b] = w->prompt, length[b] = w->length, seed[b] = o->seed + b;
    if (!rc) rc = generator_start(&w->g, prompt, length, seed, err);
    free(prompt), free(length), free(seed);
    return rc;
}

// Tokens [from, to) of a text.
static void print_tokens(const writer *w, int text, int from, int to)
{
    for (int i = from; i < to; i++) {
        char piece[4];
        int bytes = tokenizer_piece(&w->tokenizer, w->g.text[text][i], piece);
        fwrite(piece, 1, (size_t)bytes, stdout);
    }
    fflush(stdout);
}

// The first token is there. As many steps at a time as take some milliseconds: the text
// flows, and the device rarely waits for the host.
static void write_all(writer *w, const options *o)
{
    int some = 1, shown = o->texts == 1 ? 0 : INT_MAX;
    if (strcmp(o->prompt, "\n") == 0 && shown == 0) shown = w->length;
    for (int left = (int)o->tokens - 1;;) {
        if (shown < w->g.count[0]) print_tokens(w, 0, shown, w->g.count[0]);
        if (shown != INT_MAX) shown = w->g.count[0];
        if (left == 0) break;
        double began = seconds_now();
        if (some > left) some = left;
        generator_write(&w->g, some);
        left -= some;
        if (seconds_now() - began < 0.005 && some < 256) some *= 2;
    }
    printf("\n");
    for (int b = 0; b < o->texts && o->texts > 1; b++) {
        printf("--- seed %llu\n", (unsigned long long)(o->seed + (uint64_t)b));
        print_tokens(w, b, 0, w->g.count[b]);
        printf("\n");
    }
}

int generate_main(const options *o)
{
    writer w = {0};
    wb_error err;
    if (open_model(&w, o, &err)) return complain(&err);
    if (!o->quiet) wb_print_kernels(stderr);
    if (o->tokens == 0) {
        printf("%s\n", o->prompt);
    } else {
        if (start(&w, o, &err)) return complain(&err);
        if (!o->quiet)
            fprintf(
                stderr, "a step: %s\n",
                w.g.d.fuse ? "norm and activation inside the products"
                           : "your norm or activation, called apart from the products");
        double began = seconds_now();
        write_all(&w, o);
        double seconds = seconds_now() - began,
               after = (double)(o->tokens - 1) * o->texts;
        if (!o->quiet && o->tokens > 1)
            fprintf(
                stderr, "%ld tokens, %.0f a second after the first\n",
                o->tokens * o->texts, after / seconds);
    }
    generator_destroy(&w.g);
    model_destroy(&w.m);
    tokenizer_free(&w.tokenizer);
    free(w.prompt);
    return 0;
}

int eval_main(const options *o)
{
    model m = {0};
    model_config c;
    tokenizer t = {0};
    wb_error err;
    size_t bytes, n;
    if (!o->checkpoint[0]) error_set(&err, "no model: give --checkpoint FOLDER");
    if (!o->data[0]) error_set(&err, "no text: give --data FILE");
    if (!o->checkpoint[0] || !o->data[0]) return complain(&err);
    if (checkpoint_config(&c, o->checkpoint, &err)) return complain(&err);
    if (o->hf_window) c.hf_window = true;
    if (model_choose_attention(&c, o->attention, &err)) return complain(&err);
    if (tokenizer_load(&t, o->checkpoint, &err)) return complain(&err);
    char *text = read_text(o->data, &bytes, &err);
    int *ids = text ? tokenizer_encode(&t, text, bytes, o->data, &n, &err) : NULL;
    if (!ids) return complain(&err);
    size_t from = held_out_start(n);
    if (t.vocab > c.vocab)
        error_set(
            &err, "%s: tokenizer.json has more tokens than config.json", o->checkpoint);
    else if (n - from < (size_t)c.context + 1)
        error_set(
            &err, "%s: %zu tokens held out: too short for a context of %d", o->data,
            n - from, c.context);
    else if (
        !model_create(&m, &c, (int)o->batch, c.context, 1, MODEL_EVALUATE, &err) &&
        !checkpoint_load(&m, o->checkpoint, &err)) {
        if (!o->quiet) wb_print_kernels(stderr);
        printf(
            "val loss %.4f nats/token over the last %zu of %zu tokens\n",
            evaluate_text(&m, ids + from, n - from), n - from, n);
        err.text[0] = 0;
    }
    model_destroy(&m);
    tokenizer_free(&t);
    free(ids);
    free(text);
    return err.text[0] ? complain(&err) : 0;
}
