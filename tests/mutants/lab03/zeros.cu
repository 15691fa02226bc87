// zeros.cu - does no work: every output is zero.
// fails: basic
// says: always 0
#include "forward.h"

FILL_KERNEL(0.0f)

FORWARD
{
    (void)eps, (void)offset;
    FILL;
    return wb_launched();
}
