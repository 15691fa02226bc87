// floods.cu - prints forever.
// fails: basic
// says: printed more than
// scale: 0.2
#include <stdio.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    for (;;)
        printf("row after row after row after row after row after row after row\n");
}
