/* options.c - the command line. */
#include "options.h"

#include "build.h"
#include "generate.h"
#include "report.h"
#include "util.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "./grade                      shows the progress board\n"
    "./grade LAB                  grades a built lab: make lab03 && ./grade lab03\n"
    "  -k PATTERN                 only the case with this name; if there is none, those\n"
    "                             whose name contains or matches PATTERN, or whose part\n"
    "                             is PATTERN; separate several patterns with commas\n"
    "  --watch                    builds and grades again whenever you save a file, and\n"
    "                             shows the first case that fails; keys for hints\n"
    "  --stop                     stops at the first case that fails\n"
    "  --first                    only the first variant of each case, in half the time;\n"
    "                             a pass is not recorded\n"
    "  --seed S                   uses other random data (default 0x5eed; a new one for\n"
    "                             each run if the source is from elsewhere: FILE=)\n"
    "  --data DIR                 the data in DIR, written by reference/dump.py --seed S\n"
    "  --list                     lists the cases, with points and what each catches\n"
    "  --hint [PART] [N]          prints the next hint, or hint N, for this part (03.2);\n"
    "                             without PART, for the first part that is not passed\n"
    "  --quiz [PART]              asks three questions for each part, or for this one,\n"
    "                             without points\n"
    "  --gdb                      with -k CASE: opens gdb at your kernels, on the first\n"
    "                             call of that case (CPU back end)\n"
    "  --json FILE                also writes the results for other programs: tools/export\n"
    "                             converts them to JUnit, CSV and other formats\n"
    "  --timeout-scale X          multiplies the time limits: 10 s of CPU time and 30 s\n"
    "                             per case, 300 s in all; the default is the\n"
    "                             environment's TIMEOUT_SCALE, or 1\n"
    "  --check                    also prints the whole report of check mode: counts per\n"
    "                             line, docs/check.md\n"
    "  --html FILE                writes that report as a page\n"
    "  --save DIR                 writes the outputs to DIR/LAB.CASE.safetensors, for\n"
    "                             tools/compare_backends.py\n"
    "  --under \"COMMAND...\"       runs the lab under a sanitizer, for example\n"
    "                             \"compute-sanitizer --tool racecheck\": without the\n"
    "                             sandbox and with 20 times the time. Its errors make\n"
    "                             the grade fail; a pass is not recorded\n"
    "  --no-sandbox               grades a source that is not part of the workbook\n"
    "                             even if the sandbox is incomplete, or with --under\n"
    "BACKEND=cpu|cuda or BUILD=folder in front of it selects the build to grade.\n"
    "Exit code: 0 full score, 1 less, 2 not built, 3 crashed, 4 timed out, 5 the\n"
    "exercise itself is broken\n";

static const char *value_of(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc)
        fatal(EXIT_NOT_BUILT, "%s needs a value; see ./grade --help", argv[*i]);
    return argv[++*i];
}

static void read_number(const char *flag, const char *text, uint64_t *seed, double *scale)
{
    char *end = NULL;
    bool good;
    if (seed) {
        *seed = strtoull(text, &end, 0);
        good = isdigit((unsigned char)*text) && !*end && *seed <= INT64_MAX;
    } else {
        *scale = strtod(text, &end);
        good = end != text && !*end && *scale > 0 && *scale <= 1000;
    }
    if (!good)
        fatal(
            EXIT_NOT_BUILT, "%s %s: expected %s", flag, text,
            seed ? "a whole number from 0 to 2^63 - 1"
                 : "a number above 0, at most 1000");
}

/* The sandbox and its limits refuse what AddressSanitizer does when a program starts,
 * so the lab runs under `env`, outside of them. */
#ifdef __SANITIZE_ADDRESS__
static void choose_sanitizer(struct options *o)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 0); /* of the lab's program */
    if (o->lab && !o->under) o->under = "env";
}
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0"; /* the grader does not free everything at its end */
}
#else
static void choose_sanitizer(struct options *o)
{
    (void)o;
}
#endif

struct options read_options(int argc, char **argv)
{
    struct options o = {.folder = "build/cpu", .seed = DEFAULT_SEED, .timeout_scale = 1};
    const char *scale = getenv("TIMEOUT_SCALE");
    if (scale && *scale) read_number("TIMEOUT_SCALE", scale, NULL, &o.timeout_scale);
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (!strcmp(a, "--build"))
            o.folder = value_of(argc, argv, &i);
        else if (!strcmp(a, "-k"))
            o.pattern = value_of(argc, argv, &i);
        else if (!strcmp(a, "--json"))
            o.json = value_of(argc, argv, &i);
        else if (!strcmp(a, "--data"))
            o.data = value_of(argc, argv, &i);
        else if (!strcmp(a, "--html"))
            o.html = value_of(argc, argv, &i);
        else if (!strcmp(a, "--first"))
            o.first = true;
        else if (!strcmp(a, "--stop"))
            o.stop = true;
        else if (!strcmp(a, "--check"))
            o.check = true;
        else if (!strcmp(a, "--save"))
            o.save = value_of(argc, argv, &i);
        else if (!strcmp(a, "--record"))
            o.record = value_of(argc, argv, &i);
        else if (!strcmp(a, "--under"))
            o.under = value_of(argc, argv, &i);
        else if (!strcmp(a, "--list"))
            o.list = true;
        else if (!strcmp(a, "--no-sandbox"))
            o.no_sandbox = true;
        else if (!strcmp(a, "--seed")) {
            read_number(a, value_of(argc, argv, &i), &o.seed, NULL);
            o.seed_given = true;
        } else if (!strcmp(a, "--timeout-scale"))
            read_number(a, value_of(argc, argv, &i), NULL, &o.timeout_scale);
        else if (!strcmp(a, "--hint")) {
            o.hint = true;
            const char *next = i + 1 < argc ? argv[i + 1] : "";
            if (isdigit((unsigned char)*next) && strchr(next, '.')) {
                o.hint_part = argv[++i];
                next = i + 1 < argc ? argv[i + 1] : "";
            }
            if (isdigit((unsigned char)*next)) o.hint_level = atoi(argv[++i]);
        } else if (!strcmp(a, "--help") || !strcmp(a, "-h")) {
            fputs(usage, stdout);
            report_flush();
            exit(0);
        } else if (*a == '-')
            fatal(EXIT_NOT_BUILT, "unknown option %s; see ./grade --help", a);
        else if (o.lab)
            fatal(EXIT_NOT_BUILT, "%s and %s: grade one lab at a time", o.lab, a);
        else
            o.lab = a;
    }
    if (o.data && !o.seed_given)
        fatal(EXIT_NOT_BUILT, "--data needs the seed of the data: --seed S");
    if (!o.lab && (o.pattern || o.list || o.hint || o.json || o.seed_given || o.under ||
                   o.save || o.record || o.check || o.html || o.first || o.stop))
        fatal(EXIT_NOT_BUILT, "name the lab: ./grade lab03 ...");
    choose_sanitizer(&o);
    return o;
}
