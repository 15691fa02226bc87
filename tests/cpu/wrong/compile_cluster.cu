// says: this_cluster() is not supported by the CPU back end: use launch_cluster and cluster_sync
#include <cooperative_groups.h>

__global__ void kernel(float *x)
{
    auto cluster = cooperative_groups::this_cluster();
    x[threadIdx.x] = 1.0f;
    cluster.sync();
}

int main(void)
{
    kernel<<<1, 32>>>(nullptr);
    return 0;
}
