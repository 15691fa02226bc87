/* wb_error.h - an error message of one line. Standard C and C++ only. */
#ifndef WB_ERROR_H
#define WB_ERROR_H

typedef struct wb_error {
    char text[1024]; /* one line, no newline */
} wb_error;

#ifdef __cplusplus
extern "C" {
#endif
/* Formats the message, truncated to the buffer, with control characters replaced by
 * spaces. err may be NULL. Returns -1. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
int error_set(wb_error *err, const char *format, ...);
#ifdef __cplusplus
}
#endif
#endif
