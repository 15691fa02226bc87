/* rows.h - what the model reads: token ids of B rows, from wherever the options say.
 *
 *     token_rows r = {0};
 *     if (rows_read(&r, o, codec, &err)) ...   // --prompt, --prompts, --tokens or stdin
 *     if (rows_check(&r, vocab, &err)) ...     // once the model is there
 *     rows_free(&r);
 */
#ifndef ROWS_H
#define ROWS_H
#include "options.h"
#include "text/text.h"

typedef struct token_rows {
    int B, longest;
    int **ids, *count; /* (B) */
    int *line;         /* (B) of the file that it stands in, from 1; elsewhere 0 */
    char **prompt;     /* (B) the lines of --prompts; elsewhere NULL */
    const char *from;  /* for messages: "--prompt", or the file's name */
} token_rows;

/* codec: NULL only with --tokens. Prompts get BOS in front if the tokenizer has one and
 * --no-bos is not given. An error names the line: a prompt without a token, a word that is
 * no token id, a line without ids. */
int rows_read(token_rows *r, const options *o, const text_codec *codec, wb_error *err);
/* -1: an id that the model does not have. */
int rows_check(const token_rows *r, int vocab, wb_error *err);
void rows_free(token_rows *r);

#endif
