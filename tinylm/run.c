/* run.c - see run.h. */
#include "run.h"

#include "from_options.h"
#include "reduction.h"
#include "run_folder.h"
#include "tensors.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- options ------------------------------------------------------------------------ */

// With --init-from: the model is the folder's, except its context and dtype.
static int read_model_options(run *r, int argc, char **argv)
{
    model_config c;
    options *o = &r->o;
    r->status = FAILED;
    if (checkpoint_config(&c, o->init_from, &r->err)) return -1;
    r->vocab = c.shape.vocab;
    options_from_config(o, &c);
    snprintf(o->tokenizer, sizeof o->tokenizer, TOKENIZER_OF_FOLDER);
    options of_folder = *o;
    r->status = WRONG_OPTION;
    if (options_flags(o, argc, argv, FOR_TRAIN, &r->err)) return -1;
    of_folder.context = o->context, of_folder.hf_window = o->hf_window;
    memcpy(of_folder.dtype, o->dtype, sizeof o->dtype);
    const char *other = options_other_model(o, &of_folder);
    if (!other) return 0;
    return error_set(&r->err, "--init-from cannot change --%s: leave it out", other);
}

// Flags override the preset or, with --resume, the options of the run.
static int read_options(run *r, int argc, char **argv)
{
    options *o = &r->o;
    options_default(o);
    r->status = WRONG_OPTION;
    if (options_flags(o, argc, argv, FOR_TRAIN, &r->err)) return -1;
    if (!o->out[0]) {
        const char *name = strrchr(o->preset, '/');
        snprintf(o->out, sizeof o->out, "runs/%s", name ? name + 1 : o->preset);
    }
    if (o->resume && o->overwrite)
        return error_set(
            &r->err, "--resume and --overwrite do not go together: give one");
    if (o->resume && o->init_from[0])
        return error_set(
            &r->err, "--resume and --init-from do not go together: a run has weights");
    if (!o->resume) {
        if (options_preset(o, o->preset, &r->err)) return -1;
        if (o->init_from[0]) return read_model_options(r, argc, argv);
        return options_flags(o, argc, argv, FOR_TRAIN, &r->err);
    }
    r->status = FAILED;
    bool locks = r->ranks.rank == 0 && access(o->out, F_OK) == 0;
    if (locks && run_folder_lock(o->out, &r->err)) return -1;
    char last[PATH_MAX];
    snprintf(last, sizeof last, "%s/last", o->out);
    if (training_peek(&r->state, last, &r->err)) return -1;
    options saved = *o;
    if (options_read(&saved, r->state.options, last, &r->err)) return -1;
    *o = saved;
    r->status = WRONG_OPTION;
    if (options_flags(o, argc, argv, FOR_TRAIN, &r->err)) return -1;
    const char *other = options_other_model(o, &saved);
    if (!other) return 0;
    return error_set(
        &r->err, "--resume cannot change --%s: leave it out, or start a new run", other);
}
/* --- opening ------------------------------------------------------------------------ */

// Of a new run: another run in it must not get lost.
static int open_folder(run *r)
{
    const options *o = &r->o;
    if (folder_make(o->out, &r->err) || run_folder_lock(o->out, &r->err)) return -1;
    r->replaces = run_folder_holds_run(o->out);
    if (!r->replaces || o->overwrite) return 0;
    return error_set(
        &r->err,
        "%s: holds a run: continue it with --resume, replace it with --overwrite, or "
        "give another --out",
        o->out);
}

// The tokenizer of --init-from is also that of the checkpoints.
static int load_text(run *r, const char *last)
{
    char name[1100];
    const options *o = &r->o;
    bool of_folder = strcmp(o->tokenizer, TOKENIZER_OF_FOLDER) == 0;
    const char *folder = o->init_from[0] ? o->init_from : of_folder ? last : NULL;
    if (folder && o->resume) {
        model_config c;
        if (checkpoint_config(&c, last, &r->err)) return -1;
        r->vocab = c.shape.vocab;
    }
    if (corpus_load(&r->text, o, folder, &r->err)) return -1;
    const tokenizer *t = &r->text.tokenizer;
    if (folder && (r->vocab < t->vocab || r->vocab > t->vocab + t->specials))
        return error_set(
            &r->err, "%s: tokenizer.json has %d tokens, config.json %d", folder, t->vocab,
            r->vocab);
    if (!r->vocab) r->vocab = t->vocab;
    if (o->resume && r->text.hash != r->state.text_hash)
        return error_set(
            &r->err, "%s: not the text that this run is training on",
            corpus_name(name, &o->data));
    r->state.text_hash = r->text.hash;
    return 0;
}

// The weights that the first step of this process starts from.
static int first_weights(run *r, const char *last)
{
    const options *o = &r->o;
    if (o->resume) return training_load(&r->m, last, &r->err);
    r->state.best = INFINITY;
    if (o->init_from[0]) return checkpoint_initialise(&r->m, o->init_from, &r->err);
    model_initialise(&r->m, o->gen.seed);
    return 0;
}

// Each rank processes its rows of every micro-batch.
static int create_model(run *r, const model_config *c)
{
    const options *o = &r->o;
    const ranks *k = &r->ranks;
    int rows = (int)o->batch / k->size;
    wb_dtype reduced;
    r->status = WRONG_OPTION;
    if (o->batch % k->size)
        return error_set(
            &r->err, "--batch %ld: give a multiple of the %d ranks", o->batch, k->size);
    if (k->size > 1 && o->dropout > 0 && (long)rows * o->context * o->channels % 4)
        return error_set(
            &r->err,
            "--dropout with %d ranks: a rank's %d rows x context x channels must "
            "be a multiple of 4",
            k->size, rows);
    if (!wb_dtype_parse(o->reduce, &reduced) || reduced == WB_F16)
        return error_set(&r->err, "--reduce %s: give f32 or bf16", o->reduce);
    r->status = FAILED;
    if (model_create_rank(
            &r->m, c, rows, c->shape.context, r->recipe.accum, k, o->shard, &r->err))
        return -1;
    return reduction_open(&r->m, reduced, (size_t)(o->bucket * 1e6), &r->err);
}

int run_open(run *r, int argc, char **argv)
{
    model_config config;
    const options *o = &r->o;
    char last[PATH_MAX];
    if (read_options(r, argc, argv) || corpus_check(o, &r->err)) return -1;
    if (r->ranks.rank) r->o.gen.quiet = true;
    r->status = FAILED;
    snprintf(last, sizeof last, "%s/last", o->out);
    if (load_text(r, last)) return -1;
    r->status = WRONG_OPTION;
    if (config_from_options(&config, o, r->vocab, &r->err) ||
        recipe_from_options(&r->recipe, o, &r->err))
        return -1;
    r->status = FAILED;
    if (!o->resume && !r->ranks.rank && open_folder(r)) return -1;
    if (create_model(r, &config)) return -1;
    r->scratch = malloc(3 * r->m.parameters * sizeof *r->scratch);
    if (!r->scratch)
        return error_set(&r->err, "no memory for %zu weights", r->m.parameters);
    return first_weights(r, last);
}

int run_begin(run *r)
{
    const options *o = &r->o;
    uint32_t step = r->state.train.step;
    trainer_open(
        &r->t, &r->m, &r->recipe, r->text.token, r->text.train_length, o->gen.seed, step,
        !o->gen.no_graph);
    if (r->ranks.rank) return 0;
    run_folder_tidy(o->out);
    if (!o->resume && run_folder_clear(o->out, &r->err)) return -1;
    free(r->state.options);
    r->state.options = options_text(o);
    return curve_open(&r->curve, o->out, o->resume, step, &r->err);
}

/* --- what it prints ----------------------------------------------------------------- */

static void print_blocks(const model_config *c, const char *asked)
{
    if (c->arch == MODEL_GRIFFIN)
        printf(
            "blocks %s, repeated: recurrent of %d channels, attention with a window of %d\n",
            c->shape.blocks, c->shape.recurrent, shape_window(&c->shape));
    if (c->gemm_attention && strcmp(asked, "gemm") != 0)
        printf("attention by batched GEMMs: %s\n", model_lab05_refuses(c));
}

static void print_ranks(const run *r)
{
    const options *o = &r->o;
    int n = r->ranks.size;
    if (n == 1) return;
    printf(
        "ranks  %d, %s: %ld of %ld sequences each, gradients in %s, buckets of %g MB%s\n",
        n, ranks_engines(&r->ranks), o->batch / n, o->batch, o->reduce, o->bucket,
        o->shard ? ", optimizer state sharded" : "");
}

int run_print(run *r)
{
    char name[1100];
    const model_config *c = &r->m.config;
    printf(
        "model  %s: %d layers, %d channels, %d heads (%d key/value), hidden %d, context "
        "%d, %.2f M parameters, %s\n",
        model_arch_name(c->arch), c->shape.layers, c->shape.channels, c->shape.heads,
        c->shape.kv_heads, c->shape.hidden, c->shape.context,
        (double)model_elements(c) / 1e6, wb_dtype_name(c->dtype));
    print_blocks(c, r->o.attention);
    print_ranks(r);
    if (r->o.init_from[0]) printf("start  the weights of %s\n", r->o.init_from);
    printf(
        "text   %s: %zu tokens, vocabulary %d, the last %zu tokens%s for validation\n",
        corpus_name(name, &r->o.data), r->text.length, c->shape.vocab,
        r->text.length - r->text.train_length,
        r->o.data.count > 1 ? ", a tenth of every text," : "");
    printf(
        "run    %s: steps %u to %ld of %ld x %ld x %d tokens, seed %" PRIu64
        ", %.0f MB\n",
        r->o.out, r->t.step, r->o.steps, r->o.accum, r->o.batch, c->shape.context,
        r->o.gen.seed, (double)r->m.arena_bytes / 1e6);
    if (r->replaces) printf("kept   the run that was here: %s/previous\n", r->o.out);
    return flush_output(&r->err);
}
