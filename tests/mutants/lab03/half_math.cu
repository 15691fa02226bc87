// half_math.cu - works in half precision throughout, where float is asked.
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
