// kernel_spins.cu - an endless loop in the kernel.
// fails: basic
// says: no answer within
// scale: 0.2
#include "forward.h"

static __global__ void spin()
{
    for (volatile unsigned i = 0;; i++)
        continue;
}

FORWARD
{
    RIGHT;
    spin<<<1, 32, 0, stream>>>();
    return wb_launched();
}
