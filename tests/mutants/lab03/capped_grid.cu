// capped_grid.cu - never more than 65,535 blocks, and no loop over the rows.
// fails: real
// only: cpu
// says: the last element of out is never written
// says: is the grid too small for this size
#include "forward.h"

FORWARD
{
    int blocks = R < 65535 ? R : 65535;
    right<<<blocks, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
