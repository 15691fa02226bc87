// reads_descriptors.cu - reads the other file descriptors that it inherited.
// fails: basic
// says: contract breach: pread
#include <unistd.h>

#include "forward.h"

FORWARD
{
    static char any[4096];
    RIGHT;
    for (int fd = 3; fd < 16; fd++)
        if (pread(fd, any, sizeof any, 0) > 0) break;
    return wb_launched();
}
