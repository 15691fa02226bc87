// libraries.cu - correct: libraries that write and read device memory, on the host or in a
// kernel: Thrust, CUB, cuBLAS, cuFFT, cuRAND, textures, tiles of several warps, malloc.
#include "../cases.h"

#include <cooperative_groups.h>
#include <cub/cub.cuh>
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <curand_kernel.h>
#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

enum { N = 100 };
struct body {
    double x, y, z;
    int number;
};
struct make_body {
    __host__ __device__ body operator()(int i) const
    {
        return {i + 0.5, 2.0 * i, 0, i};
    }
};
static float square(int i)
{
    return (float)(i * i);
}
static float *square_roots() // of square(0), ...
{
    return counting<float>(N);
}

__global__ void add_one(int *x, int n)
{
    int i = threadIdx.x;
    if (i < n) x[i]++;
}
// A kernel comes before the host reads an element, and before the sort.
CASE(vectors)
{
    thrust::device_vector<int> x(N), y;
    for (int i = 0; i < N; i++)
        x[i] = N - 1 - i;
    y = x;
    add_one<<<1, 128>>>(thrust::raw_pointer_cast(x.data()), N);
    if (x[0] != N || y[0] != N - 1) return 1;
    thrust::sort(x.begin(), x.end());
    thrust::device_vector<body> bodies(N);
    thrust::transform(x.begin(), x.end(), bodies.begin(), make_body());
    body last = bodies.back();
    return last.number != N || last.y != 2.0 * N;
}

__global__ void sort_block(int *x)
{
    typedef cub::BlockRadixSort<int, 64, 2> Sort;
    __shared__ typename Sort::TempStorage room;
    int items[2] = {x[2 * threadIdx.x], x[2 * threadIdx.x + 1]};
    Sort(room).Sort(items);
    x[2 * threadIdx.x] = items[0];
    x[2 * threadIdx.x + 1] = items[1];
}
CASE(sums_and_sorts)
{
    int *x = filled<int>(128, [](int i) { return 127 - i; }), *sums = unwritten<int>(128);
    char *room = unwritten<char>(1 << 16);
    size_t bytes = 1 << 16;
    sort_block<<<1, 64>>>(x);
    cub::DeviceScan::InclusiveSum(room, bytes, x, sums, 128);
    return differs(sums, 128, [](int i) { return i * (i + 1) / 2; });
}

CASE(blas_results)
{
    float *x = square_roots(), *y = unwritten<float>(N), *sums = unwritten<float>(4);
    float on_host = 0, one = 1, zero = 0, want = 0;
    cublasHandle_t blas;
    for (int i = 0; i < N; i++)
        want += square(i);
    cublasCreate(&blas);
    cublasScopy(blas, N, x, 1, y, 1);
    cublasSdot(blas, N, x, 1, y, 1, &on_host);
    cublasSgemm(blas, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, N, &one, x, N, y, N, &zero, sums, 1);
    cublasStrmm(
        blas, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, 1, 1,
        &one, sums, 1, sums, 1, sums + 1, 1);
    cublasSetPointerMode(blas, CUBLAS_POINTER_MODE_DEVICE);
    cublasSdot(blas, N, x, 1, y, 1, sums + 2);
    cublasSasum(blas, 1, sums + 2, 1, sums + 3);
    cublasDestroy(blas);
    return on_host != want || differs(sums, 4, [=](int) { return want; });
}

CASE(transform_of_random)
{
    float *x = unwritten<float>(128);
    cufftComplex *f = unwritten<cufftComplex>(65), first;
    curandGenerator_t random;
    cufftHandle plan;
    curandCreateGenerator(&random, CURAND_RNG_PSEUDO_DEFAULT);
    curandGenerateUniform(random, x, 128);
    cufftPlan1d(&plan, 128, CUFFT_R2C, 1);
    cufftExecR2C(plan, x, f);
    cudaMemcpy(&first, f, sizeof first, cudaMemcpyDeviceToHost);
    cufftDestroy(plan);
    curandDestroyGenerator(random);
    return first.x < 32 || first.x > 96;
}

// Each block writes the sum of a tile of 64 threads.
__global__ void tiles(cudaTextureObject_t squares, float *out)
{
    __shared__ cooperative_groups::block_tile_memory<128> memory;
    auto block = cooperative_groups::this_thread_block(memory);
    auto tile = cooperative_groups::tiled_partition<64>(block);
    curandState random;
    curand_init(1, threadIdx.x, 0, &random);
    float x = tex1Dfetch<float>(squares, tile.shfl((int)threadIdx.x, 5));
    out[threadIdx.x] = curand_uniform(&random) > 0 ? x : 0;
}
CASE(textures_and_tiles)
{
    float *x = filled<float>(N, square), *out = unwritten<float>(128);
    cudaResourceDesc data = {};
    cudaTextureDesc how = {};
    cudaTextureObject_t squares;
    data.resType = cudaResourceTypeLinear;
    data.res.linear.devPtr = x;
    data.res.linear.desc = cudaCreateChannelDesc<float>();
    data.res.linear.sizeInBytes = N * sizeof *x;
    cudaCreateTextureObject(&squares, &data, &how, NULL);
    tiles<<<1, 128>>>(squares, out);
    cudaDestroyTextureObject(squares);
    return differs(out, 128, [](int i) { return square(i < 64 ? 5 : 69); });
}

// A kernel's own heap, and an object with a table of functions in shared memory: each thread allocates, the next kernel uses and frees it.
__global__ void allocate(int **lists)
{
    lists[threadIdx.x] = threadIdx.x % 2 ? new int[2] : (int *)malloc(2 * sizeof(int));
    lists[threadIdx.x][1] = threadIdx.x;
}
struct shape {
    int size;
    __device__ shape(int n) : size(n) {}
    __device__ virtual int area() const
    {
        return size;
    }
};
struct square_shape : shape {
    __device__ square_shape(int n) : shape(n) {}
    __device__ int area() const override
    {
        return size * size;
    }
};
__global__ void release(int **lists, int *out)
{
    __shared__ __align__(16) char room[sizeof(square_shape)];
    shape *one = (shape *)room;
    if (threadIdx.x == 0) new (room) square_shape(1);
    __syncthreads();
    out[threadIdx.x] = lists[threadIdx.x][1] * one->area();
    if (threadIdx.x % 2)
        delete[] lists[threadIdx.x];
    else
        free(lists[threadIdx.x]);
}
CASE(heap_of_kernels)
{
    int **lists = unwritten<int *>(N), *out = unwritten<int>(N);
    allocate<<<1, N>>>(lists);
    release<<<1, N>>>(lists, out);
    return differs(out, N, [](int i) { return i; });
}

CASE(set_by_a_graph)
{
    unsigned *x = unwritten<unsigned>(N);
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaMemsetParams set = {};
    set.dst = x;
    set.elementSize = 4;
    set.value = 1234567;
    set.width = N;
    set.height = 1;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemsetNode(&node, graph, NULL, 0, &set);
    cudaGraphInstantiate(&exec, graph, NULL, NULL, 0);
    cudaGraphLaunch(exec, 0);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    return differs(x, N, [](int) { return 1234567u; });
}
