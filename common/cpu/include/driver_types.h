/* driver_types.h - the types are in cuda_runtime_api.h. */
#include "cuda_runtime_api.h"
