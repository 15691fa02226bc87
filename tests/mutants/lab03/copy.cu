// copy.cu - returns its input.
// fails: basic
// says: equal to the input x
#include "forward.h"

FILL_KERNEL(x[i])

FORWARD
{
    (void)eps, (void)offset;
    FILL;
    return wb_launched();
}
