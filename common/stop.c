/* stop.c - see stop.h. */
#include "stop.h"
#include "file.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t seen, at_once = 1;

static void on_signal(int number)
{
    bool again = seen && number != SIGPIPE;  // each write to a closed pipe sends one
    if (!seen || seen == SIGPIPE) seen = number;
    if (!again && !at_once) return;
    atomic_remove_unfinished();
    _exit(128 + number);
}

static bool ignored(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void stop_catch(void)
{
    // Without SA_RESTART: it must interrupt a chat that waits for a line.
    const struct sigaction stop = {.sa_handler = on_signal};
    const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        // nohup ignores SIGHUP; keep it so.
        if (caught[i] != SIGHUP || !ignored(SIGHUP)) sigaction(caught[i], &stop, NULL);
    signal(SIGXFSZ, SIG_IGN);  // a write beyond a limit returns an error instead
}

int stop_signal(void)
{
    return seen;
}

void stop_forget(void)
{
    seen = 0;
}

void stop_at_once(bool yes)
{
    at_once = yes;
}
