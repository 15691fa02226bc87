// aborts.cu - calls abort.
// fails: basic
// says: abort
#include <stdlib.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    abort();
}
