// other_stream.cu - launches on its own stream and returns immediately.
// fails: basic
// says: contract breach: cudaStreamCreate
#include "forward.h"

FORWARD
{
    static cudaStream_t mine;
    if (!mine) cudaStreamCreate(&mine);
    stream = mine;
    RIGHT;
    return wb_launched();
}
