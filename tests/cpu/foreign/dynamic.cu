/* Kernels that launch kernels: quicksort, a tree sum, order, tail launches, errors. */
#include <cstdio>

/* Sorts x[0, n). One thread partitions; two children sort the parts. */
__global__ void quicksort(int *x, int n)
{
    if (n < 2) return;
    int pivot = x[n / 2], low = 0, high = n - 1;
    while (low <= high) {
        while (x[low] < pivot)
            low++;
        while (x[high] > pivot)
            high--;
        if (low > high) break;
        int t = x[low];
        x[low++] = x[high];
        x[high--] = t;
    }
    cudaStream_t left, right;
    cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&right, cudaStreamNonBlocking);
    quicksort<<<1, 1, 0, left>>>(x, high + 1);
    quicksort<<<1, 1, 0, right>>>(x + low, n - low);
    cudaStreamDestroy(left);
    cudaStreamDestroy(right);
}

/* x[0] = the sum of x[0, n); n is a power of two. */
__global__ void tree_sum(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 2) x[i] += x[i + n / 2];
    if (i == 0 && n > 2) {
        int blocks = (n / 4 + 255) / 256;
        tree_sum<<<blocks, 256, 0, cudaStreamTailLaunch>>>(x, n / 2);
    }
}

struct numbers {
    int value[16];
};
__global__ void append(int *list, numbers n, int which)
{
    list[1 + atomicAdd(&list[0], 1)] = n.value[which];
}
__global__ void append_two(int *list, numbers n)
{
    append<<<1, 1>>>(list, n, 1);
    append<<<1, 1>>>(list, n, 2);
}
/* Every thread launches; the copies of n differ. */
__global__ void order(int *list)
{
    numbers n = {};
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, n, 0);
    n.value[1] = 10 * (int)threadIdx.x + 1;
    n.value[2] = n.value[1] + 1;
    append_two<<<1, 1, 0, cudaStreamFireAndForget>>>(list, n);
    n.value[1] = n.value[2] = -1;
}

__global__ void deeper(int *depth, cudaError_t *error)
{
    ++*depth;
    deeper<<<1, 1>>>(depth, error);
    *error = cudaGetLastError();
}
__global__ void nothing() {}
__global__ void too_many_threads(cudaError_t *errors)
{
    nothing<<<1, 2048>>>();
    errors[0] = cudaPeekAtLastError();
    errors[1] = cudaGetLastError();
    errors[2] = cudaGetLastError();
}

int main()
{
    const int n = 1 << 10;
    int *x, *list, *depth, wrong = 0;
    float *y;
    cudaError_t *errors;
    cudaMallocManaged(&x, n * sizeof *x);
    cudaMallocManaged(&y, n * sizeof *y);
    cudaMallocManaged(&list, 16 * sizeof *list);
    cudaMallocManaged(&depth, sizeof *depth);
    cudaMallocManaged(&errors, 4 * sizeof *errors);
    for (int i = 0; i < n; i++)
        x[i] = i * 389 % n, y[i] = 1;
    *depth = list[0] = 0;
    quicksort<<<1, 1>>>(x, n);
    tree_sum<<<(n / 2 + 255) / 256, 256>>>(y, n);
    order<<<1, 2>>>(list);
    deeper<<<1, 1>>>(depth, errors + 3);
    too_many_threads<<<1, 1>>>(errors);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
    for (int i = 0; i < n; i++)
        wrong += x[i] != i;
    /* Those of thread 0 and of thread 1, each in order; then the two of the tail */
    int place[13] = {};
    for (int i = 1; i < 5; i++)
        if (list[i] >= 0 && list[i] <= 12) place[list[i]] = i;
    wrong += list[0] != 6 || !place[1] || place[2] < place[1] || !place[11] ||
             place[12] < place[11] || list[5] || list[6];
    printf("%d wrong, sum %g, depth %d\n", wrong, y[0], *depth);
    if (wrong || y[0] != n || *depth != 2049)
        return 1; /* the host's launch and 2048 levels, as on an H200 */
    if (errors[3] != cudaErrorLaunchPendingCountExceeded) return 1;
    if (!errors[0] || errors[1] != errors[0] || errors[2] != cudaSuccess) return 1;
    return cudaGetLastError() != cudaSuccess; /* the host does not see them */
}
