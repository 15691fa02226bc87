/* options.h - the command line of the program: `recurrentgemma --help` prints it. */
#ifndef OPTIONS_H
#define OPTIONS_H
#include "file.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct options {
    const char *model;
    /* where the text comes from: at most one of them, else stdin */
    const char *prompt, *prompts, *tokens, *bench;
    bool chat;
    /* what comes out */
    const char *logits_out, *json;
    bool ids, echo, quiet;
    long max_new_tokens;
    /* how */
    const char *dtype; /* auto, f32, bf16 */
    long context, chunk;
    bool hf_window, no_graph, no_bos, ignore_eos;
    double temperature, top_p, penalty;
    long top_k;
    uint64_t seed;
} options;

/* argv[0] is the first option. -1: a value out of range, or options that do not go
 * together. */
int options_parse(options *o, int argc, char **argv, wb_error *err);
void options_help(void); /* on stdout */

#endif
