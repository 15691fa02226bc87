// aborts.cu - aborts.
// fails: basic
// says: abort
#include <stdlib.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    abort();
}
