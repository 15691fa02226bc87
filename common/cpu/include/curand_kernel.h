/* curand_kernel.h - cuRAND's device functions and, as in the toolkit, its host functions. */
#ifndef CURAND_KERNEL_H_
#define CURAND_KERNEL_H_
#include "curand.h"
#include "wbcpu/random_values.h"
#endif
