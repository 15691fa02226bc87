/* main.c - tinylm train|eval|generate: the command line. */
#include "commands.h"
#include "version.h"

#include <string.h>

static const struct {
    const char *name;
    int use;
    const char *help;
} commands[] = {
    {"train", FOR_TRAIN, "train a model on a text"},
    {"eval", FOR_EVAL, "validation loss of a checkpoint: over the last tenth of a text"},
    {"generate", FOR_GENERATE, "continue a text with a checkpoint"},
};

static int help(const char *command)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (command && strcmp(command, commands[i].name) != 0) continue;
        printf("tinylm %-9s %s\n", commands[i].name, commands[i].help);
        if (command) options_help(commands[i].use);
    }
    if (!command)
        printf("tinylm COMMAND --help lists its options; --version prints the version\n");
    return 0;
}

static int run(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "--help";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) return help(NULL);
    if (strcmp(command, "--version") == 0)
        return printf("tinylm %s\n", WARPBOOK_VERSION) < 0;
    int use = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(command, commands[i].name) == 0) use = commands[i].use;
    if (!use) {
        fprintf(
            stderr, "tinylm: no command '%s': use train, eval or generate\n", command);
        return WRONG_OPTION;
    }
    argc -= 2, argv += 2;
    if (options_ask(argc, argv, use, "--help") || options_ask(argc, argv, use, "-h"))
        return help(command);
    if (use == FOR_TRAIN) return train_main(argc, argv);

    static options o;
    wb_error err;
    options_default(&o);
    if (options_flags(&o, argc, argv, use, &err)) return complain(&err, WRONG_OPTION);
    return use == FOR_EVAL ? eval_main(&o) : generate_main(&o);
}

int main(int argc, char **argv)
{
    wb_error err;
    int status = run(argc, argv);
    if (!status && flush_output(&err)) return complain(&err, FAILED);
    return status;
}
