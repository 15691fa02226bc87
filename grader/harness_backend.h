/* harness_backend.h - which back end the harness is compiled for. Only the CPU back end has
 * wbcpu.h, which lets the harness change the order of threads, count launches, and keep
 * host code of a launcher away from device memory. */
#ifndef HARNESS_BACKEND_H
#define HARNESS_BACKEND_H

#if defined(__has_include) && __has_include(<wbcpu.h>)
#include <wbcpu.h>
#define CPU_BACKEND 1
#else
#define CPU_BACKEND 0
#endif

#endif
