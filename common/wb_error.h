/* wb_error.h - what went wrong, as one sentence. Nothing but standard C and C++. */
#ifndef WB_ERROR_H
#define WB_ERROR_H

typedef struct wb_error {
    char text[1024]; /* one line, no newline */
} wb_error;

#ifdef __cplusplus
extern "C" {
#endif
/* Writes the sentence, cut at the end of the buffer, control characters as spaces; err may
 * be NULL. Returns -1. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
int error_set(wb_error *err, const char *format, ...);
#ifdef __cplusplus
}
#endif
#endif
