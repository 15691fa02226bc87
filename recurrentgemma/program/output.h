/* output.h - stdout: text as it comes, or token ids. */
#ifndef OUTPUT_H
#define OUTPUT_H
#include "text/text.h"

/* Writes every byte, or returns -1: on a full disk, for example. A closed pipe is not an
 * error but a signal (see stop.h), after which nothing is written. */
int output_write(const char *data, size_t bytes, wb_error *err);

/* The tokens of one sequence, piece by piece. */
typedef struct writer {
    text_stream *stream; /* NULL: ids */
    bool any;            /* the line has an id */
} writer;

/* codec NULL: ids, separated by spaces. */
int writer_begin(writer *w, const text_codec *codec, wb_error *err);
int writer_add(writer *w, const int *ids, int count, wb_error *err);
/* The rest of a broken character, and a newline. */
int writer_end(writer *w, wb_error *err);

#endif
