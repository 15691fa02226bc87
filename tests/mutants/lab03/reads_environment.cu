// reads_environment.cu - looks in the environment for the path of the expected tensors.
// fails: basic
// says: contract breach: getenv
#include <stdlib.h>

#include "forward.h"

FORWARD
{
    if (getenv("WB_WANT")) return WB_OK;
    RIGHT;
    return wb_launched();
}
