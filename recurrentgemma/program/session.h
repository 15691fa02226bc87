/* session.h - what all modes of the program share: the tokenizer, the model, and what it
 * reports about both on stderr. program/ includes recurrentgemma.h and text/, never
 * engine/; nothing else includes it. */
#ifndef SESSION_H
#define SESSION_H
#include "options.h"
#include "recurrentgemma.h"
#include "text/text.h"

typedef struct session {
    const options *o;
    text_codec *codec; /* NULL: ids only */
    rg_engine *e;
    const rg_info *info;
    int batch;
    /* for the summary; seconds of the engine alone, without a slow terminal */
    size_t prefilled, sampled, stepped; /* tokens; stepped: those sampled by steps */
    double prefill_seconds, step_seconds;
} session;

/* Sampling and sizes as the options say; the rest for this use. */
rg_settings session_settings(
    const options *o, int batch, long context, long longest, long max_new_tokens);

/* Opens the folder's tokenizer. With --tokens, or a state without a prompt, none has to
 * exist, and with --ids too none is needed. */
int session_text(session *s, wb_error *err);
int session_model(session *s, const rg_settings *set, wb_error *err);
/* Where the kernels come from, what the model is and how much memory it needs. */
void session_say(const session *s);
/* Tokens per second, and memory. */
void session_summary(const session *s);
void session_close(session *s);

/* One call of rg_prefill or rg_step, counted in the figures above. */
int session_prefill(session *s, const int *const *ids, const int *count, wb_error *err);
int session_step(session *s, int n, wb_error *err);

/* How many steps to ask for next, when n of them took some seconds: pieces of about 20 to
 * 50 ms, so that the text flows, Ctrl-C is answered and the device rarely waits. */
int session_pace(int n, double seconds);

/* --- the modes, one file each. 0, or -1 with err set -------------------------------- */

int generate(session *s, wb_error *err);
int talk(session *s, wb_error *err);
int bench(session *s, wb_error *err);
int perplexity(session *s, wb_error *err);
int bench_check(
    const char *cases, wb_error *err); /* of --bench, before a model is open */

/* score.c: --logits-out, with the engine open and nothing prefilled. */
struct prompt_batch;
int score(session *s, const struct prompt_batch *prompts, wb_error *err);

#endif
