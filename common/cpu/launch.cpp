/* launch.cpp - the host's side of a launch, up to the grid (pool.cpp): the same for every
 * kernel, so that no program is compiled with a copy of it per kernel. */
#include "check/host_hooks.h"
#include "include/wbcpu.h"
#include "scheduler.h"
#include "symbols.h"

#include <stdlib.h>
#include <string.h>

namespace wbcpu
{
extern "C" void wbcpu_describe_launch(
    wbcpu_launch *l, const char *file, int line, const char *name, const config *c)
{
    next_launch next = take_next_launch();
    l->grid = c->grid, l->block = c->block;
    l->shared_bytes = c->shared_bytes;
    l->stream = c->stream;
    l->name = next.name ? next.name : name;
    l->file = file, l->line = line;
    l->cluster = next.cluster;
    l->cooperative = next.cooperative;
}

/* A launch that waits, with a copy of its kernel. */
static void *keep(const wbcpu_launch *l)
{
    wbcpu_launch *kept = new wbcpu_launch(*l);
    kept->stream = cudaStreamPerThread; /* not a capturing one */
    kept->kernel = l->copy ? l->copy(l->kernel)
                           : memcpy(malloc(l->kernel_bytes), l->kernel, l->kernel_bytes);
    return kept;
}
static void run_kept(void *kept)
{
    run_launch(static_cast<wbcpu_launch *>(kept));
}
static void delete_kept(void *kept)
{
    wbcpu_launch *l = static_cast<wbcpu_launch *>(kept);
    void *kernel = const_cast<void *>(l->kernel);
    l->destroy ? l->destroy(kernel) : free(kernel);
    delete l;
}

extern "C" void
wbcpu_launch_kernel(wbcpu_launch *l, const void *const *pointers, int count)
{
    check_arguments(l, pointers, count);
    if (wbcpu_self && l->in_lab) refuse_child(l);
    if ((wbcpu_self || check::enabled) && !accept_launch(l)) return;
    if (wbcpu_defers(l->stream))
        wbcpu_record_work(l->stream, run_kept, delete_kept, keep(l));
    else
        run_launch(l);
}
}  // namespace wbcpu
