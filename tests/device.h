/* device.h - for Criterion tests of kernels: device memory, random numbers, bf16. */
#ifndef DEVICE_H
#define DEVICE_H
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <string.h>

#include "wb.h"

enum { SLACK = 64 }; /* bytes of poison after a test tensor */

/* Returns a device copy of `bytes` bytes of host, or poison if host is NULL. It starts
 * `skew` bytes after a 256-byte boundary. */
WB_INLINE void *device(const void *host, size_t bytes, size_t skew)
{
    char *p = NULL;
    cr_assert(cudaMalloc((void **)&p, bytes + skew + SLACK) == cudaSuccess);
    cr_assert(cudaMemset(p, 0xFF, bytes + skew + SLACK) == cudaSuccess);
    if (!host) return p + skew;
    cr_assert(cudaMemcpy(p + skew, host, bytes, cudaMemcpyHostToDevice) == cudaSuccess);
    return p + skew;
}

/* Copies `bytes` from the device to the host. */
WB_INLINE void back(void *host, const void *from, size_t bytes)
{
    cr_assert(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost) == cudaSuccess);
}

WB_INLINE void release(void *p, size_t skew)
{
    cudaFree((char *)p - skew);
}

/* For the small calls of a suite with .init = take, .fini = give: `some` points to SOME
 * zero bytes of device memory. */
enum { SOME = 1 << 20 };
static float *some __attribute__((unused));

WB_INLINE void take(void)
{
    some = device(NULL, SOME, 0);
    cr_assert(cudaMemset(some, 0, SOME) == cudaSuccess);
}

WB_INLINE void give(void)
{
    release(some, 0);
    cr_expect(cudaDeviceSynchronize() == cudaSuccess);
}

WB_INLINE float noise(void) /* uniform in [-1, 1); the sequence is fixed */
{
    static uint32_t count;
    uint32_t r[4];
    wb_random(r, 0x5eed, count++, 0, 0, 0);
    return (float)r[0] / 2147483648.0f - 1.0f;
}

/* Rounds to nearest even. Finite values only. */
WB_INLINE uint16_t to_bf16(float v)
{
    uint32_t bits;
    memcpy(&bits, &v, 4);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

WB_INLINE float from_bf16(uint16_t b)
{
    uint32_t bits = (uint32_t)b << 16;
    float v;
    memcpy(&v, &bits, 4);
    return v;
}

/* Asserts that every |got - want| <= tol * (1 + |want|). */
WB_INLINE void
close_to(const float *got, const double *want, size_t n, double tol, const char *what)
{
    for (size_t i = 0; i < n; i++)
        cr_assert(
            fabs(got[i] - want[i]) <= tol * (1 + fabs(want[i])),
            "%s[%zu]: %g, expected %g", what, i, (double)got[i], want[i]);
}

#endif
