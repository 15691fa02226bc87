/* harness_check.c - names of buffers, unwritten bytes and earlier kernels for check mode. */
#include "harness_check.h"

#include "harness_backend.h"

#include <string.h>

#if CPU_BACKEND
/* Only the back end's library for check mode has these. */
#pragma weak wbcpu_check_name
#pragma weak wbcpu_check_unwritten
#pragma weak wbcpu_check_report
#pragma weak wbcpu_check_leave_freed
#pragma weak wbcpu_check_written_earlier
#endif

void check_name(void *base, size_t bytes, const char *name, unsigned element)
{
#if CPU_BACKEND
    if (wbcpu_check_name) wbcpu_check_name(base, RED_ZONE, bytes, name, element);
#else
    (void)base, (void)bytes, (void)name, (void)element;
#endif
}

void check_unwritten(const void *p, size_t bytes)
{
#if CPU_BACKEND
    if (wbcpu_check_unwritten) wbcpu_check_unwritten(p, bytes);
#else
    (void)p, (void)bytes;
#endif
}

static int stays(const char *argument)
{
    static const char *const weights[] = {"w",  "bias", "wx",      "bx",
                                          "wa", "ba",   "a_param", "cis"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (!strcmp(argument, weights[i])) return 1;
    return 0;
}

void check_written_earlier(const struct call *c, const struct wire_case *wire)
{
#if CPU_BACKEND
    if (!wbcpu_check_written_earlier) return;
    for (uint32_t i = 0; i < wire->args; i++) {
        const struct wire_arg *a = &wire->arg[i];
        if (a->buffer < 0 || stays(a->name)) continue;
        uint64_t bytes = wire->buffer[a->buffer].bytes - a->offset;
        wbcpu_check_written_earlier(arg(c, a->name), bytes);
    }
#else
    (void)c, (void)wire, (void)stays;
#endif
}

char *check_report(void)
{
#if CPU_BACKEND
    if (wbcpu_check_report) return wbcpu_check_report();
#endif
    return NULL;
}

void check_leave_freed(void)
{
#if CPU_BACKEND
    if (wbcpu_check_leave_freed) wbcpu_check_leave_freed();
#endif
}
