// sync.cu - waits for the card: launchers only enqueue.
// fails: basic
// says: contract breach: cudaDeviceSynchronize
#include "forward.h"

FORWARD
{
    RIGHT;
    cudaDeviceSynchronize();
    return wb_launched();
}
