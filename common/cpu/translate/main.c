/* main.c - translates CUDA source to C++17 for the CPU back end:
 *
 *     translate FILE.cu OUTDIR [-I DIR]... [-d OBJECT] [--check] [--module]
 *         [--relaxed-constexpr]
 *
 * writes OUTDIR/FILE.cu.cpp. The local headers that contain CUDA syntax, or include such a
 * header, become OUTDIR/FILE.cu.1.h, FILE.cu.2.h, ...; the #include lines name those.
 * Only the name FILE.cu decides which files are written. The name in an #include line,
 * which may have folders, `..` or an absolute path, decides only which file is read. The
 * compiler finds all other headers where they are. With -d, the file
 * OUTDIR/FILE.cu.headers.d tells make that OBJECT depends on the headers.
 *
 * --check translates for check mode: loops over a warp stay as they are, because each
 * shuffle is counted, and the variables of the host are listed. --module translates for a
 * library that cuModuleLoad loads. --relaxed-constexpr: device code may call constexpr
 * functions of the host (nvcc's --expt-relaxed-constexpr).
 *
 * After an error nothing is left: neither these files nor those of an earlier run.
 *
 * The translator runs before the preprocessor, so a macro can contain a launch. */
#include "blocks.h"
#include "headers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *cpp, *dependencies;
static int done;

static void remove_outputs(void)
{
    if (done) return;
    unlink(cpp);
    unlink(dependencies);
    remove_translations();
}

static int make_folder(const char *path) /* and its parents */
{
    char *copy = format("%s/", path);
    int ok = 1;
    for (char *slash = copy + 1; ok && (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
        if (!ok) fail_in(copy, 0, "the folder cannot be made: %s", strerror(errno));
        *slash = '/';
    }
    free(copy);
    return ok;
}

static int usage(void)
{
    fprintf(
        stderr, "usage: translate FILE.cu OUTDIR [-I DIR]... [-d OBJECT] [--check] "
                "[--module] [--relaxed-constexpr]\n");
    return 2;
}

static void translate(const char *input, const char *object)
{
    struct source s;
    if (read_source(&s, input, NULL, 0)) {
        translate_headers(&s);
        if (!given_up) check_spaces(&s);
        if (!given_up) find_functions(&s);
        rewrite(&s);
        if (check_mode) list_variables(&s);
        if (!errors) write_source(&s, cpp);
        if (!errors) write_missing_headers();
        if (!errors && object) write_dependencies(dependencies, object, input);
    }
    free_source(&s);
}

int main(int argc, char **argv)
{
    const char *input = NULL, *object = NULL, *outdir = NULL;
    for (int i = 1; i < argc; i++) {
        int more = i + 1 < argc;
        if (strcmp(argv[i], "--check") == 0)
            check_mode = 1;
        else if (strcmp(argv[i], "--module") == 0)
            module_mode = 1;
        else if (strcmp(argv[i], "--relaxed-constexpr") == 0)
            relaxed_constexpr = 1;
        else if (strcmp(argv[i], "-d") == 0 && more)
            object = argv[++i], for_make = 1;
        else if (strcmp(argv[i], "-I") == 0 && more)
            add_include_dir(argv[++i]);
        else if (strncmp(argv[i], "-I", 2) == 0 && argv[i][2])
            add_include_dir(argv[i] + 2);
        else if (*argv[i] == '-' || outdir)
            return usage();
        else
            *(input ? &outdir : &input) = argv[i];
    }
    if (!outdir) return usage();
    signal(SIGXFSZ, SIG_IGN); /* a limit of the file size is an error like a full disk */
    const char *base = strrchr(input, '/') ? strrchr(input, '/') + 1 : input;
    set_output(outdir, base);
    cpp = format("%s/%s.cpp", outdir, base);
    dependencies = format("%s/%s.headers.d", outdir, base);
    atexit(remove_outputs);
    if (!is_usable_name(base)) {
        fail_in(
            input, 0,
            "a source's name has letters, digits, _ - . + , @ ~ only: rename it");
        return 1;
    }
    if (!make_folder(outdir)) return 1;
    remove_outputs();
    translate(input, object);
    done = errors == 0;
    return !done;
}
