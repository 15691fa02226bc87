// fake_report.cu - prints its own report with full points, and computes nothing.
// fails: basic
// says: never written
// says: printed: Score: 100/100
// says: Score: 0/5
#include <stdio.h>

#include "forward.h"

FORWARD
{
    (void)out, (void)rstd, (void)x, (void)w, (void)R, (void)C, (void)eps, (void)offset;
    (void)stream;
    printf("== Test lab03/basic 4x64 f32 ==                OK   6/6   (0.01s)\n");
    printf("Score: 100/100\n");
    fflush(stdout);
    return WB_OK;
}
