// backend.cu - features of the CPU back end only: seeded orders, the guard, dry runs, the
// location of a running kernel, host work on the workers, the emulated architecture.
#include <cuda_runtime.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "cuda/mma.cuh"
#include "wbcpu.h"

constexpr int THREADS = 256;

// Record the order in which threads and blocks run.
__global__ void arrive(int *next, int *order)
{
    order[atomicAdd(next, 1)] = threadIdx.x;
}
__global__ void arrive_late(int *next, int *order)
{
    __syncthreads();
    int first = __shfl_sync(0xffffffff, (int)threadIdx.x, 0);
    int &place = order[atomicAdd(next, 1)];  // a kernel with a reference runs as fibers
    place = first + threadIdx.x % 32;
}
__global__ void arrive_block(int *next, int *order)
{
    if (threadIdx.x == 0) order[atomicAdd(next, 1)] = blockIdx.x;
}
// A race: no barrier between the write and the read of a neighbour's value.
__global__ void forgotten_barrier(int *bad, int run)
{
    __shared__ int s[256];
    s[threadIdx.x] = run;
    if (threadIdx.x && s[threadIdx.x - 1] != run) *bad = 1;  // never in natural order
}
// A race: a warp may overwrite its sum before the others have read it.
__global__ void sums_overwritten(int *bad)
{
    __shared__ int sums[THREADS / 32];
    int &wrong = *bad;  // a kernel with a reference runs as fibers
    for (int round = 0; round < 3; round++) {
        sums[threadIdx.x / 32] = __reduce_add_sync(0xffffffff, (int)threadIdx.x + round);
        __syncthreads();
        int lane = threadIdx.x % 32;
        int sum = lane < THREADS / 32 ? sums[lane] : 0;
        sum = __reduce_add_sync(0xffffffff, sum);
        if (sum != THREADS * (THREADS - 1) / 2 + THREADS * round) wrong = 1;
    }
}
__global__ void where(char *text)
{
    if (blockIdx.x == 2 && threadIdx.x == 7) wbcpu_where(text, 200);
}

static int *next_free, *order;

static void run(uint64_t seed, void (*kernel)(int *, int *), int blocks, int *copy)
{
    wbcpu_set_shuffle(seed);
    *next_free = 0;
    int threads = blocks > 1 ? 1 : THREADS;
    kernel<<<blocks, threads>>>(next_free, order);
    cudaDeviceSynchronize();
    memcpy(copy, order, THREADS * sizeof *copy);
    wbcpu_set_shuffle(0);
}
static bool is_natural(const int *a)
{
    for (int i = 0; i < THREADS; i++)
        if (a[i] != i) return false;
    return true;
}
static bool is_permutation(const int *a)
{
    bool seen[THREADS] = {};
    for (int i = 0; i < THREADS; i++) {
        if (a[i] < 0 || a[i] >= THREADS || seen[a[i]]) return false;
        seen[a[i]] = true;
    }
    return true;
}

static void orders(void)
{
    int a[THREADS], b[THREADS], c[THREADS];
    for (auto kernel : {arrive, arrive_late, arrive_block}) {
        int blocks = kernel == arrive_block ? THREADS : 1;
        const char *what = kernel == arrive ? "threads"
                           : kernel == arrive_late
                               ? "threads after a barrier and a shuffle"
                               : "blocks";
        run(0, kernel, blocks, a);
        tap(is_natural(a), "%s in natural order", what);
        run(1, kernel, blocks, a);
        run(1, kernel, blocks, b);
        run(2, kernel, blocks, c);
        tap(is_permutation(a) && is_permutation(c) && !is_natural(a),
            "%s in a seeded order", what);
        tap(memcmp(a, b, sizeof a) == 0, "equal seeds give the same order of %s", what);
        tap(memcmp(a, c, sizeof a) != 0, "another seed gives another order of %s", what);
    }
    int found = 0;
    for (uint64_t seed = 0; seed < 8; seed++) {
        wbcpu_set_shuffle(seed);
        *next_free = 0;
        forgotten_barrier<<<1, THREADS>>>(next_free, 1 + (int)seed);
        cudaDeviceSynchronize();
        if (seed == 0)
            tap(!*next_free, "in natural order a missing barrier has no effect");
        found += seed && *next_free;
    }
    wbcpu_set_shuffle(0);
    tap(found == 7, "in every seeded order it gives a wrong result");
    *next_free = 0;
    sums_overwritten<<<1, THREADS>>>(next_free);
    cudaDeviceSynchronize();
    tap(!*next_free, "warps read all sums before the first overwrites its own");
}

/* --- the guard ---------------------------------------------------------------------- */

static sigjmp_buf back;
static void *fault_address;
static void on_fault(int, siginfo_t *info, void *)
{
    fault_address = info->si_addr;
    siglongjmp(back, 1);
}
static bool host_read_faults(const volatile int *p)
{
    if (sigsetjmp(back, 1)) return true;
    (void)*p;
    return false;
}
__global__ void set(int *p, int v)
{
    *p = v;
}

static void guard(void)
{
    struct sigaction a = {}, old;
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &a, &old);
    int *p, h = 0, local;
    cudaMalloc(&p, 1 << 20);
    set<<<1, 1>>>(p, 3);
    tap(wbcpu_in_device_memory(p) && wbcpu_in_device_memory((char *)p + (1 << 20) - 1),
        "wbcpu_in_device_memory: device memory");
    tap(!wbcpu_in_device_memory(&local) && !wbcpu_in_device_memory(NULL),
        "wbcpu_in_device_memory: host memory");
    tap(cudaMemset(&local, 0, sizeof local) == cudaErrorInvalidValue,
        "cudaMemset of host memory");
    tap(!host_read_faults(p), "without the guard the host can read device memory");
    wbcpu_guard(1);
    tap(host_read_faults(p) && fault_address == p, "with the guard it cannot");
    set<<<1, 1>>>(p, 4);
    cudaMemcpy(&h, p, sizeof h, cudaMemcpyDeviceToHost);
    tap(h == 4, "kernels and copies still can");
    int *q;
    cudaMalloc(&q, 1 << 20);
    tap(host_read_faults(q), "new memory is guarded too");
    cudaMemset(q, 1, 64);
    tap(host_read_faults(q) && host_read_faults(p),
        "memory is guarded again after a call");
    int *managed;
    cudaMallocManaged(&managed, 64);
    tap(!host_read_faults(managed), "managed memory is not guarded");
    wbcpu_guard(2);
    tap(cudaMemcpyAsync(&h, p, sizeof h, cudaMemcpyDeviceToHost, 0) ==
                cudaErrorNotPermitted &&
            cudaMemcpyAsync(&h, p, sizeof h, cudaMemcpyDefault, 0) ==
                cudaErrorNotPermitted &&
            cudaMemcpyAsync(&h, p, sizeof h, cudaMemcpyDeviceToDevice, 0) ==
                cudaErrorNotPermitted &&
            cudaMemcpyAsync(&h, p, sizeof h, cudaMemcpyHostToHost, 0) ==
                cudaErrorNotPermitted,
        "at level 2 nothing can be copied to the host");
    tap(cudaMemcpyAsync(q, p, sizeof h, cudaMemcpyDeviceToDevice, 0) == cudaSuccess,
        "but within device memory");
    cudaGetLastError();  // clears it
    wbcpu_guard(0);
    tap(!host_read_faults(p) && *p == 4, "the guard is off again");
    cudaFree(managed);
    cudaFree(p);
    cudaFree(q);
    sigaction(SIGSEGV, &old, NULL);
}

/* --- dry runs ----------------------------------------------------------------------- */

constexpr size_t MANY = (size_t)5 << 29;  // elements, more than an int can count: 10 GB

__global__ void one_each(float *x, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;
}
__global__ void int_index(float *x, size_t n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 1;  // from 2^31 on i is negative, and n unsigned
}
__global__ void strided(float *x, size_t n)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
        x[i] = 1;
}
__global__ void block_200(float *x, size_t n)
{
    if (blockIdx.x == 200) x[n - 1] = 1;
}
// The first block of the last cluster of 8 writes the end.
__global__ void first_of_cluster(float *x, size_t n)
{
    if (blockIdx.x + 8 == gridDim.x) x[n - 1] = 1;
}
__global__ void int_offset(float *x, int row)
{
    x[(int)blockIdx.x * row] = 1;
}
__global__ void after_the_other(volatile int *done)  // a block waits for the previous one
{
    while (blockIdx.x && !done[blockIdx.x - 1])
        continue;
    done[blockIdx.x] = 1;
}

static float *dry_x;
static int *dry_done;
static bool end_written(void)
{
    return dry_x[MANY - 1] == 1;
}
static int end_is_written(void)
{
    return end_written();
}
static void begin_dry(int mode)
{
    wbcpu_dry(mode, end_is_written);
    if (mode == WBCPU_DRY_SAMPLE && !dry_x)
        if (cudaMalloc(&dry_x, MANY * sizeof *dry_x) || cudaMalloc(&dry_done, 4 << 20))
            _exit(9);
}
static void on_dry_fault(int, siginfo_t *info, void *)
{
    if (!wbcpu_dry_fault(info->si_addr)) _exit(7);
}

// Runs in a process of its own. True if it exits with this status, or with 9: too few
// addresses, as under valgrind.
static bool exits(int want, int (*test)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct sigaction a = {};
        a.sa_sigaction = on_dry_fault;
        a.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigaction(SIGSEGV, &a, NULL);
        _exit(test());
    }
    waitpid(child, &status, 0);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code != want && code != 9) printf("# status %#x\n", status);
    return code == want || code == 9;
}

static int samples(void)
{
    begin_dry(WBCPU_DRY_SAMPLE);
    one_each<<<MANY / 256, 256>>>(dry_x, MANY);
    bool right = dry_x[0] == 1 && end_written() && dry_x[MANY / 3] == 0;
    return !(right && wbcpu_dry_complete() == 0 && !cudaGetLastError());
}
static int samples_clusters(void)
{
    begin_dry(WBCPU_DRY_SAMPLE);
    wbcpu_next_launch_is((const void *)first_of_cluster, 8, false);
    first_of_cluster<<<MANY / 256, 256>>>(dry_x, MANY);
    return !end_written();
}
static int sets_the_ends(void)
{
    begin_dry(WBCPU_DRY_SAMPLE);
    cudaMemset(dry_x, 0xff, MANY * sizeof *dry_x);
    return !(isnan(dry_x[0]) && isnan(dry_x[MANY - 1]) && dry_x[MANY / 2] == 0);
}
static int overflows(void)
{
    begin_dry(WBCPU_DRY_SAMPLE);
    int_offset<<<MANY / 64, 1>>>(dry_x, 64);
    return 0;
}
static int past_the_end(void)
{
    begin_dry(WBCPU_DRY_SAMPLE);
    one_each<<<MANY / 256 + 1, 256>>>(dry_x, MANY + 256);
    return 0;
}
__global__ void all_in_one(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
}
__global__ void count_blocks(int *n)
{
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(n, 1);
}
static int gives_up(void)  // a block that takes too much memory, and one that never ends
{
    begin_dry(WBCPU_DRY_SAMPLE);
    one_each<<<8, 32>>>(dry_x, MANY);
    if (wbcpu_dry_complete() != 1) return 1;
    all_in_one<<<1, 1>>>(dry_x, MANY);
    if (wbcpu_dry_complete() != -1) return 2;
    wbcpu_dry(WBCPU_DRY_SAMPLE, NULL);
    after_the_other<<<1 << 20, 1>>>(dry_done);
    if (wbcpu_dry_complete() != -1) return 3;
    wbcpu_dry(WBCPU_DRY_OFF, NULL);
    int *n;
    cudaMallocManaged(&n, sizeof *n);
    *n = 0;
    count_blocks<<<100, 64>>>(n);  // on a new worker
    return *n != 100;
}
static int searches(void)
{
    begin_dry(WBCPU_DRY_SAMPLE);
    block_200<<<1000, 1>>>(dry_x, MANY);
    if (end_written()) return 1;
    wbcpu_dry(WBCPU_DRY_ALL, end_is_written);
    block_200<<<1000, 1>>>(dry_x, MANY);
    return !end_written();
}
static int is_short(void)
{
    constexpr size_t bytes = MANY * sizeof(float);
    begin_dry(WBCPU_DRY_SAMPLE);
    one_each<<<MANY / 256, 256>>>(dry_x, MANY);
    if (wbcpu_dry_short(bytes)) return 1;
    wbcpu_dry(WBCPU_DRY_SAMPLE, NULL);
    strided<<<4096, 256>>>(dry_x, MANY);
    if (wbcpu_dry_short(bytes)) return 2;
    wbcpu_dry(WBCPU_DRY_SAMPLE, NULL);
    int_index<<<MANY / 256, 256>>>(dry_x, MANY);
    if (!wbcpu_dry_short(bytes)) return 3;
    wbcpu_dry(WBCPU_DRY_SAMPLE, NULL);
    one_each<<<65535, 256>>>(dry_x, MANY);
    return wbcpu_dry_short(bytes) ? 0 : 4;
}
static int finds_nothing(void)  // no block writes the end: all of them have run
{
    begin_dry(WBCPU_DRY_SAMPLE);
    wbcpu_dry(WBCPU_DRY_ALL, end_is_written);
    one_each<<<5000, 1>>>(dry_x, MANY);
    return !(wbcpu_dry_complete() == 1 && !end_written());
}

static void dry_runs(void)
{
    tap(exits(0, samples), "a dry run writes both ends of 10 GB");
    tap(exits(0, samples_clusters), "and runs the first block of the last cluster");
    tap(exits(0, sets_the_ends), "cudaMemset in a dry run");
    tap(exits(7, overflows), "an int offset that overflows is a fault");
    tap(exits(7, past_the_end), "so is an access past the end");
    tap(exits(0, gives_up), "blocks that are too long or wait for others are given up");
    tap(exits(0, searches), "all blocks run until the end is written");
    tap(exits(0, is_short),
        "late blocks that write nothing, and a grid that is too small");
    tap(exits(0, finds_nothing), "or until none is left");
}

/* --- launch bounds ------------------------------------------------------------------- */

template <int N> __global__ void __launch_bounds__(N) bounded(int *ran)
{
    atomicAdd(ran, 1);
}
__global__ __launch_bounds__(2 * 32, 1) void bounded_too(int *ran)
{
    atomicAdd(ran, 1);
}

static void launch_bounds(void)
{
    int *ran = next_free;
    *ran = 0;
    bounded<64><<<2, 65>>>(ran);
    tap(cudaGetLastError() == cudaErrorInvalidValue && *ran == 0,
        "a launch of more threads than __launch_bounds__ fails");
    bounded_too<<<2, dim3(64, 2)>>>(ran);
    tap(cudaGetLastError() == cudaErrorInvalidValue && *ran == 0, "also before void");
    bounded<64><<<2, 64>>>(ran);
    tap(cudaGetLastError() == cudaSuccess && *ran == 128, "a launch of as many runs");
}

/* --- the emulated architecture ------------------------------------------------------ */

// "backend properties" prints the emulated GPU in one line, for the suite.
static int print_properties(void)
{
    cudaDeviceProp p;
    cudaFuncAttributes f;
    int major = 0, minor = 0, optin = 0;
    if (cudaGetDeviceProperties(&p, 0) || cudaFuncGetAttributes(&f, set)) return 1;
    cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0);
    cudaDeviceGetAttribute(&optin, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0);
    if (major != p.major || minor != p.minor || optin != (int)p.sharedMemPerBlockOptin)
        return 1;
    printf(
        "%d.%d ptx %d binary %d optin %d sms %d\n", major, minor, f.ptxVersion,
        f.binaryVersion, optin, p.multiProcessorCount);
    return 0;
}

static void count_piece(void *counts, int i)
{
    wbcpu_parallel(
        2, [](void *c, int) { __atomic_fetch_add((int *)c, 1, __ATOMIC_RELAXED); },
        (int *)counts + i);
}

// Toolkit 13's 4-vectors
static_assert(alignof(double4_16a) == 16 && alignof(double4_32a) == 32);
static_assert(sizeof(long4_16a) == 32 && sizeof(ulonglong4_32a) == 32);
static_assert(std::is_same_v<decltype(make_longlong4_32a(1, 2, 3, 4)), longlong4_32a>);

// Larger than what one worker copies, not a multiple of its pieces
static bool large_copy_is_right()
{
    size_t n = (3u << 20) + 5;
    char *from = (char *)malloc(n), *to = (char *)malloc(n);
    void *device;
    if (cudaMalloc(&device, n) != cudaSuccess) return false;
    for (size_t i = 0; i < n; i++)
        from[i] = (char)(i * 7 + i / 1000);
    cudaMemcpy(device, from, n, cudaMemcpyHostToDevice);
    cudaMemcpy(to, device, n, cudaMemcpyDeviceToHost);
    bool right = memcmp(to, from, n) == 0;
    memmove(from, from + 1, n - 1);
    cudaMemcpy(to, to + 1, n - 1, cudaMemcpyHostToHost);  // overlapping
    right = right && memcmp(to, from, n) == 0;
    free(from), free(to), cudaFree(device);
    return right;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "properties") == 0) return print_properties();
    setenv("WB_THREADS", "1", 1);  // with more, blocks run in parallel
    cudaMallocManaged(&next_free, sizeof *next_free);
    cudaMallocManaged(&order, THREADS * sizeof *order);
    orders();
#ifndef __SANITIZE_ADDRESS__  // AddressSanitizer has its own allocator
    guard();
    dry_runs();
#endif
    launch_bounds();
    unsigned long long before = wbcpu_launch_count();
    char *text;
    cudaMallocManaged(&text, 200);
    where<<<4, 32>>>(text);
    tap(wbcpu_launch_count() == before + 1, "launches are counted");
    tap(strncmp(text, "kernel where (", 14) == 0 && strstr(text, "backend.cu:") &&
            strstr(text, "block (2,0,0), thread (7,0,0)"),
        "wbcpu_where: %s", text);
    tap(wbcpu_where(text, 200) == 0 && *text == 0, "wbcpu_where in host code");
    int counts[100] = {}, wrong = 0;
    wbcpu_parallel(100, count_piece, counts);
    for (int n : counts)
        wrong += n != 2;
    tap(!wrong, "wbcpu_parallel, also nested");
    tap(large_copy_is_right(), "a large copy, which the workers share");
    bool had = has_mma<wb_bf16>() && waits_are_cheap(), gpu = !!getenv("WBCPU_ARCH");
    wbcpu_avoid_waits();
    tap(had && has_mma<wb_bf16>() == gpu && waits_are_cheap() == gpu,
        "after wbcpu_avoid_waits: no mma and no shared rows, unless WBCPU_ARCH names a GPU");
    cudaFree(text);
    cudaFree(order);
    cudaFree(next_free);
    return tap_done();
}
