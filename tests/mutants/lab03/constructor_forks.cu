// constructor_forks.cu - before main, forks; the parent exits.
// fails: basic
// says: contract breach: fork
#include <unistd.h>

#include "forward.h"

__attribute__((constructor)) static void first(void)
{
    if (fork() > 0) _exit(0);
}

FORWARD
{
    RIGHT;
    return wb_launched();
}
