/* generate.c - `tinylm generate`: text from a checkpoint. */
#include "checkpoint.h"
#include "commands.h"
#include "generator.h"
#include "kernels.h"
#include "progress.h"
#include "prompt.h"
#include "stop_text.h"

#include <stdlib.h>
#include <string.h>

// Of a sequence, as it comes.
typedef struct output {
    tokenizer_stream stream;
    stop_text stop; /* texts NULL: none */
    int shown;      /* tokens so far */
    bool silent;    /* looks for the stop texts, and prints nothing */
} output;

typedef struct run {
    model m;
    tokenizer tokenizer;
    generator g;
    int batch, max_new_tokens;
    int **prompt, *length, longest; /* (batch) token ids */
    uint64_t *seed;                 /* (batch) */
    eos_tokens eos;
    char *text;   /* the prompt of all sequences; NULL: --prompts */
    size_t bytes; /* of the text */
    bool chosen;  /* no prompt was given: choose_prompt */
    output *out;  /* (batch) */
} run;

static int open_model(run *r, const options *o, wb_error *err)
{
    model_config c;
    const char *folder = o->gen.model;
    if (checkpoint_config(&c, folder, err)) return -1;
    if (o->hf_window) c.shape.hf_window = true;
    if (tokenizer_load(&r->tokenizer, folder, err)) return -1;
    const tokenizer *t = &r->tokenizer;
    if (c.shape.vocab < t->vocab || c.shape.vocab > t->vocab + t->specials)
        return error_set(
            err, "%s: tokenizer.json has %d tokens, config.json %d", folder,
            r->tokenizer.vocab, c.shape.vocab);
    if (!o->gen.ignore_eos && checkpoint_eos(&r->eos, folder, err)) return -1;
    if (model_create(&r->m, &c, 1, 1, 1, MODEL_EVALUATE, err)) return -1;
    return checkpoint_load(&r->m, folder, err);
}

/* --- prompts ------------------------------------------------------------------------ */

static int make_batch(run *r, size_t batch, wb_error *err)
{
    r->prompt = calloc(batch, sizeof *r->prompt);
    r->length = calloc(batch, sizeof *r->length);
    r->seed = calloc(batch, sizeof *r->seed);
    if (!r->prompt || !r->length || !r->seed)
        return error_set(err, "no memory for %zu sequences", batch);
    return 0;
}

static int add_prompt(
    run *r, const options *o, const char *text, size_t bytes, const char *where,
    wb_error *err)
{
    size_t count;
    int b = r->batch++;
    if (bytes == 0)
        return error_set(err, "%s is empty: a sequence needs a first token", where);
    r->prompt[b] = tokenizer_encode(&r->tokenizer, text, bytes, where, &count, err);
    if (!r->prompt[b]) return -1;
    r->length[b] = (int)count, r->seed[b] = o->gen.seed + (uint64_t)b;
    if (r->length[b] > r->longest) r->longest = r->length[b];
    return 0;
}

// Without a prompt a text starts after a newline. A text without newlines has none in its
// vocabulary: then after the lowest character, which is a space if it has spaces.
static int choose_prompt(run *r, wb_error *err)
{
    size_t count;
    int *newline = tokenizer_encode(&r->tokenizer, "\n", 1, "", &count, NULL);
    int lowest = r->tokenizer.order ? r->tokenizer.order[0] : 0;
    int first = newline ? *newline : lowest;
    free(newline);
    r->text = malloc(4);
    if (!r->text) return error_set(err, "no memory for a prompt");
    r->chosen = true;
    r->bytes = (size_t)tokenizer_piece(&r->tokenizer, first, r->text);
    return 0;
}

// One prompt per line.
static int read_prompts(run *r, const options *o, wb_error *err)
{
    size_t bytes, lines = 1;
    char *text = read_text(o->gen.prompts, &bytes, err), *rest = text;
    for (size_t i = 0; text && i < bytes; i++)
        lines += text[i] == '\n';
    int rc = text ? make_batch(r, lines, err) : -1;
    for (int line = 1; !rc && rest && *rest; line++) {
        char where[1100], *prompt = strsep(&rest, "\n");
        snprintf(where, sizeof where, "%.1000s:%d", o->gen.prompts, line);
        rc = add_prompt(r, o, prompt, strcspn(prompt, "\r"), where, err);
    }
    free(text);
    return rc;
}

// The same prompt for every sequence of the batch.
static int repeat_prompt(run *r, const options *o, wb_error *err)
{
    const char *from = "--prompt";
    if (o->gen.prompt || o->gen.prompt_file)
        r->text = prompt_read(&o->gen, &from, &r->bytes, err);
    else if (choose_prompt(r, err))
        return -1;
    if (!r->text || make_batch(r, (size_t)o->gen.batch, err)) return -1;
    for (int b = 0; b < o->gen.batch; b++)
        if (add_prompt(r, o, r->text, r->bytes, from, err)) return -1;
    return 0;
}

/* --- generation --------------------------------------------------------------------- */

static int start(run *r, const options *o, wb_error *err)
{
    const generator_settings set = {
        .batch = r->batch,
        .max_new_tokens = r->max_new_tokens,
        .longest_prompt = r->longest,
        .cache = !o->no_cache,
        .graph = !o->gen.no_graph,
        .temperature = (float)o->gen.temperature,
        .top_k = (int)o->gen.top_k,
        .top_p = (float)o->gen.top_p,
        .min_p = (float)o->gen.min_p,
        .repetition_penalty = (float)o->gen.repetition_penalty,
        .stop = r->eos.id,
        .stop_count = r->eos.count};
    if (generator_create(&r->g, &r->m, &set, err)) return -1;
    return generator_start(&r->g, (const int *const *)r->prompt, r->length, r->seed, err);
}

// A piece of a text; a stop text can only end what the model has generated.
static int
print_piece(output *out, const char *piece, size_t bytes, bool generated, wb_error *err)
{
    if (out->stop.texts && generated)
        piece = stop_text_add(&out->stop, piece, bytes, &bytes);
    if (!piece) return error_set(err, "no memory for the text");
    if (!out->silent) fwrite(piece, 1, bytes, stdout);
    return 0;
}

// The tokens of sequence b that are new, without the start of a character or of a stop
// text that is incomplete.
static int print_tokens(run *r, int b, wb_error *err)
{
    output *out = &r->out[b];
    char piece[8];
    for (; out->shown < r->g.count[b]; out->shown++) {
        int token = r->g.tokens[b][out->shown];
        int bytes = tokenizer_stream_add(&out->stream, &r->tokenizer, token, piece);
        bool generated = out->shown >= r->length[b];
        if (print_piece(out, piece, (size_t)bytes, generated, err)) return -1;
    }
    return flush_output(err);
}

// The end of a sequence: what is left of it, and a newline.
static int print_end(output *out, wb_error *err)
{
    char piece[8];
    size_t bytes = (size_t)tokenizer_stream_end(&out->stream, piece);
    if (print_piece(out, piece, bytes, true, err)) return -1;
    const char *held = stop_text_end(&out->stop, &bytes);
    fwrite(held, 1, bytes, stdout);
    printf("\n");
    return flush_output(err);
}

static int begin_output(run *r, const options *o, wb_error *err)
{
    bool invisible = r->chosen || (r->bytes == 1 && *r->text == '\n');
    if (!r->out) r->out = calloc((size_t)r->batch, sizeof *r->out);
    if (!r->out) return error_set(err, "no memory for %d texts", r->batch);
    for (int b = 0; b < r->batch; b++) {
        stop_text_free(&r->out[b].stop);
        r->out[b] = (output){.shown = r->batch == 1 && invisible ? r->length[0] : 0};
        if (o->gen.stop.count) r->out[b].stop.texts = &o->gen.stop;
    }
    return 0;
}

// Prints or follows what is new. Returns how many sequences continue: they have sampled
// no stop token, and no stop text has ended them.
static int follow(run *r, wb_error *err)
{
    int open = 0;
    for (int b = 0; b < r->batch; b++) {
        r->out[b].silent = r->batch > 1;
        if (print_tokens(r, b, err)) return -1;
        open += !r->g.done[b] && !r->out[b].stop.found;
    }
    return open;
}

// The first token is sampled already. Each round takes as many steps as last some
// milliseconds: the text flows, and the device rarely waits for the host. One sequence is
// printed as it comes, several when all are done.
static int decode(run *r, const options *o, wb_error *err)
{
    if (begin_output(r, o, err)) return -1;
    for (int some = 1, left = r->max_new_tokens - 1;;) {
        bool followed = r->batch == 1 || o->gen.stop.count;
        int open = followed ? follow(r, err) : r->g.continuing;
        if (open < 0) return -1;
        if (left == 0 || open == 0) break;
        double began = seconds_now();
        if (some > left) some = left;
        generator_decode(&r->g, some);
        left -= some;
        if (seconds_now() - began < 0.005 && some < 256) some *= 2;
    }
    if (r->batch == 1) return print_end(r->out, err);
    if (begin_output(r, o, err)) return -1;
    for (int b = 0; b < r->batch; b++) {
        printf("--- seed %llu\n", (unsigned long long)r->seed[b]);
        if (print_tokens(r, b, err) || print_end(&r->out[b], err)) return -1;
    }
    return 0;
}

static int generate(run *r, const options *o, wb_error *err)
{
    if (start(r, o, err)) return -1;
    if (!o->gen.quiet)
        fprintf(
            stderr, "a step: %s\n",
            r->g.d.fused ? "norm and activation run inside the GEMMs"
                         : "your norm or activation runs as a kernel of its own");
    double began = seconds_now();
    if (decode(r, o, err)) return -1;
    double seconds = seconds_now() - began;
    long tokens = 0;
    for (int b = 0; b < r->batch; b++)
        tokens += r->g.count[b] - r->length[b];
    if (!o->gen.quiet && tokens > r->batch)
        fprintf(
            stderr, "%ld tokens, %.0f tokens/s after the first\n", tokens,
            (double)(tokens - r->batch) / seconds);
    return 0;
}

static void close_run(run *r)
{
    generator_destroy(&r->g);
    model_destroy(&r->m);
    tokenizer_free(&r->tokenizer);
    for (int b = 0; b < r->batch; b++) {
        free(r->prompt[b]);
        if (r->out) stop_text_free(&r->out[b].stop);
    }
    free(r->out);
    free(r->prompt), free(r->length), free(r->seed);
    free(r->text);
}

static int check_options(generation_options *g, wb_error *err)
{
    if (!g->model || !*g->model)
        return error_set(err, "no model: give --model FOLDER (see --help)");
    if (!!g->prompt + !!g->prompt_file + !!g->prompts > 1)
        return error_set(
            err, "%s and %s do not go together: give one",
            g->prompt ? "--prompt" : "--prompt-file",
            g->prompts ? "--prompts" : "--prompt-file");
    if (g->prompts && g->batch > 1)
        return error_set(
            err,
            "--prompts and --batch do not go together: the batch is the file's lines");
    if (g->prompt && !*g->prompt)
        return error_set(err, "--prompt is empty: a sequence needs a first token");
    if (g->max_new_tokens == 0)
        return error_set(err, "--max-new-tokens 0: nothing to generate: give 1 or more");
    if (g->max_new_tokens < 0) g->max_new_tokens = DEFAULT_NEW_TOKENS;
    return 0;
}

int generate_main(const options *given)
{
    options o = *given;
    run r = {0};
    wb_error err;
    if (check_options(&o.gen, &err)) return complain(&err, WRONG_OPTION);
    r.max_new_tokens = (int)o.gen.max_new_tokens;
    int rc = open_model(&r, &o, &err);
    if (!rc)
        rc = o.gen.prompts ? read_prompts(&r, &o, &err) : repeat_prompt(&r, &o, &err);
    if (!rc) wb_say_kernels(stderr, o.gen.kernels, o.gen.quiet);
    if (!rc) rc = generate(&r, &o, &err);
    close_run(&r);
    return rc ? complain(&err, FAILED) : 0;
}
