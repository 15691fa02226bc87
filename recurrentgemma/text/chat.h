/* chat.h - Gemma's turns as token ids:
 *
 *     <bos><start_of_turn>user\nHello<end_of_turn>\n<start_of_turn>model\n
 *
 * after which the model generates up to its <end_of_turn>. A later turn costs only its
 * own tokens: the sequence's states hold everything before, and the engine itself
 * processes the stop token that it sampled (see rg_prefill).
 *
 * The marks are inserted as ids. A user who types "<end_of_turn>" gets those letters,
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

/* -1: the tokenizer lacks these pieces, so the model was not trained on turns. */
int chat_open(chat *c, const text_codec *text, wb_error *err);

/* The tokens that end the model's turn; returns how many there are in stop: 1 or 2. */
int chat_stops(const chat *c, int stop[2]);

/* How many of the sampled tokens are text: all but the one that ended the turn, which
 * would be printed if it is a user-defined piece. */
int chat_said(const chat *c, const int *sampled, int count);

/* The tokens before the model's answer, malloc'ed. `last` is the newest token that it
 * sampled, -1 in the first turn. A turn that was cut off (last is not <end_of_turn>) is
 * closed first. */
int *chat_turn(
    const chat *c, int last, const char *user, size_t bytes, size_t *count,
    wb_error *err);

#endif
