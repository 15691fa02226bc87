// kills_parent.cu - kills who grades it.
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
