/* limits.cpp - which launches are valid, and the messages for the others. */
#include "check/host_hooks.h"
#include "launch_limits.h"
#include "stream.h"

#include <stdio.h>
#include <string>

namespace wbcpu
{
static size_t dynamic_limit = 48 * 1024;

size_t dynamic_shared_limit()
{
    return dynamic_limit;
}

extern "C" cudaError_t
cudaFuncSetAttribute(const void *, enum cudaFuncAttribute attr, int value)
{
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > emulated().shared_optin) return fail(cudaErrorInvalidValue);
    if ((size_t)value > dynamic_limit) dynamic_limit = (size_t)value;
    return cudaSuccess;
}

cudaError_t refuse_launch(const wbcpu_launch *l, const std::string &what, const char *fix)
{
    if (check::enabled)
        check::launch_failed(*l, what.c_str(), fix);
    else
        note(
            "%s:%d: launch of %s failed: %s; %s", l->file, l->line, l->name, what.c_str(),
            fix);
    return cudaErrorInvalidValue; /* as in toolkit 13 */
}
static std::string shape(const char *name, dim3 d)
{
    char text[80];
    snprintf(text, sizeof text, "%s (%u,%u,%u)", name, d.x, d.y, d.z);
    return text;
}
static std::string bytes_of(const wbcpu_launch *l)
{
    return std::to_string(l->shared_bytes) + " bytes of dynamic shared memory";
}

/* In check mode a cooperative launch needs about 5 KB of memory per thread and 0.7 MB per
 * block. */
constexpr unsigned long long most_blocks = 512, most_threads = 160 * 1024;
static cudaError_t refuse_cooperative(const wbcpu_launch *l)
{
    char what[200], fix[200];
    snprintf(
        what, sizeof what,
        "%s with %u threads per block is too large for a cooperative launch",
        shape("grid", l->grid).c_str(), l->block.x * l->block.y * l->block.z);
    snprintf(
        fix, sizeof fix,
        "check mode runs at most %llu blocks and %llu threads together: use fewer "
        "blocks, each with a loop over its part of the data",
        most_blocks, most_threads);
    refuse_launch(l, what, fix);
    return cudaErrorCooperativeLaunchTooLarge;
}

cudaError_t refuse_other_clusters(const wbcpu_launch *l, const dim3 &theirs)
{
    return refuse_launch(
        l, shape("clusters of", l->cluster),
        (shape("launch it in clusters of", theirs) + ", its __cluster_dims__").c_str());
}

cudaError_t refuse_for_threads(const wbcpu_launch *l)
{
    refuse_launch(
        l,
        "the system cannot create a CPU thread with its stacks for each block of " +
            shape("grid", l->grid),
        "launch fewer blocks, or raise the limits (ulimit -u, ulimit -v)");
    return cudaErrorCooperativeLaunchTooLarge;
}

static bool fits_clusters(const wbcpu_launch *l)
{
    const dim3 &g = l->grid, &c = l->cluster;
    const unsigned most = max_cluster;
    return c.x - 1 < most && c.y - 1 < most && c.z - 1 < most &&
           l->cluster_blocks() <= most && g.x % c.x == 0 && g.y % c.y == 0 &&
           g.z % c.z == 0;
}

cudaError_t check_launch(const wbcpu_launch *l)
{
    const dim3 g = l->grid, b = l->block;
    unsigned long long threads = (unsigned long long)b.x * b.y * b.z;
    unsigned long long blocks = (unsigned long long)g.x * g.y * g.z;
    if (sticky_error()) return sticky_error();
    if (cudaError_t e = stream_error(l->stream)) return e;
    if (threads == 0 || threads > max_threads || b.x > 1024 || b.y > 1024 || b.z > 64)
        return refuse_launch(
            l, shape("block", b) + " has " + std::to_string(threads) + " threads",
            threads > max_threads && blocks - 1 < max_threads
                ? "use 1 to 1024, z at most 64 (are grid and block swapped?)"
                : "use 1 to 1024, z at most 64");
    if (!g.x || !g.y || !g.z || g.x > INT_MAX || g.y > 65535 || g.z > 65535)
        return refuse_launch(
            l, shape("grid", g),
            "use 1 to 2147483647 blocks in x, 1 to 65535 in y and z");
    if (!fits_clusters(l))
        return refuse_launch(
            l, shape("grid", g) + shape(" in clusters of", l->cluster),
            "use clusters of 1 to 16 blocks; in each dimension the grid must be a multiple "
            "of the cluster");
    if (l->cooperative && l->cluster_blocks() > 1 && check::enabled)
        return refuse_launch(
            l, "a cooperative launch in clusters",
            "check mode does not support both: launch it without clusters");
    if (l->cooperative && check::enabled &&
        (blocks > most_blocks || threads * blocks > most_threads))
        return refuse_cooperative(l);
    const architecture &a = emulated();
    if (l->shared_bytes > (size_t)a.shared_optin) {
        char fix[80];
        snprintf(
            fix, sizeof fix, "a block can have at most %d bytes on sm_%d", a.shared_optin,
            a.capability);
        return refuse_launch(l, bytes_of(l), fix);
    }
    if (l->shared_bytes > dynamic_limit)
        return refuse_launch(
            l, bytes_of(l) + " exceed the limit of " + std::to_string(dynamic_limit),
            "above 48 KB first call cudaFuncSetAttribute(kernel, "
            "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)");
    return cudaSuccess;
}
}  // namespace wbcpu
