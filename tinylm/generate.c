/* generate.c - `tinylm generate` and `tinylm eval`: a checkpoint at work.
 *
 * A text longer than the model's context slides: when the context is full, the newer half
 * of it is read again from position 0 and the text goes on from there. With --cache 0 all
 * that the model can see is computed anew for each token, by the same rule, so greedy
 * texts are equal.
 */
#include "checkpoint.h"
#include "commands.h"
#include "kernels.h"
#include "progress.h"
#include "sampler.h"
#include "trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    model m;
    tokenizer tokenizer;
    sampler sampler;
    int *text; /* (room) prompt and what was written */
    size_t count, room;
    size_t start;    /* of what the model sees */
    int past;        /* tokens from start on whose keys and values are kept */
    int *h_pos;      /* (context) */
    float *h_logits; /* (V) */
    bool cache;
} writer;

// Logits behind the last token of the text.
static void next_logits(writer *w)
{
    model *m = &w->m;
    size_t context = (size_t)m->config.context;
    if (w->count - w->start > context) {  // full: slide
        w->start = w->count - (context > 1 ? context / 2 : 1);
        w->past = 0;
    }
    if (!w->cache) w->past = 0;
    int T = (int)(w->count - w->start) - w->past;
    for (int i = 0; i < T; i++)
        w->h_pos[i] = w->past + i;
    model_upload(m, m->token, w->text + w->start + w->past, (size_t)T * sizeof(int));
    model_upload(m, m->pos, w->h_pos, (size_t)T * sizeof(int));
    m->calls->extend(m, T, w->past);
    model_download(m, w->h_logits, m->out, (size_t)m->config.vocab * sizeof(float));
    w->past += T;
}

static int open_writer(writer *w, const options *o, wb_error *err)
{
    model_config c;
    size_t count;
    if (!o->checkpoint[0]) return error_set(err, "no model: give --checkpoint FOLDER");
    if (!o->prompt[0])
        return error_set(err, "--prompt is empty: the text needs a first token");
    if (checkpoint_config(&c, o->checkpoint, err)) return -1;
    if (tokenizer_load(&w->tokenizer, o->checkpoint, err)) return -1;
    if (w->tokenizer.vocab != c.vocab)
        return error_set(
            err, "%s: tokenizer.json has %d tokens, config.json %d", o->checkpoint,
            w->tokenizer.vocab, c.vocab);
    int *prompt = tokenizer_encode(
        &w->tokenizer, o->prompt, strlen(o->prompt), "--prompt", &count, err);
    if (!prompt) return -1;
    w->room = count + (size_t)o->tokens;
    w->text = realloc(prompt, (w->room + 1) * sizeof *prompt);
    w->count = count;
    w->h_pos = malloc((size_t)c.context * sizeof *w->h_pos);
    w->h_logits = malloc((size_t)c.vocab * sizeof *w->h_logits);
    if (!w->text || !w->h_pos || !w->h_logits || !sampler_open(&w->sampler, c.vocab))
        return error_set(err, "no memory");
    w->sampler.temperature = o->temperature, w->sampler.top_k = (int)o->top_k;
    w->sampler.top_p = o->top_p, w->sampler.penalty = o->penalty;
    w->sampler.seed = o->seed;
    w->cache = o->cache;
    for (size_t i = 0; i < count; i++)
        sampler_see(&w->sampler, w->text[i]);
    if (model_create(&w->m, &c, 1, c.context, 1, MODEL_GENERATE, err)) return -1;
    return checkpoint_load(&w->m, o->checkpoint, err);
}

static void print_token(const writer *w, int token)
{
    char piece[4];
    fwrite(piece, 1, (size_t)tokenizer_piece(&w->tokenizer, token, piece), stdout);
    fflush(stdout);
}

static void close_writer(writer *w)
{
    model_destroy(&w->m);
    tokenizer_free(&w->tokenizer);
    sampler_close(&w->sampler);
    free(w->text);
    free(w->h_pos);
    free(w->h_logits);
}

int generate_main(const options *o)
{
    writer w = {0};
    wb_error err;
    if (open_writer(&w, o, &err)) return complain(&err);
    if (!o->quiet) wb_print_kernels(stderr);
    if (strcmp(o->prompt, "\n") != 0)
        for (size_t i = 0; i < w.count; i++)
            print_token(&w, w.text[i]);
    double started = 0;
    for (long i = 0; i < o->tokens; i++) {
        if (i == 1) started = seconds_now();  // the first reads the prompt, and sets up
        next_logits(&w);
        w.text[w.count] = sampler_choose(&w.sampler, w.h_logits);
        print_token(&w, w.text[w.count++]);
    }
    double seconds = seconds_now() - started;
    printf("\n");
    if (!o->quiet && o->tokens > 1)
        fprintf(
            stderr, "%ld tokens, %.0f a second after the first\n", o->tokens,
            (double)(o->tokens - 1) / seconds);
    close_writer(&w);
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
