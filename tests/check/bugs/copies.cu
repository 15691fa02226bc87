// copies.cu - copies with a wrong size or direction. The marked line is the call.
#include "../cases.h"

CASE(more_than_buffer)
{
    float host[128] = {0}, *x = unwritten<float>(64);
    // BUG more_than_buffer copy-size
    cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice);
    return 0;
}
CASE(back_more_than_buffer)
{
    float host[128], *x = counting<float>(100);
    // BUG back_more_than_buffer copy-size
    cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost);
    return host[0] != 0;
}
CASE(sizeof_twice)
{
    float host[64], *x = counting<float>(64);
    size_t bytes = sizeof host;
    // BUG sizeof_twice copy-size
    cudaMemcpy(host, x, bytes * sizeof(float), cudaMemcpyDeviceToHost);
    return 0;
}
// The size fits, but not from this start.
CASE(from_the_middle)
{
    float *x = counting<float>(64), *y = zeros<float>(64);
    // BUG from_the_middle copy-size
    cudaMemcpy(y, x + 32, 64 * sizeof *x, cudaMemcpyDeviceToDevice);
    return 0;
}
CASE(memset_too_long)
{
    char *x = unwritten<char>(1000);
    cudaMemset(x, 0, 1000 * sizeof(float));  // BUG memset_too_long copy-size
    return 0;
}
CASE(memset_async_too_long)
{
    short *x = unwritten<short>(500);
    cudaMemsetAsync(x, 0, 500 * sizeof(float), 0);  // BUG memset_async_too_long copy-size
    return 0;
}
__constant__ float taps[8];
CASE(symbol_too_small)
{
    float host[9] = {0};
    cudaMemcpyToSymbol(taps, host, sizeof host);  // BUG symbol_too_small copy-size
    return 0;
}
// One row too many: the last one lies past the end.
CASE(one_row_too_many)
{
    float host[5 * 20] = {0}, *x = unwritten<float>(4 * 32);
    size_t row = 20 * sizeof *x;
    // BUG one_row_too_many copy-size
    cudaMemcpy2D(x, 32 * sizeof *x, host, row, row, 5, cudaMemcpyHostToDevice);
    return 0;
}
// Rows that are wider than the distance between them
CASE(width_above_pitch)
{
    float host[4 * 32] = {0}, *x = unwritten<float>(4 * 32);
    size_t row = 32 * sizeof *x;
    // BUG width_above_pitch copy-size
    cudaMemcpy2D(x, row / 2, host, row, row, 4, cudaMemcpyHostToDevice);
    return 0;
}

// --- copy-kind -------------------------------------------------------------------------

CASE(swapped_pointers)
{
    float host[64] = {0}, *x = zeros<float>(64);
    // BUG swapped_pointers copy-kind
    cudaMemcpy(host, x, sizeof host, cudaMemcpyHostToDevice);
    return 0;
}
CASE(wrong_direction)
{
    float host[64] = {0}, *x = zeros<float>(64);
    // BUG wrong_direction copy-kind
    cudaMemcpy(x, host, sizeof host, cudaMemcpyDeviceToHost);
    return 0;
}
CASE(device_to_device_from_host)
{
    float host[64] = {0}, *x = zeros<float>(64);
    // BUG device_to_device_from_host copy-kind
    cudaMemcpy(x, host, sizeof host, cudaMemcpyDeviceToDevice);
    return 0;
}
CASE(host_to_host_from_device)
{
    float host[64] = {0}, *x = zeros<float>(64);
    // BUG host_to_host_from_device copy-kind
    cudaMemcpy(host, x, sizeof host, cudaMemcpyHostToHost);
    return 0;
}
CASE(memset_of_host)
{
    float *x = (float *)malloc(256);
    cudaMemset(x, 0, 256);  // BUG memset_of_host copy-kind, memset_of_host host-pointer
    free(x);
    return 0;
}
