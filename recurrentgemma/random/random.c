/* random.c - recurrentgemma-random: a model folder with random weights, to measure speed
 * and memory, and to test sizes that were never published. */
#include "flags.h"
#include "random_model.h"
#include "stop.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct options {
    const char *preset, *dtype, *blocks;
    uint64_t seed;
    long shards, layers, channels, heads, kv_heads, head_dim, hidden, vocab, recurrent;
    long conv_width, window;
    bool tied, hf_window, dry;
    double softcap;
} options;

static const struct preset {
    const char *name;
    int layers, channels, heads, head_dim, hidden, vocab, recurrent, window;
} presets[] = {
    {"2b", 26, 2560, 10, 256, 7680, 256000, 2560, 2048},
    {"9b", 38, 4096, 16, 256, 12288, 256000, 4096, 2048},
    {"tiny", 5, 64, 4, 16, 192, 256, 64, 16},
};

enum { MODEL = 1, FILES = 2 };
#define AT(field) FLAG_AT(options, field)
#define NO_LIMIT 1e9
#define AS_PRESET " (0: as the preset)"

static const flag rows[] = {
    {"preset", FLAG_WORD, AT(preset), MODEL, 0, 0, "tiny",
     "2b or 9b, as published, or tiny: what the options below start from"},
    {"layers", FLAG_LONG, AT(layers), MODEL, 0, 10000, "0", "layers" AS_PRESET},
    {"channels", FLAG_LONG, AT(channels), MODEL, 0, NO_LIMIT, "0",
     "width of the residual stream" AS_PRESET},
    {"heads", FLAG_LONG, AT(heads), MODEL, 0, NO_LIMIT, "0",
     "query heads, also blocks of the gates" AS_PRESET},
    {"kv-heads", FLAG_LONG, AT(kv_heads), MODEL, 1, NO_LIMIT, "1", "key and value heads"},
    {"head-dim", FLAG_LONG, AT(head_dim), MODEL, 0, 256, "0",
     "channels of a head (0: as the preset; with --channels or --heads their quotient)"},
    {"hidden", FLAG_LONG, AT(hidden), MODEL, 0, NO_LIMIT, "0",
     "width of the MLP" AS_PRESET},
    {"vocab", FLAG_LONG, AT(vocab), MODEL, 0, NO_LIMIT, "0", "tokens" AS_PRESET},
    {"recurrent", FLAG_LONG, AT(recurrent), MODEL, 0, NO_LIMIT, "0",
     "recurrent channels (0: as the preset, or with --channels the same)"},
    {"conv-width", FLAG_LONG, AT(conv_width), MODEL, 2, 8, "4",
     "inputs that the temporal convolution covers"},
    {"window", FLAG_LONG, AT(window), MODEL, 0, NO_LIMIT, "0",
     "keys before its own that a token sees" AS_PRESET},
    {"blocks", FLAG_WORD, AT(blocks), MODEL, 0, 0, "rra",
     "kinds of layers, repeated: r recurrent, a attention"},
    {"softcap", FLAG_REAL, AT(softcap), MODEL, 0, 1e6, "30", "of the logits (0: none)"},
    {"tied", FLAG_SWITCH, AT(tied), MODEL, 0, 0, "1",
     "the output matrix is the embedding"},
    {"hf-window", FLAG_SWITCH, AT(hf_window), MODEL, 0, 0, "0",
     "config.json asks for the window of transformers, one token less"},
    {"dtype", FLAG_WORD, AT(dtype), FILES, 0, 0, "bf16",
     "of the files: bf16, f32 or f16"},
    {"shards", FLAG_LONG, AT(shards), FILES, 0, RANDOM_SHARDS, "0",
     "files, at most (0: one for each 5 GB)"},
    {"seed", FLAG_SEED, AT(seed), FILES, 0, 0, "1", "of all weights"},
    {"dry-run", FLAG_SWITCH, AT(dry), FILES, 0, 0, "0",
     "only print how large it would be"},
};
static const flag_renamed renamed[] = {{"taps", "conv-width"}};
static const flag_table table = {
    rows, sizeof rows / sizeof *rows, renamed, sizeof renamed / sizeof *renamed};

static int complain(const wb_error *err, int status)
{
    fprintf(stderr, "recurrentgemma-random: %s\n", err->text);
    return status;
}

static int or_else(long given, int otherwise)
{
    return given ? (int)given : otherwise;
}

static int make_config(const options *o, random_model *m, wb_error *err)
{
    const struct preset *p = NULL;
    griffin_config *c = &m->config;
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (strcmp(o->preset, presets[i].name) == 0) p = &presets[i];
    if (!p) return error_set(err, "--preset %.40s: give 2b, 9b or tiny", o->preset);
    wb_dtype dtype;
    if (!wb_dtype_parse(o->dtype, &dtype))
        return error_set(err, "--dtype %.40s: give bf16, f32 or f16", o->dtype);
    *m = (random_model){
        .dtype = dtype, .seed = o->seed, .shards = (int)o->shards, .dry = o->dry};
    *c = (griffin_config){.bos = 2, .pad = 0, .eos = {{1}, 1}};
    c->shape = (model_shape){
        .layers = or_else(o->layers, p->layers),
        .channels = or_else(o->channels, p->channels),
        .heads = or_else(o->heads, p->heads),
        .kv_heads = (int)o->kv_heads,
        .hidden = or_else(o->hidden, p->hidden),
        .vocab = or_else(o->vocab, p->vocab),
        .context = 8192,
        .eps = 1e-6f,
        .rope_base = 10000,
        .tied = o->tied,
        .recurrent = or_else(o->recurrent, o->channels ? (int)o->channels : p->recurrent),
        .conv_width = (int)o->conv_width,
        .window = or_else(o->window, p->window),
        .hf_window = o->hf_window,
        .scaled = true,
        .softcap = (float)o->softcap};
    model_shape *s = &c->shape;
    bool as_preset = !o->channels && !o->heads;
    s->head_dim = or_else(o->head_dim, as_preset ? p->head_dim : s->channels / s->heads);
    s->rotated = s->head_dim / 2;
    if (strlen(o->blocks) >= sizeof s->blocks)
        return error_set(err, "--blocks: 63 letters at most");
    strcpy(s->blocks, o->blocks);
    return griffin_check(s, err);
}

static void help(void)
{
    printf(
        "recurrentgemma-random [options] FOLDER: a RecurrentGemma with random weights\n");
    printf("\nThe model\n");
    flags_help(&table, MODEL);
    printf("\nThe files\n");
    flags_help(&table, FILES);
}

// Removes the one word from argv that is neither an option nor an option's value.
static int take_folder(int *argc, char **argv, const char **folder, wb_error *err)
{
    int kept = 0;
    *folder = NULL;
    for (int i = 0; i < *argc; i++) {
        bool option = strncmp(argv[i], "--", 2) == 0;
        if (!option && *folder)
            return error_set(
                err, "two folders, %.200s and %.200s: give one", *folder, argv[i]);
        if (!option) {
            *folder = argv[i];
            continue;
        }
        int words = flags_words(&table, *argc, argv, i, MODEL | FILES);
        argv[kept++] = argv[i];
        if (words == 2) argv[kept++] = argv[++i];
    }
    *argc = kept;
    return *folder ? 0 : error_set(err, "no folder to write to (see --help)");
}

int main(int argc, char **argv)
{
    options o;
    random_model m;
    random_written out;
    wb_error err;
    const char *folder;
    argc--, argv++;
    if (flags_ask(&table, argc, argv, MODEL | FILES, "--help") ||
        flags_ask(&table, argc, argv, MODEL | FILES, "-h")) {
        help();
        if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
        fprintf(stderr, "recurrentgemma-random: stdout: cannot write\n");
        return 1;
    }
    flags_default(&table, &o);
    if (take_folder(&argc, argv, &folder, &err) ||
        flags_parse(&table, &o, argc, argv, MODEL | FILES, &err) ||
        make_config(&o, &m, &err))
        return complain(&err, 2);
    stop_catch();
    stop_at_once(false);
    if (random_write(&m, folder, &out, &err))
        return complain(&err, stop_signal() ? 128 + stop_signal() : 1);
    printf(
        "%s: %zu parameters, %.3f GB in %d file%s, seed %llu\n", folder, out.parameters,
        (double)out.bytes * 1e-9, out.shards, out.shards == 1 ? "" : "s",
        (unsigned long long)o.seed);
    return 0;
}
