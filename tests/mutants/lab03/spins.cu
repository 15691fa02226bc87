// spins.cu - an endless loop on the host.
// fails: basic
// says: no answer within
// scale: 0.2
#include "forward.h"

FORWARD
{
    RIGHT;
    for (volatile unsigned i = 0;; i++)
        continue;
}
