// sleeps.cu - never returns.
// unscanned: yes
// fails: basic
// says: no answer within 6 s: stopped
// scale: 0.2
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    for (;;)
        pause();
}
