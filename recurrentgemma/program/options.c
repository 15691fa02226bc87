/* options.c - see options.h. */
#include "options.h"

#include "flags.h"
#include "session.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// `use` of the table: the sections of --help.
enum { MODEL = 1, INPUT = 2, SAMPLING = 4, OUTPUT = 8, ALL = 15 };
#define AT(field) FLAG_AT(options, field)
#define NO_LIMIT 1e9

static const flag rows[] = {
    GENERATION_FLAGS(options, gen, MODEL, INPUT, SAMPLING, SAMPLING, MODEL, OUTPUT),

    {"dtype", FLAG_WORD, AT(dtype), MODEL, 0, 0, "auto",
     "of the computation: f32, bf16, or auto: bf16 for a bf16 file, else f32"},
    {"hf-window", FLAG_SWITCH, AT(hf_window), MODEL, 0, 0, "0",
     "attention sees W tokens in all, as in transformers; else W before the token itself"},
    {"context", FLAG_LONG, AT(context), MODEL, 0, NO_LIMIT, "0",
     "maximum length of a sequence (0: what prompt and answer need; in a chat 8192)"},
    {"chunk", FLAG_LONG, AT(chunk), MODEL, 0, NO_LIMIT, "0",
     "prompt tokens in one pass: bounds the memory (0: 8192 for the whole batch)"},
    {"devices", FLAG_LONG, AT(devices), MODEL, 1, 64, "1",
     "GPUs of this host that share the sequences of a batch, each with its own copy of "
     "the model"},

    {"chat", FLAG_SWITCH, AT(chat), INPUT, 0, 0, "0",
     "one turn per line from stdin; /clear starts over, /exit ends"},
    {"tokens", FLAG_WORD, AT(tokens), INPUT, 0, 0, NULL,
     "file or pipe of token ids, one sequence per line, separated by spaces or commas; "
     "needs no tokenizer"},
    {"bench", FLAG_WORD, AT(bench), INPUT, 0, 0, NULL,
     "BxPxG[,BxPxG...]: times B sequences of P random tokens that generate G, greedily"},
    {"perplexity", FLAG_WORD, AT(perplexity), INPUT, 0, 0, NULL,
     "text file or pipe of any length: prints how well the model predicts it"},
    {"load-state", FLAG_WORD, AT(load_state), INPUT, 0, 0, NULL,
     "file of --save-state: continues its sequence, with a prompt or without"},
    {"no-bos", FLAG_SWITCH, AT(no_bos), INPUT, 0, 0, "0",
     "no beginning-of-sequence token before a prompt"},

    {"ids", FLAG_SWITCH, AT(ids), OUTPUT, 0, 0, "0",
     "token ids instead of text, one sequence per line (always without a tokenizer)"},
    {"echo", FLAG_SWITCH, AT(echo), OUTPUT, 0, 0, "0",
     "print the prompt before the text that continues it"},
    {"logits-out", FLAG_WORD, AT(logits_out), OUTPUT, 0, 0, NULL,
     "safetensors file for the logits (B,T,V) of every prompt token; padding is NaN; then "
     "--max-new-tokens is 0 unless given"},
    {"save-state", FLAG_WORD, AT(save_state), OUTPUT, 0, 0, NULL,
     "file for the sequence's state: the same size however long the text is"},
    {"json", FLAG_WORD, AT(json), OUTPUT, 0, 0, NULL,
     "file to which --bench appends a line of JSON for each case"},
};
static const flag_renamed renamed[] = {{"penalty", "repetition-penalty"}};
static const flag_table table = {
    rows, sizeof rows / sizeof *rows, renamed, sizeof renamed / sizeof *renamed};

bool options_continue(const options *o)
{
    return o->load_state && !o->gen.prompt && !o->gen.prompt_file && !o->tokens;
}

bool options_ask(int argc, char **argv, const char *word)
{
    return flags_ask(&table, argc, argv, ALL, word);
}

void options_help(void)
{
    static const struct {
        int use;
        const char *title;
    } parts[] = {
        {MODEL, "The model"},
        {INPUT, "Input: one of these, else a prompt from stdin"},
        {SAMPLING, "Generation"},
        {OUTPUT, "Output"},
    };
    printf("recurrentgemma --model DIR [--prompt TEXT] [options]: continues a text\n");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        printf("\n%s\n", parts[i].title);
        flags_help(&table, parts[i].use);
    }
    printf(
        "\nCtrl-C ends with the text so far; in a chat it stops the answer.\n"
        "--version prints the version.\n"
        "Exit: 0 done, 1 an error, 2 a wrong option, 130 Ctrl-C, 141 a closed pipe.\n");
}

// The prompts have one source. *first: the one that is given; NULL: none.
static int check_source(const options *o, const char **first, wb_error *err)
{
    const struct {
        const char *name;
        bool given;
    } from[] = {
        {"--prompt", o->gen.prompt},
        {"--prompt-file", o->gen.prompt_file},
        {"--prompts", o->gen.prompts},
        {"--tokens", o->tokens},
        {"--chat", o->chat},
        {"--bench", o->bench},
        {"--perplexity", o->perplexity},
    };
    *first = NULL;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        if (from[i].given && *first)
            return error_set(
                err, "%s and %s do not go together: give one", *first, from[i].name);
        if (from[i].given) *first = from[i].name;
    }
    return 0;
}

// Some sources and some outputs exclude each other.
static int check_together(const options *o, wb_error *err)
{
    const char *first;
    if (check_source(o, &first, err)) return -1;
    bool one = !first || o->gen.prompt || o->gen.prompt_file;
    bool generates = one || o->gen.prompts || o->tokens, batch = o->gen.batch > 1;
    const char *state = o->save_state   ? "--save-state"
                        : o->load_state ? "--load-state"
                                        : NULL;
    const char *no_state = !generates || o->gen.prompts ? first
                           : o->logits_out              ? "--logits-out"
                           : batch                      ? "--batch"
                                                        : NULL;
    bool several = o->devices > 1;
    const struct {
        bool wrong;
        const char *a, *b, *why;
    } rules[] = {
        {batch && !one, "--batch", first, "--batch repeats one prompt"},
        {batch && o->echo, "--batch", "--echo", "leave out one"},
        {o->logits_out && !generates, "--logits-out", first,
         "give the prompt by --prompt, --prompts or --tokens"},
        {o->ids && !generates, "--ids", first, "leave out one"},
        {o->chat && o->gen.max_new_tokens == 0, "--chat", "--max-new-tokens 0",
         "an answer needs tokens"},
        {o->chat && o->no_bos, "--no-bos", "--chat", "turns have their own tokens"},
        {o->chat && o->gen.ignore_eos, "--ignore-eos", "--chat",
         "turns have their own tokens"},
        {o->gen.stop.count && o->ids, "--stop", "--ids", "leave out one"},
        {o->gen.stop.count && !generates, "--stop", first, "leave out one"},
        {state && no_state, state, no_state, "a state is that of one text"},
        {several && state, "--devices", state, "a state is that of one text"},
        {several && o->logits_out, "--devices", "--logits-out", "leave out one"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong)
            return error_set(
                err, "%s and %s do not go together: %s", rules[i].a, rules[i].b,
                rules[i].why);
    if (o->echo && (!one || o->ids))
        return error_set(
            err, "--echo shows the prompt: leave out %s", o->ids ? "--ids" : first);
    if (several && !batch && !o->gen.prompts && !o->tokens && !o->bench)
        return error_set(
            err, "--devices shares the sequences of a batch: give --batch, --prompts, "
                 "--tokens or --bench too");
    if (o->json && !o->bench)
        return error_set(err, "--json holds what --bench measures: give --bench too");
    return 0;
}

static int check_words(const options *o, wb_error *err)
{
    if (!o->gen.model || !o->gen.model[0])
        return error_set(err, "no model: give --model FOLDER (see --help)");
    if (o->gen.prompt && !o->gen.prompt[0])
        return error_set(err, "--prompt is empty: give it a text to continue");
    const char *const files[][2] = {
        {"--prompt-file", o->gen.prompt_file},
        {"--prompts", o->gen.prompts},
        {"--tokens", o->tokens},
        {"--perplexity", o->perplexity},
        {"--logits-out", o->logits_out},
        {"--load-state", o->load_state},
        {"--save-state", o->save_state},
        {"--json", o->json},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i][1] && !files[i][1][0])
            return error_set(err, "%s is empty: name a file", files[i][0]);
    if (strcmp(o->dtype, "auto") && strcmp(o->dtype, "f32") && strcmp(o->dtype, "bf16"))
        return error_set(err, "--dtype: '%.40s' is not auto, f32 or bf16", o->dtype);
    return o->bench ? bench_check(o->bench, err) : 0;
}

int options_parse(options *o, int argc, char **argv, wb_error *err)
{
    flags_default(&table, o);
    if (flags_parse(&table, o, argc, argv, ALL, err)) return -1;
    if (check_words(o, err) || check_together(o, err)) return -1;
    if (o->gen.max_new_tokens < 0)
        o->gen.max_new_tokens = o->logits_out ? 0 : DEFAULT_NEW_TOKENS;
    return 0;
}
