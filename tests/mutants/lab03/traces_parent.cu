// traces_parent.cu - attaches to the grader as a debugger would.
// fails: basic
// says: contract breach: ptrace
#include <sys/ptrace.h>
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
    return wb_launched();
}
