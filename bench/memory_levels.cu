/* memory_levels.cu - how long a load takes from each level of a GPU's memory, and how
 * many bytes per second all SMs together read from it: the table in lab 00's guide.
 *
 *     make BACKEND=cuda bench-memory
 *
 * Latency: one thread follows a chain of indices, x = next[x], in random order, so that
 * each load waits for the one before. Bandwidth: all SMs read 16 bytes per thread. Which
 * level answers depends on how many bytes there are. The bandwidth of shared memory is
 * not measured: it is 128 bytes per clock on each SM.
 */
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

constexpr int THREADS = 1024, STEPS = 4096, LINE = 32;  // a link per 128 bytes
constexpr size_t KB = 1024, MB = 1024 * KB;

static void check(cudaError_t error, const char *what)
{
    if (!error) return;
    fprintf(stderr, "memory_levels: %s: %s\n", what, cudaGetErrorString(error));
    exit(1);
}

/* Milliseconds of one call, the least of 20 */
template <typename F> static float least_ms(F call)
{
    float least = 1e30f, ms;
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "event");
    check(cudaEventCreate(&end), "event");
    for (int i = 0; i < 20; i++) {
        cudaEventRecord(begin);
        call();
        cudaEventRecord(end);
        check(cudaEventSynchronize(end), "kernel");
        check(cudaEventElapsedTime(&ms, begin, end), "time");
        if (ms < least) least = ms;
    }
    return least;
}

/* --- latency ------------------------------------------------------------------------ */

/* shared_links > 0: so many links of the chain are copied to shared memory first. */
static __global__ void
follow(const unsigned *next, int steps, int shared_links, unsigned *out)
{
    extern __shared__ unsigned s[];
    for (int i = 0; i < shared_links * LINE; i++)
        s[i] = next[i];
    unsigned x = 0;
    if (shared_links)
        for (int i = 0; i < steps; i++)
            x = s[x];
    else
        for (int i = 0; i < steps; i++)
            x = next[x];
    *out = x;
}

/* One cycle through all links in random order (Sattolo) */
static void make_chain(unsigned *next, unsigned links)
{
    unsigned *order = (unsigned *)malloc(links * sizeof *order);
    uint64_t state = 1;
    for (unsigned i = 0; i < links; i++)
        order[i] = i;
    for (unsigned i = links - 1; i > 0; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned j = (unsigned)((state >> 33) % i), swap = order[i];
        order[i] = order[j], order[j] = swap;
    }
    for (unsigned i = 0; i < links; i++)
        next[order[i] * LINE] = order[(i + 1) % links] * LINE;
    free(order);
}

/* Nanoseconds per load: the difference of two runs, so that what they have in common
 * cancels. */
static double latency(size_t bytes, bool in_shared)
{
    unsigned *h = (unsigned *)calloc(bytes, 1), *next, *out;
    int links = (int)(bytes / (LINE * sizeof *h)), copied = in_shared ? links : 0;
    int steps = links > STEPS ? links : STEPS;
    if (steps > 64 * STEPS) steps = 64 * STEPS;
    size_t smem = in_shared ? bytes : 0;
    make_chain(h, (unsigned)links);
    check(cudaMalloc(&next, bytes), "memory");
    check(cudaMalloc(&out, sizeof *out), "memory");
    check(cudaMemcpy(next, h, bytes, cudaMemcpyHostToDevice), "copy");
    float once = least_ms([=] { follow<<<1, 1, smem>>>(next, steps, copied, out); });
    float more = least_ms([=] { follow<<<1, 1, smem>>>(next, 3 * steps, copied, out); });
    cudaFree(next), cudaFree(out), free(h);
    return (more - once) * 1e6 / (2.0 * steps);
}

/* --- bandwidth ---------------------------------------------------------------------- */

/* Each block reads `vecs` vectors of 16 bytes, `times` times: its own (apart > 0) or, like
 * all other blocks, the same ones in another order. */
static __global__ void
read_all(const float4 *x, size_t vecs, size_t apart, int times, float *out)
{
    float sum = 0;
    const float4 *mine = x + blockIdx.x * apart;
    size_t first = apart ? 0 : blockIdx.x * (vecs / gridDim.x);
    for (int k = 0; k < times; k++)
        for (size_t i = threadIdx.x; i < vecs; i += 4 * THREADS) {
#pragma unroll
            for (int j = 0; j < 4; j++) {
                size_t at = first + i + j * THREADS;
                float4 v = mine[at < vecs ? at : at - vecs];
                sum += v.x + v.y + v.z + v.w;
            }
        }
    if (sum == -1) *out = sum;
}

static double gbs(double bytes, float ms)
{
    return bytes / ms * 1e-6;
}

int main(void)
{
    cudaDeviceProp p;
    check(cudaGetDeviceProperties(&p, 0), "device");
    const size_t l2 = 16 * MB, dram = 4096 * MB, l1 = 64 * KB;
    int blocks = 2 * p.multiProcessorCount;
    float4 *x;
    float *out;
    check(cudaMalloc(&x, dram), "memory");
    check(cudaMalloc(&out, sizeof *out), "memory");
    check(cudaMemset(x, 0, dram), "memory");
    printf("%s, %d SMs\n", p.name, p.multiProcessorCount);
    printf("shared memory %6.1f ns\n", latency(32 * KB, true));
    printf(
        "L1            %6.1f ns  %7.0f GB/s\n", latency(32 * KB, false),
        gbs(blocks * (double)l1 * 200, least_ms([=] {
                read_all<<<blocks, THREADS>>>(x, l1 / 16, l1 / 16, 200, out);
            })));
    printf(
        "L2            %6.1f ns  %7.0f GB/s\n", latency(l2, false),
        gbs(blocks * (double)l2,
            least_ms([=] { read_all<<<blocks, THREADS>>>(x, l2 / 16, 0, 1, out); })));
    size_t part = dram / 16 / blocks / (4 * THREADS) * (4 * THREADS);
    printf(
        "device memory %6.1f ns  %7.0f GB/s\n", latency(512 * MB, false),
        gbs(blocks * 16.0 * part,
            least_ms([=] { read_all<<<blocks, THREADS>>>(x, part, part, 1, out); })));
    return 0;
}
