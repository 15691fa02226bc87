/* stop_text.h - --stop: the output ends just before the first stop text in it, even if that
 * is split across tokens. Bytes that may begin a stop text are held back.
 *
 *     stop_text s = {.texts = &options.stop};
 *     const char *out = stop_text_add(&s, piece, bytes, &n);   // write n bytes
 *     ...
 *     const char *rest = stop_text_end(&s, &n);                // and these, at the end
 *     stop_text_free(&s);
 *
 * If several stop texts end at the same byte, the longest is removed. */
#ifndef STOP_TEXT_H
#define STOP_TEXT_H
#include "flags.h"

typedef struct stop_text {
    const flag_list *texts; /* none of them is empty */
    bool found;             /* all that follows gives nothing */
    char *text;             /* what the last call gave, then the bytes held back */
    size_t given, held;
} stop_text;

/* The bytes that are final now, valid until the next call. NULL: no memory. */
const char *stop_text_add(stop_text *s, const char *piece, size_t bytes, size_t *out);
/* The bytes held back: the text has ended otherwise. */
const char *stop_text_end(stop_text *s, size_t *out);
void stop_text_free(stop_text *s);

#endif
