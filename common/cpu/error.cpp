/* error.cpp - the last error of each host thread; error names and descriptions. */
#include "scheduler.h"

#include "check/host_hooks.h"

#include <utility>

namespace wbcpu
{
static thread_local cudaError_t last;
/* An error in a kernel. Every later call that needs the device returns it. */
static std::atomic<cudaError_t> fault{cudaSuccess};

cudaError_t fail(cudaError_t error)
{
    if (error) last = error;
    return error;
}
cudaError_t exchange_last_error(cudaError_t error)
{
    return std::exchange(last, error);
}
cudaError_t sticky_error()
{
    return fail(fault);
}
void fail_sticky(cudaError_t error)
{
    fault = error;
}

extern "C" cudaError_t cudaPeekAtLastError()
{
    check::error_read();
    return last;
}
extern "C" cudaError_t cudaGetLastError()
{
    cudaError_t e = cudaPeekAtLastError();
    last = cudaSuccess;
    return e;
}

static const struct description {
    int error;
    const char *name, *driver_name, *sentence; /* driver_name: 0 if the driver has none */
} descriptions[] = {
    {cudaSuccess, "cudaSuccess", "CUDA_SUCCESS", "no error"},
#define BOTH(name, driver_name, value, sentence)                                         \
    {value, "cudaError" #name, "CUDA_ERROR_" #driver_name, sentence},
#define RUNTIME(name, value, sentence) {value, "cudaError" #name, 0, sentence},
    WBCPU_ERRORS(RUNTIME, BOTH)
#undef BOTH
#undef RUNTIME
};

static const description *describe(int error)
{
    for (const description &d : descriptions)
        if (d.error == error) return &d;
    return nullptr;
}

extern "C" const char *cudaGetErrorName(cudaError_t error)
{
    const description *d = describe(error);
    return d ? d->name : "unrecognized error code";
}
extern "C" const char *cudaGetErrorString(cudaError_t error)
{
    const description *d = describe(error);
    return d ? d->sentence : "unrecognized error code";
}

/* The name and description of an error; NULL if the driver API has no such error. */
extern "C" int wbcpu_driver_error(int error, const char **name, const char **sentence)
{
    const description *d = describe(error);
    bool known = d && d->driver_name;
    if (name) *name = known ? d->driver_name : nullptr;
    if (sentence) *sentence = known ? d->sentence : nullptr;
    return known ? cudaSuccess : cudaErrorInvalidValue;
}
}  // namespace wbcpu
