// first_row.cu - computes only the first row.
// fails: basic
// says: rows 1..3: only the first is right
#include "forward.h"

FORWARD
{
    (void)R;
    right<<<1, 1, 0, stream>>>(out, rstd, x, w, C, eps, offset);
    return wb_launched();
}
