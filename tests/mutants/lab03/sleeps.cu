// sleeps.cu - never returns.
// unscanned: yes
// fails: basic
// says: no answer within
// scale: 0.2
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    for (;;)
        pause();
}
