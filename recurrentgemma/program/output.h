/* output.h - stdout: text as it comes, or token ids. */
#ifndef OUTPUT_H
#define OUTPUT_H
#include "stop_text.h"
#include "text/text.h"

/* Writes every byte, or returns -1: on a full disk, for example. A closed pipe is not an
 * error but a signal (see stop.h), after which nothing is written. */
int output_write(const char *data, size_t bytes, wb_error *err);

/* The tokens of one sequence, piece by piece. */
typedef struct writer {
    text_stream *stream; /* NULL: ids */
    stop_text stop;      /* texts NULL: none. Once it is found, nothing is written. */
    bool silent;         /* looks for the stop texts, and writes nothing */
    int count;           /* tokens so far */
} writer;

/* codec NULL: ids, separated by spaces. stops: for a text, may be NULL. */
int writer_begin(
    writer *w, const text_codec *codec, const flag_list *stops, wb_error *err);
int writer_add(writer *w, const int *ids, int count, wb_error *err);
/* The rest of a broken character, and a newline. */
int writer_end(writer *w, wb_error *err);
void writer_free(writer *w); /* after writer_end nothing is left to do */

#endif
