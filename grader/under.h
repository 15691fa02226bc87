/* under.h - a command that the lab's program runs under: ./grade LAB --under COMMAND. */
#ifndef UNDER_H
#define UNDER_H
#include <stdbool.h>
#include <stddef.h>

struct under;
/* The command is split at spaces and put before the program's name. */
struct under *under_new(const char *command, const char *program);
void under_free(struct under *u); /* NULL is fine */
/* For the forked child: becomes the command. Returns only on failure: -1, errno, step. */
int under_exec(const struct under *u, const char **step);
void under_heard(
    struct under *u, const char *part, size_t bytes); /* more of its output */
/* One run is over, with this wait status. stopped: the grader had to end it. */
void under_ended(struct under *u, int status, bool stopped);
/* The program did not answer: fatal, with what was printed. */
_Noreturn void under_failed(struct under *u, const char *why);
/* Prints the summary lines, or everything if something is wrong. true: clean. */
bool under_report(struct under *u);

#endif
