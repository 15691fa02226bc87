/* sandboxed.c - runs a program in the grader's sandbox and prints how it ended.
 *     sandboxed [--device] [--memory BYTES] PROGRAM ARGUMENT...
 *     sandboxed --describe
 * It leaves two open descriptors and an environment variable, which the program must not
 * find. */
#include "../../grader/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sandbox box = {.last_fd = 2};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--device") == 0) box.device = 1;
        if (strcmp(argv[i], "--memory") == 0) box.memory = strtoull(argv[++i], NULL, 10);
        if (strcmp(argv[i], "--describe") == 0) return puts(sandbox_describe()) < 0;
    }
    if (i >= argc) return 2;
    box.program = argv[i];
    setenv("EXPECTED", "in the environment", 1);
    int leaked = open(argv[0], O_RDONLY); /* inherited unless closed */
    if (leaked < 0 || dup2(leaked, 77) < 0) return 2;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        char *no_environment[] = {NULL};
        const char *step = "";
        sandbox_exec(&box, argv + i, no_environment, &step);
        fprintf(stderr, "sandboxed: cannot %s: %s\n", step, strerror(errno));
        _exit(126);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return 2;
    if (WIFSIGNALED(status)) return printf("ended by signal %d\n", WTERMSIG(status)) < 0;
    return WEXITSTATUS(status);
}
