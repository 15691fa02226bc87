/* Thrust's vectors, algorithms and iterators; CUB's collectives and device algorithms. */
#include <cstdio>
#include <cub/cub.cuh>
#include <thrust/count.h>
#include <thrust/device_free.h>
#include <thrust/device_malloc.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/shuffle.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#ifdef __CUDACPU__
typedef cub::Max Max;  // before CUDA 13
typedef cub::Sum Sum;
#else
typedef cuda::maximum<> Max;
typedef cuda::std::plus<> Sum;
#endif

struct square {
    __host__ __device__ int operator()(int x) const
    {
        return x * x;
    }
};
struct product_of_pair {
    template <class T> __host__ __device__ float operator()(T t) const
    {
        return thrust::get<0>(t) * thrust::get<1>(t);
    }
};
__global__ void add_one(int n, int *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i]++;
}

static int thrust_part()
{
    enum { N = 1000 };
    thrust::host_vector<int> h(N);
    for (int i = 0; i < N; i++)
        h[i] = (i * 7919) % N;
    thrust::device_vector<int> d = h, order(N);
    add_one<<<4, 256>>>(N, thrust::raw_pointer_cast(d.data()));
    thrust::sequence(order.begin(), order.end());
    thrust::sort_by_key(d.begin(), d.end(), order.begin());
    if (d[0] != 1 || d[N - 1] != N || h[order[5]] != 5) return 1;
    if (thrust::reduce(thrust::device, d.begin(), d.end(), 0, thrust::plus<int>()) != 500500)
        return 2;
    int squares = thrust::transform_reduce(
        thrust::make_counting_iterator(1), thrust::make_counting_iterator(11), square(), 0,
        thrust::plus<int>());
    if (squares != 385) return 3;
    thrust::exclusive_scan(d.begin(), d.end(), d.begin());
    if (d[3] != 6 || d[4] != 10) return 4;
    thrust::device_vector<float> x(3, 2.0f), y(3, 5.0f), z(3);
    auto both = thrust::make_zip_iterator(thrust::make_tuple(x.begin(), y.begin()));
    thrust::transform(both, both + 3, z.begin(), product_of_pair());
    if (z[2] != 10) return 5;
    x[0] = 3, x[1] = 3, y[1] = 4;
    thrust::sort(both, both + 3); /* (2, 5) (3, 4) (3, 5) */
    if (x[0] != 2 || y[0] != 5 || y[1] != 4) return 11;
    int keys[] = {1, 1, 2, 2, 2, 5}, sums[3], unique[3];
    auto end = thrust::reduce_by_key(
        keys, keys + 6, thrust::make_constant_iterator(1), unique, sums);
    if (end.first - unique != 3 || sums[1] != 3 || unique[2] != 5) return 6;
    int kept[3];
    thrust::unique_by_key_copy(
        keys, keys + 6, thrust::make_counting_iterator(0), thrust::make_discard_iterator(), kept);
    if (kept[1] != 2 || kept[2] != 5) return 7;
    h = d;
    thrust::host_vector<int> mixed(N);
    thrust::shuffle_copy(h.begin(), h.end(), mixed.begin(), thrust::default_random_engine(7));
    if (mixed == h) return 8;
    thrust::sort(mixed.begin(), mixed.end());
    if (mixed != h) return 9;
    thrust::host_vector<float> gaps(100);  // NaN is the largest
    for (int i = 0; i < 100; i++)
        gaps[i] = i % 3 ? (float)((i * 37) % 101) : NAN;
    thrust::sort(gaps.begin(), gaps.end());
    for (int i = 1; i < 100; i++)
        if (i < 66 ? !(gaps[i - 1] < gaps[i]) : !isnan(gaps[i])) return 11;
    thrust::device_ptr<void> raw = thrust::device_malloc(4 * sizeof(int));
    thrust::device_ptr<int> four((int *)raw.get());
    thrust::fill(four, four + 4, 3);
    int twelve = thrust::reduce(four, four + 4);
    thrust::device_free(raw);
    if (twelve != 12) return 10;
    return h[4] != 10 || thrust::count_if(h.begin(), h.end(), [](int v) { return v < 7; }) != 4;
}

__global__ void collectives(const int *in, int *out)
{
    typedef cub::BlockReduce<int, 128> Reduce;
    typedef cub::BlockScan<int, 128> Scan;
    typedef cub::BlockLoad<int, 128, 2> Load;
    typedef cub::BlockRadixSort<int, 128, 2> Sort;
    __shared__ union {
        Reduce::TempStorage reduce;
        Scan::TempStorage scan;
        Load::TempStorage load;
        Sort::TempStorage sort;
    } s;
    int items[2], prefix, all;
    Load(s.load).Load(in, items);
    __syncthreads();
    int most = Reduce(s.reduce).Reduce(items[0], Max());
    __syncthreads();
    Scan(s.scan).ExclusiveSum(1, prefix, all);
    __syncthreads();
    int ones[2] = {1, (int)threadIdx.x}, sums[2], before[2];
    Scan(s.scan).InclusiveScan(ones, sums, Sum());
    __syncthreads();
    Scan(s.scan).ExclusiveScan(ones, before, 100, Max());
    if (threadIdx.x == 127)
        out[5] = sums[0], out[6] = sums[1], out[7] = before[0], out[8] = before[1];
    __syncthreads();
    Sort(s.sort).Sort(items);
    if (threadIdx.x == 5) out[0] = items[0], out[1] = prefix, out[2] = all;
    if (threadIdx.x == 0) out[3] = most;
    __shared__ cub::WarpReduce<int>::TempStorage w[4];
    int sum = cub::WarpReduce<int>(w[threadIdx.x / 32]).Sum((int)threadIdx.x);
    if (threadIdx.x == 32) out[4] = sum;
}

struct minus {
    __device__ int operator()(int &a, int &b) const /* as CUB calls it */
    {
        return a - b;
    }
};
// Striped to blocked in out, then back in out + 256. The load skips the last two items, the
// last store one.
__global__ void direct(const int *in, int *out)
{
    int v[4] = {-1, -1, -1, -1}, t = threadIdx.x;
    cub::LoadDirectStriped<64>(t, in, v, 254);
    cub::StoreDirectBlocked(t, out, v);
    __syncthreads();
    cub::LoadDirectBlocked(t, out, v);
    cub::StoreDirectStriped<64>(t, out + 256, v, 255);
}
static bool is_direct_wrong(int *in, int *out)
{
    for (int i = 0; i < 512; i++)
        in[i & 255] = i & 255, out[i] = -2;
    direct<<<1, 64>>>(in, out);
    cudaDeviceSynchronize();
    for (int i = 0; i < 255; i++)
        if (out[256 + i] != (i < 254 ? i : -1)) return true;
    return out[5] != 65 || out[255] != -1 || out[511] != -2;
}
__global__ void neighbours(int *out)
{
    typedef cub::BlockAdjacentDifference<int, 64> Adjacent;
    __shared__ Adjacent::TempStorage s;
    int t = threadIdx.x, squares[2] = {4 * t * t, (2 * t + 1) * (2 * t + 1)}, difference[2];
    Adjacent(s).SubtractLeft(squares, difference, minus());
    out[2 * t] = difference[0], out[2 * t + 1] = difference[1];
    __syncthreads();
    Adjacent(s).SubtractRightPartialTile(squares, squares, minus(), 101);
    out[128 + 2 * t] = squares[0], out[129 + 2 * t] = squares[1];
}
static int wrong_neighbours(int *out)
{
    neighbours<<<1, 64>>>(out);
    cudaDeviceSynchronize();
    int wrong = 0;
    for (int i = 0; i < 128; i++) {
        wrong += out[i] != (i ? 2 * i - 1 : 0);
        wrong += out[128 + i] != (i < 100 ? -2 * i - 1 : i * i);
    }
    return wrong;
}

struct odd {
    __host__ __device__ bool operator()(int x) const
    {
        return x % 2;
    }
};
/* CUB adds bools as int, or as the type of the result. */
static int wrong_bools(void *temporary, size_t bytes, int *in, int *out)
{
    for (int i = 0; i < 100; i++)
        in[i] = i % 4;
    auto is_odd = thrust::make_transform_iterator(in, odd());
    int64_t *count = (int64_t *)(out + 200);
    int *ends = out + 210;
    ends[0] = 0, ends[1] = 40, ends[2] = 100;
    cub::DeviceReduce::Sum(temporary, bytes, is_odd, count, 100);
    cub::DeviceScan::ExclusiveSum(temporary, bytes, is_odd, out, 100);
    cub::DeviceScan::InclusiveSum(temporary, bytes, is_odd, out + 100, 100);
    cub::DeviceSegmentedReduce::Sum(temporary, bytes, is_odd, out + 220, 2, ends, ends + 1);
    cudaDeviceSynchronize();
    if (*count != 50) return 13;
    if (out[98] != 49 || out[198] != 49 || out[199] != 50) return 14;
    return out[220] == 20 && out[221] == 30 ? 0 : 15;
}

static int cub_part()
{
    const int N = 256;
    int *in, *out;
    cudaMallocManaged(&in, N * sizeof(int));
    cudaMallocManaged(&out, 2 * N * sizeof(int));
    for (int i = 0; i < N; i++)
        in[i] = (i * 101) % N;
    collectives<<<1, 128>>>(in, out);
    cudaDeviceSynchronize();
    int most = 0;
    for (int i = 0; i < N; i += 2)
        most = most < in[i] ? in[i] : most;
    if (out[0] != 10 || out[1] != 5 || out[2] != 128 || out[3] != most) return 1;
    if (out[4] != 32 * 32 + 31 * 16) return 2;
    if (out[5] != 8129 || out[6] != 8256 || out[7] != 126 || out[8] != 126) return 11;
    if (wrong_neighbours(out)) return 4;
    void *temporary = NULL;
    size_t bytes = 0, room = 1 << 20;
    cub::DeviceRadixSort::SortKeys(temporary, bytes, in, out, N);
    if (bytes > room || cudaMalloc(&temporary, room)) return 5;
    bytes = room;
    cub::DeviceRadixSort::SortKeys(temporary, bytes, in, out, N);
    cudaDeviceSynchronize();
    if (out[77] != 77) return 3;
    cub::DeviceScan::InclusiveSum(temporary, bytes, out, in, N);
    cub::DeviceReduce::Sum(temporary, bytes, out, in + N - 1, N - 1);
    cudaDeviceSynchronize();
    if (in[10] != 55 || in[N - 1] != 254 * 255 / 2) return 12;
    cub::DoubleBuffer<int> keys(out, in);
    cub::DeviceRadixSort::SortKeysDescending(temporary, bytes, keys, (unsigned)N);
    cudaDeviceSynchronize();
    if (keys.Current()[3] != N - 4) return 14;
    cub::DeviceRadixSort::SortKeys(temporary, bytes, keys, N);
    cudaDeviceSynchronize();
    if (keys.Current()[3] != 3) return 15;
    if (is_direct_wrong(in, out)) return 13;
    return wrong_bools(temporary, room, in, out);
}

// Programs that include only <cub/cub.cuh> use <chrono>, which the toolkit's CUB includes.
static_assert(std::chrono::seconds(1) == std::chrono::milliseconds(1000), "");

int main()
{
    int t = thrust_part(), c = cub_part();
    if (t || c) printf("thrust: %d, cub: %d\n", t, c);
    return t || c;
}
