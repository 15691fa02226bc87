/* kernels.cpp - the kernels that programs launch by their addresses (wbcpu/kernels.h). */
#include "scheduler.h"

#include <mutex>
#include <unordered_map>

namespace wbcpu
{
static std::mutex launchers_lock;
static std::unordered_map<const void *, wbcpu_kernel_launcher> launchers;

extern "C" void wbcpu_know_kernel(const void *address, wbcpu_kernel_launcher launcher)
{
    std::lock_guard<std::mutex> hold(launchers_lock);
    launchers[address] = launcher;
}

extern "C" cudaError_t
wbcpu_launch_known(const void *address, const wbcpu_kernel_call *call)
{
    wbcpu_kernel_launcher launcher;
    {
        std::lock_guard<std::mutex> hold(launchers_lock);
        auto found = launchers.find(address);
        if (found == launchers.end()) {
            note(
                "a kernel is launched by its address, but its parameters are unknown: write "
                "kernel<<<...>>>(...), or (void *)kernel where the address is taken");
            return fail(cudaErrorInvalidDeviceFunction);
        }
        launcher = found->second;
    }
    wbcpu_name_next_launch(address, 1, call->cooperative);
    launcher((void (*)())address, call);
    return cudaPeekAtLastError();
}
}  // namespace wbcpu
