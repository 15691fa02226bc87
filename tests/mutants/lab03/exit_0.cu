// exit_0.cu - ends the process as if everything were correct.
// fails: basic
// says: contract breach: exit
#include <stdlib.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    exit(0);
}
