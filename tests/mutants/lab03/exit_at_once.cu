// exit_at_once.cu - ends the process without running exit handlers.
// fails: basic
// says: contract breach: _exit
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    _exit(0);
}
