// exit_0.cu - ends the process as if all were well.
// fails: basic
// says: contract breach: exit
#include <stdlib.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    exit(0);
}
