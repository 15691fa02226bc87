/* cases.h - main() and helpers of the programs in tests/check: each has several cases.
 *
 *     __global__ void no_guard(float *x, int n) { ... }
 *
 *     CASE(no_guard)                      // ./bounds no_guard; --list prints the names
 *     {
 *         float *x = zeros<float>(1000);  // freed when the case ends
 *         no_guard<<<4, 256>>>(x, 1000);
 *         return differs(x, 1000, [](int i) { return 2.0f * i; });
 *     }
 *
 * A case returns 0 if the result is right. After it main() synchronizes, and exits with 1
 * if the result is wrong or CUDA reports an error.
 */
#ifndef TESTS_CHECK_CASES_H
#define TESTS_CHECK_CASES_H
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_case {
    const char *name;
    int (*run)(void);
    test_case *next;
    test_case(const char *case_name, int (*function)(void));
};
static test_case *first_case, **last_case = &first_case;

inline test_case::test_case(const char *case_name, int (*function)(void))
    : name(case_name), run(function), next(NULL)
{
    *last_case = this;
    last_case = &next;
}

#define CASE(name)                                                                       \
    static int case_##name(void);                                                        \
    static test_case add_##name(#name, case_##name);                                     \
    static int case_##name(void)

enum { MAX_BUFFERS = 16 };
static void *buffers[MAX_BUFFERS];
static int buffer_count;

/* n elements of device memory that nothing has written */
template <typename T> T *unwritten(size_t n)
{
    void *p = NULL;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess || buffer_count == MAX_BUFFERS) {
        fprintf(stderr, "cases.h: no device memory, or more than MAX_BUFFERS buffers\n");
        exit(3);
    }
    return (T *)(buffers[buffer_count++] = p);
}
template <typename T> T *zeros(size_t n)
{
    T *p = unwritten<T>(n);
    cudaMemset(p, 0, n * sizeof(T));
    return p;
}
/* f(0), f(1), ... f(n - 1) */
template <typename T, typename F> T *filled(int n, F f)
{
    T *p = unwritten<T>(n), *host = (T *)malloc(n * sizeof(T));
    for (int i = 0; i < n; i++)
        host[i] = (T)f(i);
    cudaMemcpy(p, host, n * sizeof(T), cudaMemcpyHostToDevice);
    free(host);
    return p;
}
/* 0, 1, 2, ... n - 1 */
template <typename T> T *counting(int n)
{
    return filled<T>(n, [](int i) { return i; });
}

/* Copies n elements to the host. Returns 0 if element i equals want(i) for every i;
 * otherwise prints the first that does not, and returns 1. */
template <typename T, typename F> int differs(const T *device, int n, F want)
{
    T *got = (T *)malloc(n * sizeof(T));
    cudaError_t e = cudaMemcpy(got, device, n * sizeof(T), cudaMemcpyDeviceToHost);
    int i = 0;
    while (!e && i < n && got[i] == (T)want(i))
        i++;
    if (!e && i < n)
        fprintf(
            stderr, "element %d is %g, expected %g\n", i, (double)got[i],
            (double)want(i));
    if (e) fprintf(stderr, "%s\n", cudaGetErrorString(e));
    free(got);
    return e || i < n;
}

static int run_case(const test_case *c)
{
    int wrong = c->run();
    cudaError_t e = cudaDeviceSynchronize();
    while (buffer_count)
        cudaFree(buffers[--buffer_count]);
    if (e) fprintf(stderr, "%s: %s\n", c->name, cudaGetErrorString(e));
    if (wrong) fprintf(stderr, "%s: the result is wrong\n", c->name);
    return wrong || e;
}

int main(int argc, char **argv)
{
    const char *wanted = argc == 2 ? argv[1] : "";
    bool list = !strcmp(wanted, "--list");
    for (const test_case *c = first_case; c; c = c->next) {
        if (list) puts(c->name);
        if (!strcmp(c->name, wanted)) return run_case(c);
    }
    if (list) return 0;
    fprintf(stderr, "%s: no case '%s': --list prints the names\n", argv[0], wanted);
    return 2;
}

#endif
