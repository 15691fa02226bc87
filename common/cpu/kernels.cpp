/* kernels.cpp - the kernels that programs launch by their addresses (wbcpu/kernels.h). */
#include "scheduler.h"

#include <mutex>
#include <unordered_map>

namespace wbcpu
{
static std::mutex kernels_lock;
struct known_kernel {
    wbcpu_kernel_launcher launcher;
    const wbcpu_parameter *parameters;
};
static std::unordered_map<const void *, known_kernel> kernels;

extern "C" void wbcpu_know_kernel(
    const void *address, wbcpu_kernel_launcher launcher,
    const wbcpu_parameter *parameters)
{
    std::lock_guard<std::mutex> hold(kernels_lock);
    kernels[address] = {launcher, parameters};
}
extern "C" const wbcpu_parameter *wbcpu_parameters_of(const void *address)
{
    std::lock_guard<std::mutex> hold(kernels_lock);
    auto found = kernels.find(address);
    return found == kernels.end() ? nullptr : found->second.parameters;
}

extern "C" cudaError_t
wbcpu_launch_known(const void *address, const wbcpu_kernel_call *call)
{
    wbcpu_kernel_launcher launcher;
    {
        std::lock_guard<std::mutex> hold(kernels_lock);
        auto found = kernels.find(address);
        if (found == kernels.end()) {
            note(
                "a kernel is launched by its address, but its parameters are unknown: write "
                "kernel<<<...>>>(...), or (void *)kernel where the address is taken");
            return fail(cudaErrorInvalidDeviceFunction);
        }
        launcher = found->second.launcher;
    }
    wbcpu_name_next_launch(address, call->cluster, call->cooperative);
    launcher((void (*)())address, call);
    return cudaPeekAtLastError();
}
}  // namespace wbcpu
