/* dry.h - dry runs (wbcpu.h), for the rest of the library. */
#ifndef WBCPU_DRY_H
#define WBCPU_DRY_H
#include "scheduler.h"

namespace wbcpu
{
bool is_dry();

bool dry_malloc(void **p, size_t bytes); /* false: no addresses are left */
bool dry_free(void *p);                  /* false: p is not from dry_malloc */
bool in_dry_memory(const void *p);

/* Calls work(first, count) for all n; in a dry run only for the two ends of many. */
template <class Work> void for_ends(size_t n, size_t end, Work work)
{
    if (!is_dry() || n <= 2 * end) return work((size_t)0, n);
    work((size_t)0, end);
    work(n - end, end);
}
constexpr size_t end_bytes = 64 << 10, end_rows = 64;

/* Runs some blocks of a launch; run: all blocks of a job, on this worker. */
void dry_launch(job *j, worker **w, void (*run)(void *job, worker *w));
}  // namespace wbcpu

#endif
