/* prompts.h - the token ids of a batch of prompts, from whichever source the options
 * name.
 *
 *     prompt_batch p = {0};
 *     if (prompts_read(&p, o, codec, &err)) ...   // from the options or stdin
 *     if (prompts_check(&p, vocab, &err)) ...     // once the model is open
 *     prompts_free(&p);
 */
#ifndef PROMPTS_H
#define PROMPTS_H
#include "options.h"
#include "text/text.h"

typedef struct prompt_batch {
    int batch, longest;
    int first;         /* sequences before these, on other devices */
    int **ids, *count; /* (batch) */
    int *line;         /* (batch) of the source file, from 1; elsewhere 0 */
    char **text;       /* (batch) the lines of --prompts; elsewhere NULL */
    char *whole;       /* the one prompt that all sequences have; else NULL */
    size_t whole_bytes;
    const char *from; /* for messages: "--prompt", "stdin" or the file's name */
} prompt_batch;

/* codec: NULL only with --tokens. Prompts start with BOS if the tokenizer has one, unless
 * --no-bos is given or they continue a state; then there may also be no prompt, which is
 * a sequence without ids. An error names the line: a prompt without a token, a word that
 * is not a token id, a line without ids. */
int prompts_read(
    prompt_batch *p, const options *o, const text_codec *codec, wb_error *err);
/* The whole file as one prompt, also in `whole`; its last newline is a part of it. */
int prompts_read_text(
    prompt_batch *p, const options *o, const char *path, const text_codec *codec,
    wb_error *err);
/* -1: an id that the model does not have. */
int prompts_check(const prompt_batch *p, int vocab, wb_error *err);
/* Puts a token in front of the first sequence. */
int prompts_precede(prompt_batch *p, int id, wb_error *err);
void prompts_free(prompt_batch *p);

#endif
