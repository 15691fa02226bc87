/* main.c - recurrentgemma: continues texts with a RecurrentGemma model, through
 * recurrentgemma.h alone. */
#include "session.h"
#include "stop.h"
#include "version.h"

#include <stdio.h>

static int complain(const wb_error *err, int status)
{
    fprintf(stderr, "recurrentgemma: %s\n", err->text);
    return status;
}

// What --help and --version print; -1: the options have neither.
static int say(int argc, char **argv)
{
    bool help = options_ask(argc, argv, "--help") || options_ask(argc, argv, "-h");
    bool version = options_ask(argc, argv, "--version");
    if (!help && !version) return -1;
    if (help)
        options_help();
    else
        printf("recurrentgemma %s\n", WARPBOOK_VERSION);
    if (fflush(stdout) == 0 && !ferror(stdout)) return 0;
    fprintf(stderr, "recurrentgemma: stdout: cannot write\n");
    return 1;
}

int main(int argc, char **argv)
{
    int said = say(argc - 1, argv + 1);
    if (said >= 0) return said;
    options o;
    wb_error err;
    if (options_parse(&o, argc - 1, argv + 1, &err)) return complain(&err, 2);
    stop_catch();
    session s = {.o = &o};
    int rc = o.bench        ? bench(&s, &err)
             : o.chat       ? talk(&s, &err)
             : o.perplexity ? perplexity(&s, &err)
                            : generate(&s, &err);
    if (rc) complain(&err, 1);
    if (!rc) session_summary(&s);
    session_close(&s);
    if (rc) return 1;
    return stop_signal() ? 128 + stop_signal() : 0;
}
