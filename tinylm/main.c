/* main.c - tinylm train|eval|generate: the command line. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

int complain(const wb_error *err)
{
    fprintf(stderr, "tinylm: %s\n", err->text);
    return 1;
}

char *read_text(const char *path, size_t *bytes, wb_error *err)
{
    char *text = file_read(path, (size_t)1 << 31, bytes, err);
    if (!text || *bytes > 0) return text;
    free(text);
    error_set(err, "%s: is empty: give a text file", path);
    return NULL;
}

size_t held_out_start(size_t n)
{
    return (size_t)(0.9 * (double)n);
}

static const struct {
    const char *name;
    int use;
    const char *help;
} commands[] = {
    {"train", FOR_TRAIN, "learn from a text"},
    {"eval", FOR_EVAL, "mean loss of a checkpoint over the held-out tenth of a text"},
    {"generate", FOR_GENERATE, "write a text with a checkpoint"},
};

static int help(const char *command)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (command && strcmp(command, commands[i].name) != 0) continue;
        printf("tinylm %-9s %s\n", commands[i].name, commands[i].help);
        if (command) options_help(commands[i].use);
    }
    if (!command) printf("tinylm COMMAND --help lists its options\n");
    return 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "--help";
    if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0) return help(NULL);
    int use = 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(command, commands[i].name) == 0) use = commands[i].use;
    if (!use) {
        fprintf(
            stderr, "tinylm: no command '%s': there are train, eval and generate\n",
            command);
        return 1;
    }
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help(command);
    if (use == FOR_TRAIN) return train_main(argc - 2, argv + 2);

    static options o;
    wb_error err;
    options_default(&o);
    if (options_flags(&o, argc - 2, argv + 2, use, &err)) return complain(&err);
    return use == FOR_EVAL ? eval_main(&o) : generate_main(&o);
}
