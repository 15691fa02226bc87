// constructor_exits.cu - ends the process before main, as if everything were correct.
// fails: basic
// says: it runs outside of main
#include <unistd.h>

#include "forward.h"

__attribute__((constructor)) static void first(void)
{
    _exit(0);
}

FORWARD
{
    RIGHT;
    return wb_launched();
}
