/* talk.c - --chat: one turn per line. The sequence's states hold all turns so far, so a
 * turn costs only its own tokens. */
#include "output.h"
#include "progress.h"
#include "session.h"
#include "stop.h"
#include "text/chat.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CONTEXT = 8192 };  // maximum length of a conversation without --context
enum { TURN = 1024 };     // most tokens of a turn in one pass of the prefill

typedef struct conversation {
    session *s;
    chat turns;
    int last; /* the model's newest token; -1: the conversation is empty */
    long context;
} conversation;

static void forget(conversation *c)
{
    if (c->last >= 0) rg_reset(c->s->e, 0, c->s->o->gen.seed);
    c->last = -1;
}

// The model's answer as it comes, up to its <end_of_turn>, --max-new-tokens, a full
// context or Ctrl-C.
static int answer(conversation *c, int continuing, wb_error *err)
{
    rg_engine *e = c->s->e;
    writer w;
    if (writer_begin(&w, c->s->codec, NULL, err)) return -1;
    int rc = 0, n = 1, shown = 0;
    for (;;) {
        // the newest token needs a place too, and is not processed yet
        int sampled = rg_sampled(e, 0);
        int room = (int)c->context - rg_processed(e, 0) - 1;
        int said = chat_said(&c->turns, rg_tokens(e, 0), sampled);
        rc = writer_add(&w, rg_tokens(e, 0) + shown, said - shown, err);
        shown = said;
        if (n > room) n = room;
        if (rc || continuing == 0 || stop_signal() || n == 0) break;
        double began = seconds_now();
        continuing = session_step(c->s, n, err);
        if (continuing < 0) break;
        n = session_pace(n, seconds_now() - began);
    }
    c->last = rg_tokens(e, 0)[rg_sampled(e, 0) - 1];
    wb_error again;
    if (writer_end(&w, rc || continuing < 0 ? &again : err)) rc = -1;
    return continuing < 0 ? -1 : rc;
}

static void say_cost(const conversation *c, size_t count, const session *before)
{
    const session *s = c->s;
    if (s->o->gen.quiet) return;
    size_t stepped = s->stepped - before->stepped;
    double seconds = s->step_seconds - before->step_seconds;
    fprintf(
        stderr, "[prefill %zu tokens in %.3f s, decode %d", count,
        s->prefill_seconds - before->prefill_seconds, rg_sampled(s->e, 0));
    if (stepped) fprintf(stderr, " at %.0f tokens/s", (double)stepped / seconds);
    fprintf(stderr, "; context %d of %ld]\n", rg_processed(s->e, 0), c->context);
}

// A line that the model cannot take gives a message, and the conversation continues.
static int turn(conversation *c, const char *line, size_t bytes, wb_error *err)
{
    size_t count;
    wb_error why;
    int *ids = chat_turn(&c->turns, c->last, line, bytes, &count, &why);
    if (!ids) return fprintf(stderr, "recurrentgemma: %s\n", why.text), 0;
    // also processed: the model's newest token before it; also sampled: at least one
    // after it
    long held = rg_processed(c->s->e, 0) + (c->last >= 0);
    if (held + (long)count + 1 > c->context) {
        fprintf(
            stderr,
            "recurrentgemma: %zu more tokens do not fit into the context of %ld: /clear "
            "starts over, --context raises the limit\n",
            count, c->context);
        free(ids);
        return 0;
    }
    const session before = *c->s;
    int n = (int)count;
    int continuing = session_prefill(c->s, (const int *const[]){ids}, &n, err);
    free(ids);
    if (continuing < 0 || answer(c, continuing, err)) return -1;
    say_cost(c, count, &before);
    return 0;
}

// A line without its end. NULL: EOF or a signal.
static char *read_line(char **line, size_t *room, size_t *bytes)
{
    if (isatty(STDIN_FILENO)) fprintf(stderr, "> ");
    ssize_t n = stop_signal() ? -1 : getline(line, room, stdin);
    if (n < 0) return NULL;
    while (n > 0 && ((*line)[n - 1] == '\n' || (*line)[n - 1] == '\r'))
        (*line)[--n] = 0;
    *bytes = (size_t)n;
    return *line;
}

static int converse(conversation *c, wb_error *err)
{
    char *line = NULL;
    size_t room = 0, bytes;
    int rc = 0;
    while (!rc && read_line(&line, &room, &bytes)) {
        if (strcmp(line, "/exit") == 0) break;
        if (strcmp(line, "/clear") == 0)
            forget(c);
        else if (bytes > 0)
            rc = turn(c, line, bytes, err);
        if (stop_signal() == SIGINT) stop_forget();  // it stopped the answer
    }
    if (!rc && ferror(stdin) && !stop_signal()) rc = error_set(err, "stdin: cannot read");
    free(line);
    return rc;
}

int talk(session *s, wb_error *err)
{
    const options *o = s->o;
    conversation c = {.s = s, .last = -1, .context = o->context ? o->context : CONTEXT};
    int stop[2];
    if (session_text(s, err) || chat_open(&c.turns, s->codec, err)) return -1;
    rg_settings set = session_settings(o, 1, c.context, TURN, o->gen.max_new_tokens);
    set.stop_count = chat_stops(&c.turns, stop);
    set.stop = stop;
    if (session_model(s, &set, err)) return -1;
    session_say(s);
    stop_at_once(false);
    return converse(&c, err);
}
