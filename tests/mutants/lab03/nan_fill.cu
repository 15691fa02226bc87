// nan_fill.cu - NaN everywhere: comparisons with it are false, so a careless judge lets it pass.
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
