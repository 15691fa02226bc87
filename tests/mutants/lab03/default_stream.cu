// default_stream.cu - launches on the default stream, not on the one passed.
// fails: basic
// says: work on a stream other than the one passed?
#include "forward.h"

FORWARD
{
    stream = NULL;
    RIGHT;
    return wb_launched();
}
