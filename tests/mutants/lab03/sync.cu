// sync.cu - waits for the GPU: launchers only enqueue.
// fails: basic
// says: contract breach: cudaDeviceSynchronize
#include "forward.h"

FORWARD
{
    RIGHT;
    cudaDeviceSynchronize();
    return wb_launched();
}
