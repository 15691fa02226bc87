/* options.c - see options.h. */
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum kind { TEXT, LONG, REAL, FLAG, SEED } kind;

typedef struct option {
    const char *name;
    kind kind;
    size_t offset, room;  // in struct options
    int use;
    double low, high;   // of numbers
    const char *start;  // default
    const char *help;
} option;

#define AT(field) offsetof(options, field), sizeof(((options *)0)->field)
#define MANY 1e9
#define T_ FOR_TRAIN
#define S_ (FOR_TRAIN | SAVED)
#define M_ (FOR_TRAIN | SAVED | MAKES_MODEL)
#define E_ FOR_EVAL
#define G_ FOR_GENERATE

static const option table[] = {
    {"preset", TEXT, AT(preset), T_, 0, 0, "laptop", "name in tinylm/presets, or a path"},
    {"data", TEXT, AT(data), T_ | E_, 0, 0, "",
     "text to learn from; its last tenth is held out"},
    {"out", TEXT, AT(out), T_, 0, 0, "", "folder of the run (runs/PRESET)"},
    {"checkpoint", TEXT, AT(checkpoint), E_ | G_, 0, 0, "",
     "folder with model.safetensors"},

    {"arch", TEXT, AT(arch), M_, 0, 0, "llama",
     "llama, or griffin: recurrent layers, and attention in a window"},
    {"layers", LONG, AT(layers), M_, 1, 10000, "4", "decoder layers"},
    {"channels", LONG, AT(channels), M_, 1, MANY, "128", "width of the residual stream"},
    {"heads", LONG, AT(heads), M_, 1, MANY, "4", "query heads; channels / heads each"},
    {"kv-heads", LONG, AT(kv_heads), M_, 0, MANY, "0",
     "key and value heads (0: as heads; of griffin 1)"},
    {"hidden", LONG, AT(hidden), M_, 0, MANY, "0",
     "width of the MLP (0: 8/3 channels, up to a multiple of 8; of griffin 3)"},
    {"context", LONG, AT(context), M_, 1, MANY, "64", "tokens the model sees at once"},
    {"tied", FLAG, AT(tied), M_, 0, 0, "1", "the output matrix is the embedding"},
    {"eps", REAL, AT(eps), M_, 1e-12, 1, "1e-5", "inside the root of RMSNorm"},
    {"rope-base", REAL, AT(rope_base), M_, 1.001, 1e12, "10000", "theta of RoPE"},
    {"tokenizer", TEXT, AT(tokenizer), M_, 0, 0, "characters", "characters or bytes"},
    {"dtype", TEXT, AT(dtype), M_, 0, 0, "f32",
     "f32, bf16 or f16 (with f32 master weights)"},
    {"attention", TEXT, AT(attention), S_ | E_, 0, 0, "auto",
     "lab05; gemm (batched products, llama only); auto: lab05 where it can"},
    {"blocks", TEXT, AT(blocks), M_, 0, 0, "rra",
     "griffin: kinds of layers, repeated: r recurrent, a attention"},
    {"recurrent", LONG, AT(recurrent), M_, 0, MANY, "0",
     "griffin: channels of the recurrence (0: as channels)"},
    {"taps", LONG, AT(taps), M_, 2, 8, "4", "griffin: of the convolution"},
    {"window", LONG, AT(window), M_, 0, MANY, "0",
     "griffin: tokens that attention sees before its own (0: half the context)"},
    {"hf-window", FLAG, AT(hf_window), M_ | E_ | G_, 0, 0, "0",
     "griffin: one token less, as transformers does it"},
    {"softcap", REAL, AT(softcap), M_, 0, 1e6, "30",
     "griffin: bound of the logits (0: none)"},

    {"batch", LONG, AT(batch), S_ | E_, 1, MANY, "12", "rows of a micro-batch"},
    {"accum", LONG, AT(accum), S_, 1, MANY, "1", "micro-batches of a step"},
    {"steps", LONG, AT(steps), S_, 1, MANY, "2000", "steps of the whole run"},
    {"lr", REAL, AT(lr), S_, 0, 1e3, "1e-3", "learning rate after the warm-up"},
    {"min-lr", REAL, AT(min_lr), S_, 0, 1e3, "1e-4", "learning rate at the end"},
    {"warmup", LONG, AT(warmup), S_, 0, MANY, "100", "steps of linear warm-up"},
    {"schedule", TEXT, AT(schedule), S_, 0, 0, "cosine", "cosine, linear or constant"},
    {"beta1", REAL, AT(beta1), S_, 0, 0.9999999, "0.9", "AdamW: mean of gradients"},
    {"beta2", REAL, AT(beta2), S_, 0, 0.9999999, "0.99", "AdamW: mean of their squares"},
    {"adam-eps", REAL, AT(adam_eps), S_, 1e-30, 1, "1e-8", "AdamW: beside the root"},
    {"decay", REAL, AT(decay), S_, 0, 1e3, "0.1", "weight decay, of matrices only"},
    {"clip", REAL, AT(clip), S_, 0, 1e9, "1", "norm that gradients are cut to (0: off)"},
    {"dropout", REAL, AT(dropout), S_, 0, 0.99, "0",
     "of the embedding and of each branch"},
    {"loss-scale", REAL, AT(loss_scale), S_, 1, 0x1p100, "65536",
     "f16: first factor of the loss"},
    {"growth", LONG, AT(growth), S_, 0, MANY, "2000",
     "f16: steps without overflow that double the factor (0: never)"},
    {"seed", SEED, AT(seed), S_ | G_, 0, 0, "1",
     "of weights, order, dropout; of the sampler"},
    {"eval-every", LONG, AT(eval_every), S_, 0, MANY, "250",
     "steps between evaluations of the held-out tail (0: at the end)"},
    {"save-every", LONG, AT(save_every), S_, 0, MANY, "0",
     "steps between checkpoints (0: as eval-every)"},
    {"log-every", LONG, AT(log_every), S_, 1, MANY, "10",
     "steps between lines of the CSV"},
    {"stop-at", LONG, AT(stop_at), T_, 0, MANY, "0",
     "save and end after this step; the schedule stays that of --steps (0: off)"},
    {"resume", FLAG, AT(resume), T_, 0, 0, "0", "go on from the run's last checkpoint"},
    {"graph", FLAG, AT(graph), T_ | G_, 0, 0, "1", "replay the step as one CUDA graph"},

    {"prompt", TEXT, AT(prompt), G_, 0, 0, "\n", "text to go on from"},
    {"tokens", LONG, AT(tokens), G_, 0, MANY, "500", "tokens to write"},
    {"texts", LONG, AT(texts), G_, 1, 65536, "1",
     "texts at once, of seed, seed + 1, ...; shown when all are done"},
    {"temperature", REAL, AT(temperature), G_, 0, 1e6, "0.8", "0: always the likeliest"},
    {"top-k", LONG, AT(top_k), G_, 0, MANY, "0", "choose among the k likeliest (0: all)"},
    {"top-p", REAL, AT(top_p), G_, 0, 1, "1",
     "choose among the fewest that have this much probability"},
    {"penalty", REAL, AT(penalty), G_, 0.01, 100, "1",
     "repetition penalty: above 1 makes tokens seen before less likely"},
    {"cache", FLAG, AT(cache), G_, 0, 0, "1",
     "keep keys and values; 0: all anew per token"},
    {"quiet", FLAG, AT(quiet), T_ | E_ | G_, 0, 0, "0", "only results"},
};
#define COUNT (sizeof table / sizeof *table)

static const option *find(const char *name, size_t length)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0)
            return &table[i];
    return NULL;
}

// `where` names the source for the message: "--lr" or "presets/x: lr".
static int
set(options *o, const option *p, const char *value, const char *where, wb_error *err)
{
    char *field = (char *)o + p->offset, *end;
    errno = 0;
    if (p->kind == TEXT) {
        if (strlen(value) >= p->room)
            return error_set(err, "%s: longer than %zu bytes", where, p->room - 1);
        strcpy(field, value);
        return 0;
    }
    if (p->kind == FLAG) {
        bool yes = strcmp(value, "1") == 0, no = strcmp(value, "0") == 0;
        if (!yes && !no) return error_set(err, "%s: '%.40s' is not 0 or 1", where, value);
        *(bool *)field = yes;
        return 0;
    }
    if (p->kind == SEED) {
        unsigned long long n = strtoull(value, &end, 0);
        if (!isdigit((unsigned char)*value) || *end || errno)
            return error_set(
                err, "%s: '%.40s' is not a seed (0 .. 2^64-1)", where, value);
        *(uint64_t *)field = n;
        return 0;
    }
    bool whole = p->kind == LONG;
    double x = whole ? (double)strtol(value, &end, 10) : strtod(value, &end);
    if (end == value || *end || errno || !(x >= p->low && x <= p->high))
        return error_set(
            err, "%s: '%.40s' is not a%s number from %g to %g", where, value,
            whole ? " whole" : "", p->low, p->high);
    if (whole)
        *(long *)field = (long)x;
    else
        *(double *)field = x;
    return 0;
}

void options_default(options *o)
{
    wb_error err;
    memset(o, 0, sizeof *o);
    for (size_t i = 0; i < COUNT; i++)
        if (set(o, &table[i], table[i].start, table[i].name, &err)) {
            fprintf(stderr, "%s\n", err.text);
            abort();  // the table above is wrong
        }
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
        char *key = trim(line);
        const option *p = find(key, strlen(key));
        snprintf(where, sizeof where, "%s:%d: %.40s", name, number, key);
        if (!equal || !p || !(p->use & SAVED))
            rc = error_set(
                err, "%s: not a line `name = value` of the model or the training", where);
        else
            rc = set(o, p, trim(equal + 1), where, err);
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
        const option *p = &table[i];
        const char *field = (const char *)o + p->offset;
        if (!(p->use & SAVED)) continue;
        fprintf(f, "%s=", p->name);
        if (p->kind == TEXT) fprintf(f, "%s\n", field);
        if (p->kind == FLAG) fprintf(f, "%d\n", *(const bool *)field);
        if (p->kind == LONG) fprintf(f, "%ld\n", *(const long *)field);
        if (p->kind == REAL) fprintf(f, "%.17g\n", *(const double *)field);
        if (p->kind == SEED)
            fprintf(f, "%llu\n", (unsigned long long)*(const uint64_t *)field);
    }
    fclose(f);
    return text;
}

const char *options_other_model(const options *a, const options *b)
{
    for (size_t i = 0; i < COUNT; i++) {
        const option *p = &table[i];
        const char *x = (const char *)a + p->offset, *y = (const char *)b + p->offset;
        bool same = p->kind == TEXT ? !strcmp(x, y) : !memcmp(x, y, p->room);
        if (p->use & MAKES_MODEL && !same) return p->name;
    }
    return NULL;
}

/* --- command line ------------------------------------------------------------------- */

// One option at argv[i]: its entry, its value, and how many words it took (0: error).
static int split(
    int argc, char **argv, int i, int use, const option **p, const char **value,
    wb_error *err)
{
    const char *word = argv[i];
    if (strncmp(word, "--", 2) != 0) {
        error_set(err, "'%.100s' is no option (options start with --; see --help)", word);
        return 0;
    }
    const char *equal = strchr(word, '=');
    size_t length = equal ? (size_t)(equal - word - 2) : strlen(word + 2);
    *p = find(word + 2, length);
    if (!*p || !((*p)->use & use)) {
        error_set(err, "unknown option '%.100s' (see --help)", word);
        return 0;
    }
    if (equal) return *value = equal + 1, 1;
    if ((*p)->kind == FLAG &&
        (i + 1 >= argc || (strcmp(argv[i + 1], "0") && strcmp(argv[i + 1], "1"))))
        return *value = "1", 1;
    if (i + 1 >= argc) {
        error_set(err, "%.100s needs a value (see --help)", word);
        return 0;
    }
    return *value = argv[i + 1], 2;
}

int options_flags(options *o, int argc, char **argv, int use, wb_error *err)
{
    const option *p = NULL;
    const char *value = NULL;
    for (int i = 0, words; i < argc; i += words) {
        words = split(argc, argv, i, use, &p, &value, err);
        if (!words) return -1;
        char where[64];
        snprintf(where, sizeof where, "--%s", p->name);
        if (set(o, p, value, where, err)) return -1;
    }
    return 0;
}

void options_help(int use)
{
    for (size_t i = 0; i < COUNT; i++) {
        const option *p = &table[i];
        char name[40];
        if (!(p->use & use)) continue;
        snprintf(
            name, sizeof name, "--%s %s", p->name,
            p->kind == FLAG   ? "0|1"
            : p->kind == TEXT ? "TEXT"
                              : "N");
        const char *start = *p->start == '\n' ? "newline" : p->start;
        printf(
            "  %-20s %s%s%s%s\n", name, p->help, *start ? " [" : "", start,
            *start ? "]" : "");
    }
}
