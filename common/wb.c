/* wb.c - the functions of wb.h that are not inline. */
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
    // Starters are linked only on request (MINE=).
    const char *fix = status == WB_TODO
                          ? ": not written yet: finish it in labs/ or build without MINE="
                          : "";
    fprintf(stderr, "%s:%d: %s: %s%s\n", file, line, wb_status_name(status), call, fix);
    exit(1);
}
