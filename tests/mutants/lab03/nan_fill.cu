// nan_fill.cu - every output is NaN. It compares as false: a careless judge accepts it.
// fails: basic
// says: pattern: always NaN
#include "forward.h"

FILL_KERNEL(__int_as_float(0x7fc00000))

FORWARD
{
    (void)eps, (void)offset;
    FILL;
    return wb_launched();
}
