/* driver_types.h - the runtime API's types come with its functions. */
#include "cuda_runtime_api.h"
