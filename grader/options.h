/* options.h - the command line of the program that ./grade starts. */
#ifndef OPTIONS_H
#define OPTIONS_H
#include <stdbool.h>
#include <stdint.h>

struct options {
    const char *folder, *lab, *pattern, *hint_part, *json, *data, *html, *under, *save,
        *record;
    uint64_t seed;
    double timeout_scale;
    bool seed_given, no_sandbox, first, stop, check, list, hint;
    int hint_level;
};

/* Ends the program with one line if an option is unknown or lacks its value, and after
 * --help. */
struct options read_options(int argc, char **argv);

#endif
