/* output.c - see output.h. */
#include "output.h"

#include "stop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int output_write(const char *data, size_t bytes, wb_error *err)
{
    while (bytes > 0 && stop_signal() != SIGPIPE) {
        ssize_t n = write(STDOUT_FILENO, data, bytes);
        if (n < 0 && errno == EPIPE) break;  // the signal came before it
        if (n < 0 && errno != EINTR)
            return error_set(
                err, "stdout: cannot write: %s%s", strerror(errno),
                errno == ENOSPC ? " (free some space, or write elsewhere)" : "");
        if (n > 0) data += n, bytes -= (size_t)n;
    }
    return 0;
}

int writer_begin(
    writer *w, const text_codec *codec, const flag_list *stops, wb_error *err)
{
    *w = (writer){.stream = codec ? text_stream_begin(codec) : NULL};
    if (codec && stops && stops->count) w->stop.texts = stops;
    return codec && !w->stream ? error_set(err, "no memory for the text") : 0;
}

// A piece of the line, up to a stop text.
static int write_piece(writer *w, const char *piece, size_t bytes, wb_error *err)
{
    if (w->stop.texts) piece = stop_text_add(&w->stop, piece, bytes, &bytes);
    if (!piece) return error_set(err, "no memory for the text");
    return w->silent ? 0 : output_write(piece, bytes, err);
}

int writer_add(writer *w, const int *ids, int count, wb_error *err)
{
    char *piece = NULL;
    size_t bytes = 0;
    bool good = true;
    FILE *f = open_memstream(&piece, &bytes);  // one write for all tokens of a call
    if (!f) return error_set(err, "no memory for the text");
    for (int i = 0; i < count; i++) {
        size_t n;
        if (w->stream) {
            const char *text = text_stream_add(w->stream, ids[i], &n);
            if (!text) good = false;
            if (text) fwrite(text, 1, n, f);
        } else {
            fprintf(f, w->count ? " %d" : "%d", ids[i]);
        }
        w->count++;
    }
    if (fclose(f)) good = false;
    int rc = good ? write_piece(w, piece, bytes, err)
                  : error_set(err, "no memory for the text");
    free(piece);
    return rc;
}

void writer_free(writer *w)
{
    text_stream_free(w->stream);
    stop_text_free(&w->stop);
    w->stream = NULL;
}

int writer_end(writer *w, wb_error *err)
{
    int rc = 0;
    size_t bytes = 0;
    if (w->stream) {
        const char *rest = text_stream_end(w->stream, &bytes);
        rc = rest ? write_piece(w, rest, bytes, err)
                  : error_set(err, "no memory for the text");
    }
    const char *held = stop_text_end(&w->stop, &bytes);
    if (!rc && !w->silent) rc = output_write(held, bytes, err);
    writer_free(w);
    return rc || w->silent ? rc : output_write("\n", 1, err);
}
