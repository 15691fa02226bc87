/* options.h - every setting of a run: name, default, meaning. One table serves the
 * command line (--name value or --name=value), preset files, the options saved with a
 * checkpoint (name=value lines), and --help.
 */
#ifndef OPTIONS_H
#define OPTIONS_H
#include "generation_options.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct options {
    generation_options gen; /* training too uses --seed, --no-graph and --quiet */
    /* files */
    char preset[256], out[1024], init_from[1024];
    flag_list data;
    /* model */
    char arch[16], blocks[64];
    long layers, channels, heads, head_dim, kv_heads, hidden, context;
    long recurrent, conv_width, window;
    bool tied, hf_window;
    double eps, rope_base, softcap;
    char tokenizer[16], dtype[8], attention[8];
    /* training */
    long batch, accum, steps, warmup;
    char schedule[16];
    double lr, min_lr, beta1, beta2, adam_eps, decay, clip, dropout, loss_scale;
    long growth;
    bool shard;
    char reduce[8];
    double bucket;
    long eval_every, save_every, log_every, stop_at;
    bool resume, overwrite;
    /* generation */
    bool no_cache;
} options;

enum { FOR_TRAIN = 1, FOR_EVAL = 2, FOR_GENERATE = 4, SAVED = 8, MAKES_MODEL = 16 };

void options_default(options *o);
/* argv[0] is the first option. use: FOR_TRAIN, FOR_EVAL or FOR_GENERATE. */
int options_flags(options *o, int argc, char **argv, int use, wb_error *err);
/* A file of tinylm/presets, or a path. */
int options_preset(options *o, const char *name, wb_error *err);
/* name=value lines, `#` comments. `name` is for messages. */
int options_read(options *o, const char *text, const char *name, wb_error *err);
/* The first option of MAKES_MODEL in which the two differ; NULL: none. */
const char *options_other_model(const options *a, const options *b);
/* The SAVED ones as lines, malloc'ed. */
char *options_text(const options *o);
/* Whether one of the options is `word`, such as --help. */
bool options_ask(int argc, char **argv, int use, const char *word);
void options_help(int use);

#endif
