/* cuda.h - only the types that the driver API shares with the runtime API. */
#ifndef CUDA_VERSION
#define CUDA_VERSION 13000
#endif
#include "cuda_runtime_api.h"
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
