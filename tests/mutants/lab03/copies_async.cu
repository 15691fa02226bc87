// copies_async.cu - copies x to the host, to compute there.
// fails: basic
// says: leave results on the device
// only: cpu
#include "forward.h"

FORWARD
{
    static float mine[1 << 16];
    cudaMemcpyAsync(mine, x, (size_t)R * C * sizeof *x, cudaMemcpyDeviceToHost, stream);
    RIGHT;
    return wb_launched();
}
