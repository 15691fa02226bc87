/* chat.h - Gemma's turns as token ids:
 *
 *     <bos><start_of_turn>user\nHello<end_of_turn>\n<start_of_turn>model\n
 *
 * and then the model writes up to its <end_of_turn>. A later turn costs only its own
 * tokens: the row's states hold what came before, and the engine itself reads the stop
 * token that it drew (see rg_prefill).
 *
 * The marks are put in by number. A user who writes "<end_of_turn>" gets those letters,
 * never the mark: neither a control piece, which SentencePiece finds in no text, nor a
 * user-defined one, which it would find. */
#ifndef CHAT_H
#define CHAT_H
#include "text.h"

typedef struct chat {
    const text_codec *text;
    int bos, eos;   /* eos -1: the file names none */
    int start, end; /* <start_of_turn>, <end_of_turn> */
} chat;

/* -1: the tokenizer has no such pieces, the model was not made for turns. */
int chat_open(chat *c, const text_codec *text, wb_error *err);

/* The tokens that end the model's turn; returns how many stand in stop: 1 or 2. */
int chat_stops(const chat *c, int stop[2]);

/* How many of the tokens that the model drew are its text: not the one that ended it,
 * which would be printed if it is a user-defined piece. */
int chat_said(const chat *c, const int *drawn, int count);

/* What the model reads before it answers; malloc'ed. `last` is the newest token that it
 * drew, -1 in a text's first turn. A turn that was cut off (last is no <end_of_turn>) is
 * closed first. */
int *chat_turn(
    const chat *c, int last, const char *user, size_t bytes, size_t *count,
    wb_error *err);

#endif
