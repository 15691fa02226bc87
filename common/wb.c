/* wb.c - the two functions of wb.h that are not inline. */
#include "wb.h"

#include <stdio.h>
#include <stdlib.h>

const char *wb_status_name(wb_status status)
{
    static const char *const names[] = {
        "WB_OK",       "WB_TODO",        "WB_BAD_SHAPE", "WB_BAD_ALIGN",
        "WB_NO_SPACE", "WB_UNSUPPORTED", "WB_BAD_CUDA",
    };
    if ((unsigned)status >= sizeof names / sizeof *names) return "unknown wb_status";
    return names[status];
}

void wb_fail(wb_status status, const char *call, const char *file, int line)
{
    fprintf(stderr, "%s:%d: %s: %s\n", file, line, wb_status_name(status), call);
    exit(1);
}
