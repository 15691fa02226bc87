/* sample_parts.cuh - room for kernels that share a row of many entries between blocks.
 * The solution's stand here; a pass needs none.
 */
#ifndef SAMPLE_PARTS_CUH
#define SAMPLE_PARTS_CUH
#include "sample.cuh"

/* TODO(07.6): nothing, if one block per row is fast enough for you. */
#endif
