// rounded_grid.cu - the grid is rounded down to whole blocks: only multiples of 32 rows.
// fails: rows
// says: the last 384 elements of the tensor
#include "forward.h"

FORWARD
{
    int rows = R < 32 ? R : R / 32 * 32;
    right<<<rows, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
