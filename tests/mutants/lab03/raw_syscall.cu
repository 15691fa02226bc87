// raw_syscall.cu - ends the process by a system call number, without the library.
// fails: basic
// says: contract breach: syscall
#include <sys/syscall.h>
#include <unistd.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    syscall(SYS_exit_group, 0);
    return wb_launched();
}
