/* options.c - see options.h. */
#include "options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) FLAG_AT(options, field)
#define NO_LIMIT 1e9
#define T_ FOR_TRAIN
#define S_ (FOR_TRAIN | SAVED)
#define M_ (FOR_TRAIN | SAVED | MAKES_MODEL)
#define E_ FOR_EVAL
#define G_ FOR_GENERATE

static const flag rows[] = {
    {"preset", FLAG_TEXT, AT(preset), T_, 0, 0, "laptop",
     "name in tinylm/presets, or a path"},
    {"data", FLAG_LIST, AT(data), T_ | E_, 0, 0, NULL,
     "text file or pipe; its last tenth is for validation; can be given several times"},
    {"out", FLAG_TEXT, AT(out), T_, 0, 0, "", "folder of the run (runs/PRESET)"},
    {"init-from", FLAG_TEXT, AT(init_from), T_, 0, 0, "",
     "model folder to train further: its weights, sizes, dtype and tokenizer"},

    {"arch", FLAG_TEXT, AT(arch), M_, 0, 0, "llama",
     "llama, or griffin: recurrent layers, and attention in a window"},
    {"layers", FLAG_LONG, AT(layers), M_, 1, 10000, "4", "decoder layers"},
    {"channels", FLAG_LONG, AT(channels), M_, 1, NO_LIMIT, "128",
     "width of the residual stream"},
    {"heads", FLAG_LONG, AT(heads), M_, 1, NO_LIMIT, "4", "query heads"},
    {"head-dim", FLAG_LONG, AT(head_dim), M_, 0, NO_LIMIT, "0",
     "channels of a head (0: channels / heads)"},
    {"kv-heads", FLAG_LONG, AT(kv_heads), M_, 0, NO_LIMIT, "0",
     "key and value heads (0: as heads; griffin: 1)"},
    {"hidden", FLAG_LONG, AT(hidden), M_, 0, NO_LIMIT, "0",
     "width of the MLP (0: 8/3 of the channels, up to a multiple of 8; griffin: 3 times)"},
    {"context", FLAG_LONG, AT(context), M_, 1, NO_LIMIT, "64",
     "tokens that the model sees in one sequence"},
    {"tied", FLAG_SWITCH, AT(tied), M_, 0, 0, "1", "the output matrix is the embedding"},
    {"eps", FLAG_REAL, AT(eps), M_, 1e-12, 1, "1e-5", "inside the root of RMSNorm"},
    {"rope-base", FLAG_REAL, AT(rope_base), M_, 1.001, 1e12, "10000", "theta of RoPE"},
    {"tokenizer", FLAG_TEXT, AT(tokenizer), M_, 0, 0, "characters",
     "characters or bytes"},
    {"dtype", FLAG_TEXT, AT(dtype), M_, 0, 0, "f32",
     "f32, bf16 or f16 (with f32 master weights)"},
    {"attention", FLAG_TEXT, AT(attention), S_ | E_, 0, 0, "auto",
     "lab05; gemm (batched GEMMs, llama only); auto: lab05 where it can"},
    {"blocks", FLAG_TEXT, AT(blocks), M_, 0, 0, "rra",
     "griffin: kinds of layers, repeated: r recurrent, a attention"},
    {"recurrent", FLAG_LONG, AT(recurrent), M_, 0, NO_LIMIT, "0",
     "griffin: channels of the recurrence (0: as channels)"},
    {"conv-width", FLAG_LONG, AT(conv_width), M_, 2, 8, "4",
     "griffin: inputs that the temporal convolution covers"},
    {"window", FLAG_LONG, AT(window), M_, 0, NO_LIMIT, "0",
     "griffin: keys before its own that a token sees (0: half the context)"},
    {"hf-window", FLAG_SWITCH, AT(hf_window), M_ | E_ | G_, 0, 0, "0",
     "griffin: one key less, as in transformers"},
    {"softcap", FLAG_REAL, AT(softcap), M_, 0, 1e6, "30",
     "griffin: bound of the logits (0: none)"},

    {"batch", FLAG_LONG, AT(batch), S_ | E_, 1, NO_LIMIT, "12",
     "sequences of a micro-batch, of all ranks together"},
    {"accum", FLAG_LONG, AT(accum), S_, 1, NO_LIMIT, "1", "micro-batches of a step"},
    {"steps", FLAG_LONG, AT(steps), S_, 1, NO_LIMIT, "2000", "steps of the whole run"},
    {"lr", FLAG_REAL, AT(lr), S_, 0, 1e3, "1e-3", "learning rate after the warm-up"},
    {"min-lr", FLAG_REAL, AT(min_lr), S_, 0, 1e3, "1e-4", "learning rate at the end"},
    {"warmup", FLAG_LONG, AT(warmup), S_, 0, NO_LIMIT, "100", "steps of linear warm-up"},
    {"schedule", FLAG_TEXT, AT(schedule), S_, 0, 0, "cosine",
     "of the learning rate: cosine, linear or constant"},
    {"beta1", FLAG_REAL, AT(beta1), S_, 0, 0.9999999, "0.9",
     "AdamW: decay of the mean of gradients"},
    {"beta2", FLAG_REAL, AT(beta2), S_, 0, 0.9999999, "0.99",
     "AdamW: decay of the mean of their squares"},
    {"adam-eps", FLAG_REAL, AT(adam_eps), S_, 1e-30, 1, "1e-8",
     "AdamW: added to the root"},
    {"decay", FLAG_REAL, AT(decay), S_, 0, 1e3, "0.1", "weight decay, of matrices only"},
    {"clip", FLAG_REAL, AT(clip), S_, 0, 1e9, "1",
     "maximum norm of the gradients (0: no clipping)"},
    {"dropout", FLAG_REAL, AT(dropout), S_, 0, 0.99, "0",
     "of the embedding and of each branch"},
    {"loss-scale", FLAG_REAL, AT(loss_scale), S_, 1, 0x1p100, "65536",
     "f16: initial loss scale"},
    {"growth", FLAG_LONG, AT(growth), S_, 0, NO_LIMIT, "2000",
     "f16: steps without overflow that double the loss scale (0: never)"},
    {"shard", FLAG_SWITCH, AT(shard), S_, 0, 0, "0",
     "several ranks: each keeps its part of the optimizer state (ZeRO-1)"},
    {"reduce", FLAG_TEXT, AT(reduce), S_, 0, 0, "f32",
     "several ranks: the gradients are added up in f32 or bf16"},
    {"bucket", FLAG_REAL, AT(bucket), S_, 1e-3, 1e5, "8",
     "several ranks: minimum size of a bucket of gradients, in MB"},
    GENERATION_FLAGS(options, gen, E_ | G_, G_, G_, S_ | G_, T_ | G_, T_ | E_ | G_),
    {"eval-every", FLAG_LONG, AT(eval_every), S_, 0, NO_LIMIT, "250",
     "steps between evaluations of the validation loss (0: at the end)"},
    {"save-every", FLAG_LONG, AT(save_every), S_, 0, NO_LIMIT, "0",
     "steps between checkpoints (0: as eval-every)"},
    {"log-every", FLAG_LONG, AT(log_every), S_, 1, NO_LIMIT, "10",
     "steps between lines of the CSV"},
    {"stop-at", FLAG_LONG, AT(stop_at), T_, 0, NO_LIMIT, "0",
     "save and end after this step; the schedule is still that of --steps (0: off)"},
    {"resume", FLAG_SWITCH, AT(resume), T_, 0, 0, "0",
     "continue from the run's last checkpoint"},
    {"overwrite", FLAG_SWITCH, AT(overwrite), T_, 0, 0, "0",
     "replace the run in the folder; the old one moves to the folder's previous/"},

    {"no-cache", FLAG_SWITCH, AT(no_cache), G_, 0, 0, "0",
     "process the whole sequence again for every token"},
};
#define COUNT (sizeof rows / sizeof *rows)
static const flag_renamed renamed[] = {
    {"checkpoint", "model"},
    {"tokens", "max-new-tokens"},
    {"texts", "batch"},
    {"graph", "no-graph"},
    {"cache", "no-cache"},
    {"taps", "conv-width"},
    {"penalty", "repetition-penalty"},
};
static const flag_table table = {rows, COUNT, renamed, sizeof renamed / sizeof *renamed};

void options_default(options *o)
{
    memset(o, 0, sizeof *o);
    flags_default(&table, o);
}

int options_flags(options *o, int argc, char **argv, int use, wb_error *err)
{
    return flags_parse(&table, o, argc, argv, use, err);
}

bool options_ask(int argc, char **argv, int use, const char *word)
{
    return flags_ask(&table, argc, argv, use, word);
}

void options_help(int use)
{
    flags_help(&table, use);
}

static char *trim(char *s)
{
    while (isspace((unsigned char)*s))
        s++;
    char *end = s + strlen(s);
    while (end > s && isspace((unsigned char)end[-1]))
        *--end = 0;
    return s;
}

int options_read(options *o, const char *text, const char *name, wb_error *err)
{
    char *copy = strdup(text), *rest = copy, *line;
    int number = 0, rc = copy ? 0 : error_set(err, "no memory");
    while (!rc && (line = strsep(&rest, "\n"))) {
        number++;
        char *comment = strchr(line, '#');
        if (comment) *comment = 0;
        line = trim(line);
        if (!*line) continue;
        char *equal = strchr(line, '='), where[1200];
        if (equal) *equal = 0;
        const char *key = trim(line);
        // Checkpoints of older versions have --conv-width under its former name.
        if (strcmp(key, "taps") == 0) key = "conv-width";
        const flag *p = flags_find(&table, key, strlen(key), SAVED);
        snprintf(where, sizeof where, "%s:%d: %.40s", name, number, key);
        if (!equal || !p)
            rc = error_set(
                err, "%s: not a line `name = value` of the model or the training", where);
        else
            rc = flags_set(p, o, trim(equal + 1), where, err);
    }
    free(copy);
    return rc;
}

char *options_text(const options *o)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    for (size_t i = 0; i < COUNT; i++) {
        const flag *p = &rows[i];
        const char *field = (const char *)o + p->offset;
        if (!(p->use & SAVED)) continue;
        fprintf(f, "%s=", p->name);
        if (p->kind == FLAG_TEXT) fprintf(f, "%s\n", field);
        if (p->kind == FLAG_SWITCH) fprintf(f, "%d\n", *(const bool *)field);
        if (p->kind == FLAG_LONG) fprintf(f, "%ld\n", *(const long *)field);
        if (p->kind == FLAG_REAL) fprintf(f, "%.17g\n", *(const double *)field);
        if (p->kind == FLAG_SEED)
            fprintf(f, "%llu\n", (unsigned long long)*(const uint64_t *)field);
    }
    fclose(f);
    return text;
}

const char *options_other_model(const options *a, const options *b)
{
    for (size_t i = 0; i < COUNT; i++) {
        const flag *p = &rows[i];
        const char *x = (const char *)a + p->offset, *y = (const char *)b + p->offset;
        bool same = p->kind == FLAG_TEXT ? !strcmp(x, y) : !memcmp(x, y, p->room);
        if (p->use & MAKES_MODEL && !same) return p->name;
    }
    return NULL;
}
