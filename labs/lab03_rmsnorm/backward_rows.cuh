/* backward_rows.cuh - lab 03, part 03.5: dx and the partial sums of dw in one pass. */
#ifndef BACKWARD_ROWS_CUH
#define BACKWARD_ROWS_CUH
#include "cuda/fold.cuh"
#include "cuda/mma.cuh"  // cp_async
#include "cuda/pdl.cuh"
#include "row_sum.cuh"

/* TODO(03.5): dx and dw each read dout and x. Let one kernel compute both: a block keeps
 * its part of dw in registers over all of its rows. The guide, "Structure", lists the
 * steps; these are 4 and 5. About 14 lines each. */
#endif
