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

static const struct {
    cudaError_t error;
    const char *name, *sentence;
} errors[] = {
#define E(name, sentence)                                                                \
    {                                                                                    \
        name, #name, sentence                                                            \
    }
    E(cudaSuccess, "no error"),
    E(cudaErrorInvalidValue, "invalid argument"),
    E(cudaErrorMemoryAllocation, "out of memory"),
    E(cudaErrorInitializationError, "initialization error"),
    E(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    E(cudaErrorInvalidPitchValue, "invalid pitch argument"),
    E(cudaErrorInvalidSymbol, "invalid device symbol"),
    E(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    E(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    E(cudaErrorLaunchMaxDepthExceeded,
      "launch would exceed maximum depth of nested launches"),
    E(cudaErrorLaunchPendingCountExceeded,
      "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"),
    E(cudaErrorInvalidDeviceFunction, "invalid device function"),
    E(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    E(cudaErrorInvalidDevice, "invalid device ordinal"),
    E(cudaErrorInvalidKernelImage, "device kernel image is invalid"),
    E(cudaErrorFileNotFound, "file not found"),
    E(cudaErrorSymbolNotFound, "named symbol not found"),
    E(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    E(cudaErrorIllegalState, "the operation cannot be performed in the present state"),
    E(cudaErrorNotReady, "device not ready"),
    E(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    E(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    E(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    E(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"),
    E(cudaErrorAssert, "device-side assert triggered"),
    E(cudaErrorMisalignedAddress, "misaligned address"),
    E(cudaErrorLaunchFailure, "unspecified launch failure"),
    E(cudaErrorNotPermitted, "operation not permitted"),
    E(cudaErrorNotSupported, "operation not supported"),
    E(cudaErrorStreamCaptureUnsupported,
      "operation not permitted when stream is capturing"),
    E(cudaErrorStreamCaptureInvalidated,
      "operation failed due to a previous error during capture"),
    E(cudaErrorStreamCaptureMerge,
      "operation would result in a merge of separate capture sequences"),
    E(cudaErrorStreamCaptureUnmatched,
      "capture was not ended in the same stream as it began"),
    E(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    E(cudaErrorStreamCaptureIsolation,
      "dependency created on uncaptured work in another stream"),
    E(cudaErrorStreamCaptureImplicit,
      "operation would make the legacy stream depend on a capturing blocking stream"),
    E(cudaErrorCapturedEvent,
      "operation not permitted on an event last recorded in a capturing stream"),
    E(cudaErrorStreamCaptureWrongThread,
      "attempt to terminate a thread-local capture sequence from another thread"),
    E(cudaErrorUnknown, "unknown error"),
#undef E
};

extern "C" const char *cudaGetErrorName(cudaError_t error)
{
    for (const auto &e : errors)
        if (e.error == error) return e.name;
    return "unrecognized error code";
}
extern "C" const char *cudaGetErrorString(cudaError_t error)
{
    for (const auto &e : errors)
        if (e.error == error) return e.sentence;
    return "unrecognized error code";
}
}  // namespace wbcpu
