/* session.h - what every way of using the program shares: the tokenizer, the model, and
 * what is said about both on stderr. */
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
    int B;
    /* for the summary; seconds of the engine's work alone, not of a slow terminal */
    size_t read, written, stepped; /* tokens; stepped: those written by steps */
    double read_seconds, step_seconds;
} session;

/* Sampling and sizes as the options say; batch, context, chunk and drawn for this use. */
rg_settings
session_settings(const options *o, int B, long context, long longest, long drawn);

/* Opens the folder's tokenizer. With --ids and --tokens none is needed, with --tokens none
 * must be there. */
int session_text(session *s, wb_error *err);
int session_model(session *s, const rg_settings *set, wb_error *err);
/* Where the kernels come from, what the model is and takes. */
void session_say(const session *s);
/* Tokens a second and memory. */
void session_summary(const session *s);
void session_close(session *s);

/* The same for one call of rg_prefill or rg_step: adds to the figures above. */
int session_prefill(session *s, const int *const *ids, const int *count, wb_error *err);
int session_step(session *s, int n, wb_error *err);

/* How many steps to ask for next, when n of them took some seconds: pieces of about 20 to
 * 50 ms, so that the text flows, Ctrl-C is heard and the device rarely waits. */
int session_pace(int n, double seconds);

/* --- the ways, each its file. 0, or -1 with err set ----------------------------------- */
int generate(session *s, wb_error *err);
int talk(session *s, wb_error *err);
int bench(session *s, wb_error *err);

/* score.c: --logits-out, with the engine open and nothing read. */
struct prompt_batch;
int score(session *s, const struct prompt_batch *rows, wb_error *err);

#endif
