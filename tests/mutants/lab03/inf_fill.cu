// inf_fill.cu - every output is infinity.
// fails: basic
// says: always infinite: an overflow
#include "forward.h"

FILL_KERNEL(__int_as_float(0x7f800000))

FORWARD
{
    (void)eps, (void)offset;
    FILL;
    return wb_launched();
}
