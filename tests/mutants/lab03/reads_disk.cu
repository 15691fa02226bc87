// reads_disk.cu - looks for the expected tensors on disk.
// fails: basic
// says: contract breach: fopen
#include <stdio.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    FILE *f = fopen("build/cpu/data/lab03/basic.a.want.safetensors", "rb");
    if (f) fclose(f);
    return wb_launched();
}
