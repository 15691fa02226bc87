// copies_to_host.cu - calls cudaMemcpy and waits for it: launchers only enqueue.
// fails: basic
// says: contract breach: cudaMemcpy
#include "forward.h"

FORWARD
{
    float first;
    RIGHT;
    cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
    return wb_launched();
}
