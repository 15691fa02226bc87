// kills_parent.cu - kills the grader.
// fails: basic
// says: contract breach: kill
#include <signal.h>
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    kill(getppid(), SIGKILL);
    return wb_launched();
}
