/* output.h - what goes to stdout: text as it comes, or token ids. */
#ifndef OUTPUT_H
#define OUTPUT_H
#include "text/text.h"

/* Every byte, or -1: a full disk, for example. A pipe that nobody reads any more is no error
 * but a stop (see stop.h), after which nothing is written. */
int output_write(const char *data, size_t bytes, wb_error *err);

/* One row's tokens, piece by piece. */
typedef struct writer {
    text_stream *stream; /* NULL: ids */
    bool any;            /* an id stands on the line */
} writer;

/* codec NULL: ids, apart by spaces. */
int writer_begin(writer *w, const text_codec *codec, wb_error *err);
int writer_add(writer *w, const int *ids, int count, wb_error *err);
/* What is left of a broken character, and a newline. */
int writer_end(writer *w, wb_error *err);

#endif
