/* cuda.h - of the driver API only the types that the runtime API shares. */
#ifndef CUDA_VERSION
#define CUDA_VERSION 12000
#endif
#include "cuda_runtime_api.h"
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
