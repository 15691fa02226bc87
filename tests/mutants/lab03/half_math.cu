// half_math.cu - computes in half precision where float is required.
// fails: basic
// says: the values have only the digits of f16
#include "forward.h"

FILL_KERNEL(__half2float(__float2half(out[i])))

FORWARD
{
    RIGHT;
    fill<<<R, 1, 0, stream>>>(out, NULL, x, w, C);
    return wb_launched();
}
