// reads_proc.cu - looks for the expected tensors through /proc.
// fails: basic
// says: contract breach: open
#include <fcntl.h>
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    int fd = open("/proc/self/fd/4", O_RDONLY);
    if (fd >= 0) close(fd);
    return wb_launched();
}
