/* cuda_profiler_api.h - cudaProfilerStart and cudaProfilerStop are in the runtime API. */
#include "cuda_runtime_api.h"
