// writes_results.cu - writes its own receipt.
// fails: basic
// says: contract breach: fopen
#include <stdio.h>

#include "forward.h"

FORWARD
{
    RIGHT;
    FILE *f = fopen("build/cpu/passed/lab03.json", "w");
    if (f) fclose(f);
    return wb_launched();
}
