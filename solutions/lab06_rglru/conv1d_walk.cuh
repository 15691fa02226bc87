/* conv1d_walk.cuh - part 06.2: what the solution's kernels of both directions share.
 * Helpers of yours for both files can be here.
 */
#ifndef CONV1D_WALK_CUH
#define CONV1D_WALK_CUH
#include "cuda/device.cuh"
#include "cuda/vec.cuh"
#include "rglru_contract.cuh"

// BEGIN SOLUTION 06.2 (nothing in a first version)
//> /* TODO(06.2): nothing, if the kernels share nothing. */

/* A thread owns VEC neighbouring channels and walks through the tokens of a chunk of
 * one row. The taps and the last inputs stay in registers, so each input is loaded
 * once, except the width - 1 tokens before the chunk. Filters of 4 taps, the usual
 * ones, have their own code (WIDTH = 4); all others share one (WIDTH = 0) with room
 * for MAX_WIDTH. */
constexpr int MAX_WIDTH = 8;  // taps

/* taps[s]: of the input s tokens before, for the thread's channels. With WIDTH = 4 they
 * are loaded as four vectors, else one by one. */
template <typename E, int VEC, int WIDTH, int TAPS>
static __device__ void
load_taps(float (&taps)[TAPS][VEC], const E *w, size_t channel, int width)
{
    if constexpr (WIDTH != 0) {
        vec<E, VEC> all[TAPS];
        for (int s = 0; s < TAPS; s++)
            all[s] = load_vec<VEC>(w + channel * TAPS + s * VEC);
        for (int s = 0; s < TAPS; s++)
            for (int j = 0; j < VEC; j++) {
                int at = j * TAPS + TAPS - 1 - s;
                taps[s][j] = (float)all[at / VEC][at % VEC];
            }
    } else {
        for (int s = 0; s < TAPS; s++)
            for (int j = 0; j < VEC; j++)
                taps[s][j] =
                    s < width ? (float)w[(channel + j) * width + width - 1 - s] : 0.0f;
    }
}

/* What a thread works on: tokens first to last-1 of row b, VEC channels from `channel` */
struct chunk {
    size_t b, channel;
    int first, last;
};
// END SOLUTION
#endif
