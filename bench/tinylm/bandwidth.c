/* bandwidth.c - how long an all-reduce takes over the bytes, and its bus bandwidth, as
 * nccl-tests define it: each rank sends and receives 2 (size-1)/size of the bytes, so
 * that is what goes over its link in the time measured.
 *
 *     mpirun -np N build/<backend>/bench/tinylm/bandwidth [--csv FILE] [--runs R]
 *
 * Rank 0 prints a line for each number of bytes, and at the end alpha and beta of
 * t = alpha + bytes/beta: the time of the fewest bytes, the slope between the two most.
 */
#include "../../common/progress.h"
#include "tools.h"

#include <stdlib.h>

enum { WARM = 5, BATCH = 20, SIZES = 16 };

// Mean of a batch of calls, which the stream runs one after another.
static double call_us(const ranks *k, float *x, size_t n, cudaStream_t s, int calls)
{
    CUDA_CHECK(cudaStreamSynchronize(s));
    ranks_largest(k, 0);
    double start = seconds_now();
    for (int i = 0; i < calls; i++)
        ranks_all_reduce(k, x, n, WB_F32, s);
    CUDA_CHECK(cudaStreamSynchronize(s));
    return 1e6 * (seconds_now() - start) / calls;
}

int main(int argc, char **argv)
{
    static bench_args a;
    ranks k;
    wb_error err;
    if (ranks_open(&k, &err)) bench_stop(err.text);
    bench_read_args(&a, argc, argv);
    if (k.size == 1) bench_stop("start several ranks: tools/mpi.sh run 2 PROGRAM");
    FILE *f =
        a.csv && !k.rank ? bench_csv(a.csv, "machine,ranks,bytes,us,gb_per_s") : NULL;
    const bool gpu = k.nccl != NULL;
    size_t largest = gpu ? (size_t)1 << 29 : (size_t)1 << 24;
    double us[SIZES] = {0}, *times = malloc((size_t)a.runs * sizeof *times);
    float *x;
    cudaStream_t s;
    if (!times) bench_stop("no memory");
    CUDA_CHECK(cudaMalloc((void **)&x, largest));
    CUDA_CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    CUDA_CHECK(cudaMemsetAsync(x, 0, largest, s));
    int count = 0;
    for (size_t bytes = 1024; bytes <= largest && count < SIZES; bytes *= 4, count++) {
        call_us(&k, x, bytes / 4, s, WARM);
        for (int i = 0; i < a.runs; i++)
            times[i] = call_us(&k, x, bytes / 4, s, BATCH);
        us[count] = bench_median(times, a.runs);
        double bus = 2e-3 * (k.size - 1) / k.size * (double)bytes / us[count];
        if (k.rank) continue;
        printf("%10zu bytes %10.1f us  bus %7.2f GB/s\n", bytes, us[count], bus);
        if (f)
            fprintf(
                f, "%s,%d,%zu,%.2f,%.3f\n", machine_name(), k.size, bytes, us[count],
                bus);
    }
    double bytes = 1024;
    for (int i = 1; i < count; i++)
        bytes *= 4;
    if (!k.rank)
        printf(
            "alpha %.1f us, beta %.1f GB/s (%d ranks, %s)\n", us[0],
            0.75e-3 * bytes / (us[count - 1] - us[count - 2]), k.size, ranks_engines(&k));
    if (f) bench_close(f, a.csv);
    free(times);
    CUDA_CHECK(cudaFree(x));
    CUDA_CHECK(cudaStreamDestroy(s));
    ranks_close(&k);
    return 0;
}
