// detached_child.cu - a child in its own session writes to all descriptors later.
// fails: basic
// says: contract breach: fork
// says: contract breach: setsid
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    if (fork() == 0) {
        setsid();
        sleep(1);
        for (int fd = 1; fd < 16; fd++)
            if (write(fd, "passed", 6) < 0) continue;
        _exit(0);
    }
    return wb_launched();
}
