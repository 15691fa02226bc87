// eats_memory.cu - allocates memory forever.
// fails: basic
// scale: 0.2
#include <stdlib.h>
#include <string.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    for (;;) {
        char *p = (char *)malloc(64 << 20);
        if (!p) abort();
        memset(p, 1, 64 << 20);
    }
}
