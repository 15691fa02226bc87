// blocks.cu - barriers, atomics and locks, within and between blocks.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "../tap.h"

__global__ void predicates(int *bad)
{
    int t = threadIdx.x, n = blockDim.x, wrong = 0;
    for (int i = 0; i < 3; i++) {  // repeatedly: rounds must not mix their counts
        wrong += __syncthreads_count(t < 4 + i) != (n < 4 + i ? n : 4 + i);
        wrong += (__syncthreads_or(t == n - 1) != 0) != 1;
        wrong += (__syncthreads_or(t == n) != 0) != 0;
        wrong += (__syncthreads_and(t != n - 1) != 0) != 0;
        wrong += (__syncthreads_and(t < n) != 0) != 1;
    }
    if (wrong) atomicAdd(bad, wrong);
}

// Threads exit between barriers; the others continue.
__global__ void leaving(int *out)
{
    __shared__ int s[256];
    int t = threadIdx.x;
    for (int n = 256; n >= 1; n /= 2) {
        if (t >= n) return;
        s[t] = n + t;
        __syncthreads();
        out[t] = s[n - 1 - t];
        __syncthreads();
    }
}

// Every thread repeatedly reads a value that another thread wrote.
__global__ void rotate(int *out, int rounds)
{
    __shared__ int s[1024];
    int t = threadIdx.x, n = blockDim.x, v = t;
    for (int r = 0; r < rounds; r++) {
        s[t] = v;
        __syncthreads();
        v = s[(t + 1) % n];
        __syncthreads();
    }
    out[blockIdx.x * n + t] = v;
}

struct sums {
    int i, low, high, exchanged, locked;
    unsigned u, all, any, parity, wrap;
    unsigned long long big;
    float f;
    double d;
    half h;
    int lock, flag;
};

__global__ void atomics(sums *s)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&s->i, 2);
    atomicSub(&s->i, 1);
    atomicMin(&s->low, -t);
    atomicMax(&s->high, t);
    atomicAdd(&s->u, 1u);
    atomicAnd(&s->all, ~(1u << (t & 31)));
    atomicOr(&s->any, 1u << (t & 31));
    atomicXor(&s->parity, 1u << (t & 31));
    atomicInc(&s->wrap, 9u);
    atomicAdd(&s->big, 1ull << 33);
    atomicAdd(&s->f, 0.5f);
    atomicAdd(&s->d, 0.25);
    if (t < 64) atomicAdd(&s->h, __float2half(1.0f));
    if (atomicExch(&s->exchanged, t) == -1) atomicCAS(&s->locked, 0, 1);
}

// Every thread of every block acquires the lock once; lanes of one warp do so in flag.
__global__ void spin_lock(sums *s)
{
    for (bool done = false; !done;) {
        if (atomicCAS(&s->lock, 0, 1) == 0) {
            __threadfence();
            volatile int *p = &s->locked;
            *p = *p + 1;
            __threadfence();
            atomicExch(&s->lock, 0);
            done = true;
        }
    }
}

// The first warp polls for a value that the last warp writes.
__global__ void poll(sums *s)
{
    if (threadIdx.x == 0)
        while (atomicAdd(&s->flag, 0) != 5) {
        }
    if (threadIdx.x == 32 * 7) atomicExch(&s->flag, 5);
    __syncthreads();
    if (threadIdx.x == 0) s->flag = 6;
}

// The last block to finish adds up the partial sums of all blocks.
__global__ void last_block(int *partial, int *arrived, int *total)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = blockIdx.x;
        __threadfence();
        last = atomicAdd(arrived, 1) == (int)gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0)
        for (unsigned b = 0; b < gridDim.x; b++)
            *total += partial[b];
}

int main()
{
    int *out;
    sums *s;
    cudaMallocManaged(&out, 8192 * sizeof *out);
    cudaMallocManaged(&s, sizeof *s);
    for (int threads : {1, 5, 32, 100, 1024}) {
        out[0] = 0;
        predicates<<<3, threads>>>(out);
        cudaDeviceSynchronize();
        tap(out[0] == 0, "__syncthreads_count, _or, _and in blocks of %d", threads);
    }
    leaving<<<1, 256>>>(out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int t = 0, n = 256; t < 256; t++) {
        for (n = 256; n / 2 > t; n /= 2) {
        }
        wrong += out[t] != n + n - 1 - t;
    }
    tap(!wrong, "threads exit between barriers");
    rotate<<<8, 1024>>>(out, 50);
    cudaDeviceSynchronize();
    for (int i = 0; i < 8192; i++)
        wrong += out[i] != (i % 1024 + 50) % 1024;
    tap(!wrong, "50 rounds of 2 barriers in blocks of 1024");

    const int threads = 40 * 96;
    *s = sums();
    s->exchanged = -1;
    s->all = ~0u;
    s->h = __float2half(0.0f);
    atomics<<<40, 96>>>(s);
    cudaDeviceSynchronize();
    tap(s->i == threads && s->u == threads, "atomicAdd, atomicSub");
    tap(s->low == 1 - threads && s->high == threads - 1, "atomicMin, atomicMax");
    tap(s->all == 0 && s->any == ~0u && s->parity == 0, "atomicAnd, atomicOr, atomicXor");
    tap(s->wrap == threads % 10, "atomicInc");
    tap(s->big == (unsigned long long)threads << 33, "atomicAdd of 64 bits");
    tap(s->f == threads * 0.5f && s->d == threads * 0.25,
        "atomicAdd of float and double");
    tap(__half2float(s->h) == 64, "atomicAdd of half");
    tap(s->locked == 1, "atomicExch, atomicCAS");
    s->locked = s->lock = s->flag = 0;
    spin_lock<<<4, 96>>>(s);
    cudaDeviceSynchronize();
    tap(s->locked == 4 * 96, "a spin lock in every thread");
    poll<<<1, 256>>>(s);
    cudaDeviceSynchronize();
    tap(s->flag == 6, "a thread polls for another thread's write");
    out[5000] = out[5001] = 0;
    last_block<<<500, 64>>>(out, out + 5000, out + 5001);
    cudaDeviceSynchronize();
    tap(out[5001] == 499 * 500 / 2, "the last block adds up");
    tap(cudaGetLastError() == cudaSuccess, "no pending error");
    cudaFree(out);
    cudaFree(s);
    return tap_done();
}
