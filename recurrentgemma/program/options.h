/* options.h - the command line of the program: `recurrentgemma --help` prints it. */
#ifndef OPTIONS_H
#define OPTIONS_H
#include "generation_options.h"

typedef struct options {
    generation_options gen;
    /* where the prompts come from: at most one of these, --prompt, --prompt-file and
     * --prompts, else stdin */
    const char *tokens, *bench, *perplexity;
    bool chat;
    const char *load_state; /* what the prompt follows */
    /* output */
    const char *logits_out, *json, *save_state;
    bool ids, echo;
    /* the model */
    const char *dtype; /* auto, f32, bf16 */
    long context, chunk, devices;
    bool hf_window, no_bos;
} options;

/* argv[0] is the first option. -1: a value out of range, or options that exclude each
 * other. */
int options_parse(options *o, int argc, char **argv, wb_error *err);
/* Neither a prompt nor stdin is read: a state continues as it is. */
bool options_continue(const options *o);
/* Whether one of the options is `word`, such as --help. */
bool options_ask(int argc, char **argv, const char *word);
void options_help(void); /* on stdout */

#endif
