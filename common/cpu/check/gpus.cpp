/* gpus.cpp - the GPU whose L2 cache the counts model and whose bandwidth a report names.
 * WB_CHECK_GPU chooses one. The device then also reports that GPU's number of
 * multiprocessors, from which some launchers compute the grid; otherwise it reports 1. */
#include "counts.h"
#include "host_hooks.h"

#include <string.h>

namespace wbcpu::check
{
constexpr unsigned long long MB = 1024 * 1024;

/* The H200's copy bandwidth was measured with `make bench`; that of the others is the
 * memory bandwidth of the data sheet, which no copy reaches. */
static const gpu gpus[] = {
    {"h100", "H100 SXM", 50 * MB, 3350, false, 132, 1.98},
    {"h200", "H200", 60 * MB, 4286, true, 132, 1.98},
    {"a100", "A100 80 GB SXM", 40 * MB, 2039, false, 108, 1.41},
    {"a10", "A10", 6 * MB, 600, false, 72, 1.695},
    {"l4", "L4", 48 * MB, 300, false, 58, 2.04},
    {"t4", "T4", 4 * MB, 320, false, 40, 1.59},
    {"v100", "V100 SXM2", 6 * MB, 900, false, 80, 1.53},
    {"rtx3090", "RTX 3090", 6 * MB, 936, false, 82, 1.695},
    {"rtx4090", "RTX 4090", 72 * MB, 1008, false, 128, 2.52},
};

const gpu &chosen_gpu()
{
    const char *name = getenv("WB_CHECK_GPU");
    if (!name || !*name) return gpus[0];
    std::string known;
    for (const gpu &g : gpus) {
        if (!strcmp(g.name, name)) return g;
        known += std::string(known.empty() ? "" : ", ") + g.name;
    }
    refuse("WB_CHECK_GPU=%s: no such GPU; known are %s", name, known.c_str());
}

int chosen_sms()
{
    const char *name = getenv("WB_CHECK_GPU");
    return name && *name ? chosen_gpu().sms : -1;
}

std::string gpu_json()
{
    const gpu &g = chosen_gpu();
    return format(
        "{\"name\":\"%s\",\"label\":\"%s\",\"l2_bytes\":%llu,\"copy_gb_s\":%.0f,"
        "\"measured\":%s,\"sms\":%d,\"clock_ghz\":%g}",
        g.name, g.label, g.l2_bytes, g.copy_gb_s, g.measured ? "true" : "false", g.sms,
        g.clock_ghz);
}
}  // namespace wbcpu::check
