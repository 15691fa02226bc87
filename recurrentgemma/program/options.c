/* options.c - see options.h. */
#include "options.h"

#include "flags.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// `use` of the table: the parts of --help.
enum { MODEL = 1, INPUT = 2, WRITING = 4, OUTPUT = 8, ALL = 15 };
#define AT(field) FLAG_AT(options, field)
#define MANY 1e9

static const flag rows[] = {
    {"model", FLAG_WORD, AT(model), MODEL, 0, 0, NULL,
     "folder with config.json, model.safetensors (or shards) and a tokenizer"},
    {"dtype", FLAG_WORD, AT(dtype), MODEL, 0, 0, "auto",
     "what it computes in: f32, bf16, or auto: bf16 for a bf16 file, else f32"},
    {"hf-window", FLAG_SWITCH, AT(hf_window), MODEL, 0, 0, "0",
     "attention sees W tokens, its own among them, as in transformers; else W before it"},
    {"context", FLAG_LONG, AT(context), MODEL, 0, MANY, "0",
     "most tokens of a row (0: what prompt and answer need; in a chat 8192)"},
    {"chunk", FLAG_LONG, AT(chunk), MODEL, 0, MANY, "0",
     "tokens of a row read at once: bounds the memory (0: 8192 of all rows together)"},
    {"no-graph", FLAG_SWITCH, AT(no_graph), MODEL, 0, 0, "0",
     "launch by launch instead of a step as one CUDA graph"},

    {"prompt", FLAG_WORD, AT(prompt), INPUT, 0, 0, NULL,
     "text to go on from; without it all of stdin, but for one newline at its end"},
    {"prompts", FLAG_WORD, AT(prompts), INPUT, 0, 0, NULL,
     "file of prompts, one a line: a batch, printed in order when all are done"},
    {"chat", FLAG_SWITCH, AT(chat), INPUT, 0, 0, "0",
     "a turn a line from stdin; /clear starts anew, /exit ends"},
    {"tokens", FLAG_WORD, AT(tokens), INPUT, 0, 0, NULL,
     "file of token ids, a row a line, apart by spaces or commas; needs no tokenizer"},
    {"bench", FLAG_WORD, AT(bench), INPUT, 0, 0, NULL,
     "BxPxG[,BxPxG...]: times B rows that read P random tokens and write G"},
    {"no-bos", FLAG_SWITCH, AT(no_bos), INPUT, 0, 0, "0",
     "no beginning-of-sequence token before a prompt"},

    {"max-new-tokens", FLAG_LONG, AT(max_new_tokens), WRITING, -1, MANY, "-1",
     "tokens to write (-1: 256, or with --logits-out none)"},
    {"temperature", FLAG_REAL, AT(temperature), WRITING, 0, 1e6, "0",
     "0: always the likeliest token"},
    {"top-k", FLAG_LONG, AT(top_k), WRITING, 0, MANY, "0",
     "choose among the k likeliest (0: all)"},
    {"top-p", FLAG_REAL, AT(top_p), WRITING, 1e-6, 1, "1",
     "choose among the fewest that have this much probability"},
    {"penalty", FLAG_REAL, AT(penalty), WRITING, 0.01, 100, "1",
     "above 1 makes tokens that were there before less likely"},
    {"seed", FLAG_SEED, AT(seed), WRITING, 0, 0, "1", "of row 0; row b has seed + b"},
    {"ignore-eos", FLAG_SWITCH, AT(ignore_eos), WRITING, 0, 0, "0",
     "go on after an end-of-sequence token"},

    {"ids", FLAG_SWITCH, AT(ids), OUTPUT, 0, 0, "0",
     "token ids instead of text, a row a line (without a tokenizer always)"},
    {"echo", FLAG_SWITCH, AT(echo), OUTPUT, 0, 0, "0",
     "the prompt in front of the text that goes on from it"},
    {"logits-out", FLAG_WORD, AT(logits_out), OUTPUT, 0, 0, NULL,
     "safetensors file for the logits (B,T,V) of every given token; padding is NaN"},
    {"json", FLAG_WORD, AT(json), OUTPUT, 0, 0, NULL,
     "file that --bench adds a line of JSON to for each case"},
    {"quiet", FLAG_SWITCH, AT(quiet), OUTPUT, 0, 0, "0", "nothing on stderr but errors"},
};
static const flag_table table = {rows, sizeof rows / sizeof *rows};

void options_help(void)
{
    static const struct {
        int use;
        const char *title;
    } parts[] = {
        {MODEL, "The model"},
        {INPUT, "What it reads: one of these, else stdin"},
        {WRITING, "How it writes"},
        {OUTPUT, "What comes out"},
    };
    printf("recurrentgemma --model DIR [--prompt TEXT] [options]: goes on from a text\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        printf("\n%s\n", parts[i].title);
        flags_help(&table, parts[i].use);
    }
    printf(
        "\nCtrl-C ends with what is written so far; in a chat it stops the answer.\n"
        "Exit: 0 done, 1 an error, 2 a wrong option, 130 Ctrl-C, 141 a closed pipe.\n");
}

// The text comes from one place; some places and some outputs exclude each other.
static int check_together(const options *o, wb_error *err)
{
    const struct {
        const char *name;
        bool given;
    } from[] = {
        {"--prompt", o->prompt}, {"--prompts", o->prompts}, {"--tokens", o->tokens},
        {"--chat", o->chat},     {"--bench", o->bench},
    };
    const char *first = NULL;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        if (from[i].given && first)
            return error_set(
                err, "%s and %s do not go together: give one", first, from[i].name);
        if (from[i].given) first = from[i].name;
    }
    if (o->logits_out && (o->chat || o->bench))
        return error_set(
            err,
            "--logits-out and %s do not go together: give the text by --prompt, "
            "--prompts or --tokens",
            first);
    if (o->ids && (o->chat || o->bench))
        return error_set(err, "--ids and %s do not go together: leave out one", first);
    if (o->chat && (o->no_bos || o->ignore_eos))
        return error_set(
            err, "%s and --chat do not go together: turns have their own marks",
            o->no_bos ? "--no-bos" : "--ignore-eos");
    if (o->echo && (!o->prompt || o->ids))
        return error_set(
            err, "--echo shows the text of --prompt: %s",
            o->ids ? "leave out --ids" : "give one");
    if (o->json && !o->bench)
        return error_set(err, "--json holds what --bench measures: give --bench too");
    return 0;
}

static int check_words(const options *o, wb_error *err)
{
    if (!o->model || !o->model[0])
        return error_set(err, "no model: give --model FOLDER (see --help)");
    if (o->prompt && !o->prompt[0])
        return error_set(err, "--prompt is empty: give it a text to go on from");
    const char *const files[][2] = {
        {"--prompts", o->prompts},
        {"--tokens", o->tokens},
        {"--logits-out", o->logits_out},
        {"--json", o->json},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i][1] && !files[i][1][0])
            return error_set(err, "%s is empty: name a file", files[i][0]);
    if (strcmp(o->dtype, "auto") && strcmp(o->dtype, "f32") && strcmp(o->dtype, "bf16"))
        return error_set(err, "--dtype: '%.40s' is not auto, f32 or bf16", o->dtype);
    return 0;
}

int options_parse(options *o, int argc, char **argv, wb_error *err)
{
    flags_default(&table, o);
    if (flags_parse(&table, o, argc, argv, ALL, err)) return -1;
    if (check_words(o, err) || check_together(o, err)) return -1;
    if (o->max_new_tokens < 0) o->max_new_tokens = o->logits_out ? 0 : 256;
    return 0;
}
