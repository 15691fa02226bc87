/* cores.c - see cores.h. */
#define _GNU_SOURCE  // sched_getaffinity
#include "cores.h"

#include <sched.h>

int cores_usable(int limit)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return n < 1 ? 1 : n < limit ? n : limit;
}
