/* generation_options.h - the options that both programs have: one name, range, default
 * and help text for each. A program's options structure holds a generation_options, and
 * its table takes GENERATION_FLAGS among its own rows (see flags.h):
 *
 *     typedef struct options { generation_options gen; ... } options;
 *     static const flag rows[] = {
 *         GENERATION_FLAGS(options, gen, MODEL, INPUT, SAMPLING, SAMPLING, MODEL, OUTPUT),
 *         ...
 *
 * The last arguments are the `use` of --model; of --prompt, --prompt-file, --prompts and
 * --batch; of the sampling options; of --seed; of --no-graph; of --kernels and --quiet.
 */
#ifndef GENERATION_OPTIONS_H
#define GENERATION_OPTIONS_H
#include "flags.h"

#include <stdint.h>

typedef struct generation_options {
    const char *model; /* NULL: not given, like the next three */
    const char *prompt, *prompt_file, *prompts;
    long batch;
    long max_new_tokens; /* -1: not given */
    double temperature;
    long top_k;
    double top_p, min_p, repetition_penalty;
    uint64_t seed;
    flag_list stop;
    bool ignore_eos, no_graph, kernels, quiet;
} generation_options;

enum { DEFAULT_NEW_TOKENS = 256 };

#define GENERATION_FLAGS(type, field, model_use, input_use, sampling_use, seed_use,      \
                         graph_use, quiet_use)                                           \
    {"model", FLAG_WORD, FLAG_AT(type, field.model), model_use, 0, 0, NULL,              \
     "folder with config.json, model.safetensors (or shards) and a tokenizer"},          \
    {"prompt", FLAG_WORD, FLAG_AT(type, field.prompt), input_use, 0, 0, NULL,            \
     "text to continue; - reads it from stdin"},                                         \
    {"prompt-file", FLAG_WORD, FLAG_AT(type, field.prompt_file), input_use, 0, 0, NULL,  \
     "file or pipe with the text to continue"},                                          \
    {"prompts", FLAG_WORD, FLAG_AT(type, field.prompts), input_use, 0, 0, NULL,          \
     "file of prompts, one per line: a batch, printed in order when all are done"},      \
    {"batch", FLAG_LONG, FLAG_AT(type, field.batch), input_use, 1, 65536, "1",           \
     "sequences from one prompt, with seeds seed, seed + 1, ..."},                       \
    {"max-new-tokens", FLAG_LONG, FLAG_AT(type, field.max_new_tokens), sampling_use, -1, \
     1e9, "-1", "tokens to generate (-1: 256)"},                                         \
    {"temperature", FLAG_REAL, FLAG_AT(type, field.temperature), sampling_use, 0, 1e6,   \
     "0.8", "0: always the most likely token"},                                          \
    {"top-k", FLAG_LONG, FLAG_AT(type, field.top_k), sampling_use, 0, 1e9, "0",          \
     "sample from the k most likely tokens (0: all)"},                                   \
    {"top-p", FLAG_REAL, FLAG_AT(type, field.top_p), sampling_use, 1e-6, 1, "1",         \
     "sample from the fewest tokens that have this much probability"},                   \
    {"min-p", FLAG_REAL, FLAG_AT(type, field.min_p), sampling_use, 0, 1, "0",            \
     "sample from the tokens with at least this fraction of the largest probability"},   \
    {"repetition-penalty", FLAG_REAL, FLAG_AT(type, field.repetition_penalty),           \
     sampling_use, 0.01, 100, "1", "above 1 makes earlier tokens less likely"},          \
    {"seed", FLAG_SEED, FLAG_AT(type, field.seed), seed_use, 0, 0, "1",                  \
     "of all random numbers; sequence b of a batch has seed + b"},                       \
    {"ignore-eos", FLAG_SWITCH, FLAG_AT(type, field.ignore_eos), sampling_use, 0, 0,     \
     "0", "continue after an end-of-sequence token"},                                    \
    {"stop", FLAG_LIST, FLAG_AT(type, field.stop), sampling_use, 0, 0, NULL,             \
     "end before this text; can be given several times"},                                \
    {"no-graph", FLAG_SWITCH, FLAG_AT(type, field.no_graph), graph_use, 0, 0, "0",       \
     "launch kernel by kernel instead of a step as one CUDA graph"},                     \
    {"kernels", FLAG_SWITCH, FLAG_AT(type, field.kernels), quiet_use, 0, 0, "0",         \
     "print the table of kernels: which are yours"},                                     \
    {"quiet", FLAG_SWITCH, FLAG_AT(type, field.quiet), quiet_use, 0, 0, "0",             \
     "print only results and errors"}

#endif
