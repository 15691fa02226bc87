// other_stream.cu - launches on a stream of its own and returns at once.
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
