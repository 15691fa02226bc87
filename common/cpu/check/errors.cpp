/* errors.cpp - launches that fail, and whether the program looks at the error. */
#include "host.h"
#include "host_hooks.h"

namespace wbcpu::check
{
struct failed_launch {
    const place *at;
    std::string kernel, what;
};
static auto &not_looked_at = *new std::vector<failed_launch>;

/* Launches print nothing and return nothing: only the last error tells. */
void launch_failed(const wbcpu_launch &l, const char *what, const char *fix)
{
    const place *at = place_at(l.file, l.line);
    not_looked_at.push_back({at, l.name, what});
    finding *f = find("launch-error", at);
    if (!f) return;
    f->what = l.name;
    f->message = format("kernel %s does not run: %s", l.name, what);
    f->fix = fix;
    publish(f);
}

void error_read()
{
    not_looked_at.clear();
}

void unchecked_errors()
{
    for (const failed_launch &l : not_looked_at) {
        finding *f = find("unchecked-error", l.at);
        if (!f) continue;
        f->what = l.kernel;
        f->message = format(
            "the launch of %s failed, and the program never looked at the error",
            l.kernel.c_str());
        f->fix = "check cudaGetLastError() after every launch";
        publish(f);
    }
    not_looked_at.clear();
}
}  // namespace wbcpu::check
