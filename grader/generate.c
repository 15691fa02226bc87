/* generate.c - runs the Python reference, which makes inputs and expected values. */
#define _GNU_SOURCE
#include "generate.h"

#include "file.h"
#include "private.h"
#include "sha256.h"
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The same references, cases, seed and selection give the same data. */
static void data_key(const struct lab *lab, const struct wanted_data *w, char key[65])
{
    struct sha256 sum;
    glob_t files;
    char hex[65];
    char *cases = text_of("%s/cases", lab->folder);
    char *rest = text_of(
        "%s %#llx %s%s", lab->name, (unsigned long long)w->seed,
        w->pattern ? w->pattern : "", w->first ? " first" : "");
    sha256_start(&sum);
    glob("reference/*.py", 0, NULL, &files);
    glob(cases, GLOB_APPEND, NULL, &files);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        if (sha256_file(files.gl_pathv[i], hex) != 0)
            fatal(EXIT_BROKEN, "cannot read %s: %s", files.gl_pathv[i], strerror(errno));
        sha256_add(&sum, files.gl_pathv[i], strlen(files.gl_pathv[i]) + 1);
        sha256_add(&sum, hex, 64);
    }
    sha256_add(&sum, rest, strlen(rest));
    sha256_hex(&sum, key);
    globfree(&files);
    free(cases);
    free(rest);
}

/* Runs the reference to its end. NULL, or the last line that it printed; free() it. */
static char *run_reference(char *const argv[])
{
    int out[2];
    char said[4096] = "";
    size_t n = 0;
    int status;
    if (pipe2(out, O_CLOEXEC) != 0) fatal(EXIT_BROKEN, "pipe: %s", strerror(errno));
    pid_t parent = getpid(), pid = fork();
    if (pid < 0) fatal(EXIT_BROKEN, "fork: %s", strerror(errno));
    if (pid == 0) {
        prctl(
            PR_SET_PDEATHSIG, SIGKILL); /* it must not write after the grader has ended */
        if (getppid() != parent) _exit(127);
        dup2(out[1], 1);
        dup2(out[1], 2);
        execvp(argv[0], argv);
        printf("cannot run %s: %s (run `make setup`)\n", argv[0], strerror(errno));
        fflush(stdout);
        _exit(127);
    }
    private_writer(pid);
    close(out[1]);
    for (ssize_t got; (got = read(out[0], said + n, sizeof said - 1 - n)) > 0;) {
        n += (size_t)got;
        if (n < sizeof said / 2) continue; /* only the end matters */
        memmove(said, said + n / 2, n - n / 2);
        n -= n / 2;
    }
    said[n] = 0;
    close(out[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    private_writer(0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return NULL;
    while (n && said[n - 1] == '\n')
        said[--n] = 0;
    char *last = strrchr(said, '\n');
    return text_of("%s", last ? last + 1 : said);
}

/* Removes data older than an hour; another ./grade may still be reading newer data. */
static void remove_old(const struct lab *lab, const char *kind)
{
    struct stat st;
    glob_t old;
    char *pattern = text_of("build/data/%s/%s-*", lab->name, kind);
    if (glob(pattern, 0, NULL, &old) == 0) {
        for (size_t i = 0; i < old.gl_pathc; i++)
            if (stat(old.gl_pathv[i], &st) == 0 && time(NULL) - st.st_mtime > 3600)
                remove_all(AT_FDCWD, old.gl_pathv[i]);
        globfree(&old);
    }
    free(pattern);
}

/* The data of one seed, in a new folder. NULL, or why the reference refused. */
static char *
make_data(const struct lab *lab, const struct wanted_data *w, const char *folder)
{
    const char *python = getenv("PYTHON") ? getenv("PYTHON") : "build/host/python";
    char number[32];
    snprintf(number, sizeof number, "%#llx", (unsigned long long)w->seed);
    const char *argv[12] = {
        python, "reference/dump.py", lab->name, "--seed", number, "--out", folder};
    int n = 7;
    if (w->first) argv[n++] = "--first";
    if (w->pattern) argv[n++] = "-k", argv[n++] = w->pattern;
    return run_reference((char *const *)argv);
}

static uint64_t random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        fatal(EXIT_BROKEN, "cannot get random numbers: %s", strerror(errno));
    return seed >> 16; /* 48 bits: short enough to type */
}

/* For code that must not know its data: in a folder that is removed when we end. The
 * reference checks its data, and may refuse a seed by chance. */
static char *private_data(const struct lab *lab, struct wanted_data *w)
{
    char *why = NULL, *folder = text_of("%s/data", private_folder());
    for (int tries = 0; tries < (w->random ? 5 : 1); tries++) {
        free(why);
        if (w->random) w->seed = random_seed();
        remove_all(AT_FDCWD, folder);
        why = make_data(lab, w, folder);
        if (!why) return folder;
    }
    fatal(EXIT_BROKEN, "the reference failed: %s", why);
}

char *data_folder(const struct lab *lab, struct wanted_data *w)
{
    char key[65];
    wb_error err;
    bool custom = w->seed != DEFAULT_SEED;
    const char *kind = custom ? "seed" : "default";
    if (w->folder) return text_of("%s", w->folder);
    if (w->random || (w->private && custom)) return private_data(lab, w);
    if (!custom) w->pattern = NULL, w->first = false; /* the whole lab, once */
    data_key(lab, w, key);
    char *parent = text_of("build/data/%s", lab->name);
    char *folder = text_of("%s/%s-%.16s", parent, kind, key);
    char *making = text_of("%s.%d", folder, (int)getpid());
    if (access(folder, R_OK) != 0) {
        if (!custom)
            printf("generating the test data of %s (only once)\n", lab->name),
                fflush(stdout);
        if (folder_make(parent, &err) != 0) fatal(EXIT_BROKEN, "%s", err.text);
        remove_old(lab, kind);
        char *why = make_data(lab, w, making);
        if (why) fatal(EXIT_BROKEN, "the reference failed: %s", why);
        /* rename: complete or not at all; another ./grade may have been faster */
        if (rename(making, folder) != 0) {
            if (access(folder, R_OK) != 0)
                fatal(EXIT_BROKEN, "cannot write %s: %s", folder, strerror(errno));
            remove_all(AT_FDCWD, making);
        }
    }
    free(making);
    free(parent);
    return folder;
}
