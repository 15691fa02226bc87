// reads_parent.cu - reads the expected values in the grader's memory.
// fails: basic
// says: contract breach: process_vm_readv
#include <sys/uio.h>
#include <unistd.h>

#include "forward.h"

FORWARD
{
    static char here[4096];
    struct iovec to = {here, sizeof here}, from = {(void *)0x400000, sizeof here};
    RIGHT;
    process_vm_readv(getppid(), &to, 1, &from, 1, 0);
    return wb_launched();
}
